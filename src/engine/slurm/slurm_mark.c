/* slurm_mark.c - slurm_control.c knows its jobs by it; corgi/slurm_detach.c takes it off
 */
#include "engine/slurm/slurm_mark.h"

#include "base/json.h"

#include <stdlib.h>

#define DIGITS    "0123456789abcdef"
#define MOST_GPUS 4096

const char *slurm_mark_digits(const char *admin_comment)
{
    const char *ours = admin_comment ? strstr(admin_comment, SLURM_MARK) : NULL;
    size_t length;

    if (!ours)
        return NULL;
    ours += strlen(SLURM_MARK);
    length = strspn(ours, DIGITS);
    return length == SLURM_DIGEST_SIZE - 1 && ours[length] && strchr(":.", ours[length])
               ? ours
               : NULL;
}

bool slurm_mark_digest(const char *admin_comment, char digest[SLURM_DIGEST_SIZE])
{
    const char *digits = slurm_mark_digits(admin_comment);

    if (!digits)
        return false;
    memcpy(digest, digits, SLURM_DIGEST_SIZE - 1);
    digest[SLURM_DIGEST_SIZE - 1] = '\0';
    return true;
}

void slurm_mark_attempt(const char *admin_comment, int attempt, struct str *out)
{
    const char *request = slurm_mark_request(admin_comment), *ours;
    char digest[SLURM_DIGEST_SIZE];

    if (!admin_comment)
        return;
    ours = request ? strstr(admin_comment, SLURM_MARK) : NULL;
    if (!ours || !slurm_mark_digest(admin_comment, digest)) {
        str_add(out, admin_comment);
        return;
    }
    str_add_bytes(out, admin_comment, (size_t)(ours - admin_comment));
    str_addf(out, SLURM_MARK "%s.%d:%s", digest, attempt, request);
}

int slurm_mark_placed(const char *admin_comment)
{
    const char *ours = admin_comment ? strstr(admin_comment, SLURM_MARK) : NULL;
    char digest[SLURM_DIGEST_SIZE];

    if (!ours || !slurm_mark_digest(admin_comment, digest))
        return 0;
    ours += strlen(SLURM_MARK) + SLURM_DIGEST_SIZE - 1;
    return *ours == '.' ? atoi(ours + 1) : 0;
}

/* Behind the object that begins here; a text that is none goes to its end. */
static const char *behind_object(const char *json)
{
    bool quoted = false;
    int depth = 0;

    for (const char *at = json; *at; at++) {
        if (*at == '\\' && quoted && at[1])
            at++;
        else if (*at == '"')
            quoted = !quoted;
        else if (!quoted && *at == '{')
            depth++;
        else if (!quoted && *at == '}' && --depth <= 0)
            return at + 1;
    }
    return json + strlen(json);
}

int slurm_mark_gpus(const char *admin_comment)
{
    const char *request = slurm_mark_request(admin_comment);
    struct json_doc *doc;
    double gpus = 0;

    if (!request ||
        json_doc_parse(&doc, request, (size_t)(behind_object(request) - request), "mark",
                       NULL) < 0)
        return 0;
    gpus = json_member_number(json_doc_root(doc), "gpus", 0);
    json_doc_destroy(doc);
    return gpus >= 1 && gpus <= MOST_GPUS ? (int)gpus : 0;
}

void slurm_mark_strip(const char *admin_comment, struct str *out)
{
    const char *request = slurm_mark_request(admin_comment), *ours;
    size_t before;

    if (!admin_comment)
        return;
    ours = request ? strstr(admin_comment, SLURM_MARK) : NULL;
    if (!ours) {
        str_add(out, admin_comment);
        return;
    }
    before = (size_t)(ours - admin_comment);
    if (before > 0 && admin_comment[before - 1] == ' ')
        before--;
    str_add_bytes(out, admin_comment, before);
    request = behind_object(request);
    str_add(out, before == 0 && *request == ' ' ? request + 1 : request);
}
