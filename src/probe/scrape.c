/* scrape.c - rate and demand of a server from its metrics page, see scrape.h
 *
 * job_meter.c drives it between the poller and its ticks; the counts go into tracks.c.
 */
#include "probe/scrape.h"

#include "base/mem.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void scrape_page_init(struct scrape_page *page, const char *const *names, int count)
{
    assert(count <= SCRAPE_PAGE_MAX_NAMES);
    memcpy(page->names, names, (size_t)count * sizeof(names[0]));
    page->count = count;
}

static bool is_name_byte(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == ':';
}

/* Behind the label set that begins at p; quotes may hold braces.  NULL: it has no end. */
static const char *skip_labels(const char *p, const char *end)
{
    bool quoted = false;

    for (p++; p < end; p++) {
        if (quoted && *p == '\\')
            p++;
        else if (*p == '"')
            quoted = !quoted;
        else if (*p == '}' && !quoted)
            return p + 1;
    }
    return NULL;
}

static bool read_value(const char *p, const char *end, double *value)
{
    char text[64], *rest;
    size_t length = 0;

    while (p < end && (*p == ' ' || *p == '\t'))
        p++;
    while (p < end && !isspace((unsigned char)*p) && length + 1 < sizeof(text))
        text[length++] = *p++;
    text[length] = '\0';
    *value = strtod(text, &rest);
    return length > 0 && !*rest && isfinite(*value);
}

/* One line: its name within the line and its value.  False for comments and whatever else
 * is no sample with a finite value. */
static bool read_sample(const char *line, size_t length, size_t *name_length,
                        double *value)
{
    const char *p = line, *end = line + length;

    while (p < end && is_name_byte(*p))
        p++;
    *name_length = (size_t)(p - line);
    if (p == line || p == end)
        return false;
    if (*p == '{')
        p = skip_labels(p, end);
    else if (*p != ' ' && *p != '\t')
        return false;
    return p && read_value(p, end, value);
}

static bool is_named(const char *wanted, const char *name, size_t length)
{
    size_t plain = strlen(wanted);

    if (length < plain || memcmp(wanted, name, plain) != 0)
        return false;
    return length == plain || (length == plain + 6 && !memcmp(name + plain, "_total", 6));
}

static void take_line(struct scrape_page *page, const char *line, size_t length)
{
    size_t name_length;
    double value;

    if (length > SCRAPE_PAGE_MAX_LINE || !read_sample(line, length, &name_length, &value))
        return;
    for (int i = 0; i < page->count; i++)
        if (is_named(page->names[i], line, name_length))
            page->sums[i] = isnan(page->sums[i]) ? value : page->sums[i] + value;
}

void scrape_page_read(struct scrape_page *page, const char *text, size_t length)
{
    const char *end = text + length, *newline;

    for (int i = 0; i < page->count; i++)
        page->sums[i] = NAN;
    for (; text < end; text = newline + 1) {
        newline = memchr(text, '\n', (size_t)(end - text));
        if (!newline) /* the last line may lack it */
            newline = end;
        take_line(page, text, (size_t)(newline - text));
    }
}

/* The first kind with its counter on the page is it. */
static const struct metrics_server servers[] = {
    {"vllm:request_success_total",
     NULL,
     {"vllm:num_requests_running", "vllm:num_requests_waiting"},
     "request"},
    {"nv_inference_request_success",
     "nv_inference_request_failure",
     {"nv_inference_pending_request_count", NULL},
     "request"},
    {"tgi_request_success", "tgi_request_failure", {"tgi_queue_size", NULL}, "request"},
    {"sglang:num_requests_total",
     NULL,
     {"sglang:num_running_reqs", "sglang:num_queue_reqs"},
     "request"},
    {"ts_inference_requests_total", NULL, {NULL, NULL}, "request"},
    {"llamacpp:tokens_predicted_total", NULL, {NULL, NULL}, "token"},
    {"vllm:generation_tokens_total", NULL, {NULL, NULL}, "token"},
    {"http_requests_total", NULL, {NULL, NULL}, "request"},
};

#define SERVER_COUNT (sizeof(servers) / sizeof(servers[0]))

/* The page is read once for all known servers: their counters first, in order. */
static void ask_for_all(struct scrape *scrape)
{
    const char *names[SERVER_COUNT];

    for (size_t i = 0; i < SERVER_COUNT; i++)
        names[i] = servers[i].done;
    scrape_page_init(&scrape->page, names, (int)SERVER_COUNT);
}

static void ask_for(struct scrape *scrape, const struct metrics_server *server)
{
    const char *names[4] = {server->done, "", "", ""};

    if (server->refused)
        names[1] = server->refused;
    for (int i = 0; i < 2; i++)
        if (server->held[i])
            names[2 + i] = server->held[i];
    scrape_page_init(&scrape->page, names, 4);
    scrape->server = server;
}

struct scrape *scrape_create(const char *url, const char *counter, double window_s,
                             struct tracks *rate, struct err *err)
{
    struct scrape *scrape = mem_new(struct scrape);

    if (fetch_init(&scrape->fetch, url, err) < 0) {
        free(scrape);
        return NULL;
    }
    scrape->every_s = fmin(fmax(window_s / 5, 0.2), 15);
    scrape->done.last = scrape->refused.last = NAN;
    scrape->rate = rate;
    scrape->demand = tracks_create(window_s);
    if (counter) {
        scrape->named = (struct metrics_server){.done = counter, .unit = "request"};
        ask_for(scrape, &scrape->named);
    } else {
        ask_for_all(scrape);
    }
    return scrape;
}

void scrape_destroy(struct scrape *scrape)
{
    if (!scrape)
        return;
    fetch_fini(&scrape->fetch);
    tracks_destroy(scrape->demand);
    free(scrape);
}

static bool count_on(struct steady_counter *counter, double value)
{
    if (isnan(value) || value < 0)
        return false;
    if (!isnan(counter->last)) /* lower than before: it began again at 0 */
        counter->sum += value >= counter->last ? value - counter->last : value;
    counter->last = value;
    return true;
}

static void add(struct tracks *tracks, const char *unit, double now_s, double count)
{
    struct match_hit hit = match_told(units_find(unit, strlen(unit)));

    hit.count = count;
    tracks_hit(tracks, now_s, &hit);
}

static void take_page(struct scrape *scrape, double now_s)
{
    const double *sums = scrape->page.sums;
    double held = 0;

    scrape_page_read(&scrape->page, str_text(&scrape->fetch.body),
                     scrape->fetch.body.length);
    if (!scrape->server) {
        for (size_t i = 0; i < SERVER_COUNT; i++) {
            if (!isnan(sums[i])) {
                ask_for(scrape, &servers[i]);
                scrape->due_s = now_s; /* again, with all of its names */
                return;
            }
        }
        return;
    }
    if (!count_on(&scrape->done, sums[0]))
        return;
    add(scrape->rate, scrape->server->unit, now_s, scrape->done.sum);
    count_on(&scrape->refused, sums[1]);
    for (int i = 2; i < 4; i++) {
        if (!isnan(sums[i]))
            held += sums[i];
    }
    add(scrape->demand, scrape->server->unit, now_s,
        scrape->done.sum + scrape->refused.sum + held);
}

void scrape_go(struct scrape *scrape, double now_s)
{
    if (scrape->fetch.fd >= 0) {
        if (fetch_go(&scrape->fetch, now_s) == FETCH_DONE)
            take_page(scrape, now_s);
    } else if (now_s >= scrape->due_s) {
        scrape->due_s = now_s + scrape->every_s;
        fetch_start(&scrape->fetch, NULL, NULL, now_s);
    }
}
