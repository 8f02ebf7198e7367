/* handle_dashboard.c - the dashboard's page, script, style and picture
 *
 * web/ has their sources, web/dist/ what is built of them, and this file puts that into
 * the binary.  They hold nothing of this cluster, so everybody gets them; what they show
 * they ask of the other routes, with the rights of whoever looks. */
#include "service/handlers.h"

#include "base/embed.h"
#include "base/hash.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

EMBED(dashboard_index, CORGI_DASHBOARD "/index.html");
EMBED(dashboard_index_gz, CORGI_DASHBOARD_GZ "/index.html.gz");
EMBED(dashboard_script, CORGI_DASHBOARD "/app.js");
EMBED(dashboard_script_gz, CORGI_DASHBOARD_GZ "/app.js.gz");
EMBED(dashboard_style, CORGI_DASHBOARD "/app.css");
EMBED(dashboard_style_gz, CORGI_DASHBOARD_GZ "/app.css.gz");
EMBED(dashboard_icon, CORGI_DASHBOARD "/icon.svg");
EMBED(dashboard_icon_gz, CORGI_DASHBOARD_GZ "/icon.svg.gz");

/* The page asks nobody but this daemon, and nobody may put it into a frame. */
#define CONTENT_POLICY                                                                   \
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "          \
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

struct page_file {
    const char *name, *type;
    const unsigned char *plain, *plain_end, *gzip, *gzip_end;
};

#define PAGE_FILE(symbol) symbol, symbol##_end, symbol##_gz, symbol##_gz_end

static const struct page_file index_file = {"", "text/html; charset=utf-8",
                                            PAGE_FILE(dashboard_index)};
static const struct page_file files[] = {
    {"app.js", "text/javascript; charset=utf-8", PAGE_FILE(dashboard_script)},
    {"app.css", "text/css; charset=utf-8", PAGE_FILE(dashboard_style)},
    {"icon.svg", "image/svg+xml", PAGE_FILE(dashboard_icon)},
};

static void answer_file(struct request *r, const struct page_file *file)
{
    const char *encodings = head_field(&r->head, "accept-encoding"),
               *known = head_field(&r->head, "if-none-match");
    bool gzip = encodings && strstr(encodings, "gzip");
    const unsigned char *from = gzip ? file->gzip : file->plain,
                        *to = gzip ? file->gzip_end : file->plain_end;
    char tag[24];

    snprintf(tag, sizeof(tag), "\"%016" PRIx64 "\"",
             hash_bytes((const char *)from, (size_t)(to - from)));
    request_add_header(r, "ETag", tag);
    request_add_header(r, "Cache-Control", "no-cache"); /* keep it, but ask */
    request_add_header(r, "Vary", "Accept-Encoding");
    request_add_header(r, "Content-Security-Policy", CONTENT_POLICY);
    request_add_header(r, "Referrer-Policy", "no-referrer");
    if (known && strstr(known, tag)) {
        request_answer_bytes(r, 304, NULL, "", 0);
        return;
    }
    if (gzip)
        request_add_header(r, "Content-Encoding", "gzip");
    request_answer_bytes(r, 200, file->type, from, (size_t)(to - from));
}

void handle_dashboard(void *ctx, struct request *r)
{
    (void)ctx;
    answer_file(r, &index_file);
}

void handle_dashboard_file(void *ctx, struct request *r)
{
    const char *name = request_param(r, "file");

    (void)ctx;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        if (strcmp(files[i].name, name) == 0) {
            answer_file(r, &files[i]);
            return;
        }
    request_answer_error(r, 404, "not_found", NULL, "the dashboard has no '%s'", name);
}
