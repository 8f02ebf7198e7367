/* jobstats.c - lab/traces/slurm_jobs.c hands over AdminComment of `sacct`, a Slurm engine
 * that of a job which ended */
#include "probe/jobstats.h"

#include "base/gzip.h"
#include "base/json.h"
#include "base/str.h"

#include <math.h>
#include <string.h>

#define PREFIX       "JS1:"
#define MAX_VALUES   20000 /* of the JSON: members and what holds them */
#define BYTES_A_GB   1e9
#define MAX_GPU_GB   1e6
#define MAX_WATCHED  (10 * 365.25 * 86400)
#define PERCENT_ROOM 1 /* an average of counters may exceed 100 by rounding */

static int digit(char c)
{
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(digits, c) : NULL;

    return at ? (int)(at - digits) : -1;
}

static int decode_base64(const char *text, struct str *out, struct err *err)
{
    size_t length = strlen(text);
    unsigned bits = 0;
    int held = 0;

    while (length > 0 && text[length - 1] == '=')
        length--;
    for (size_t i = 0; i < length; i++) {
        int value = digit(text[i]);
        char byte;

        if (value < 0)
            return err_set(err, ERR_FORMAT, "is no base64");
        bits = (bits << 6 | (unsigned)value) & 0xffff;
        held += 6;
        if (held < 8)
            continue;
        held -= 8;
        byte = (char)(bits >> held);
        str_add_bytes(out, &byte, 1);
    }
    return 0;
}

/* One number a GPU: {"0": 93.1, "1": 90}.  False: one is out of range. */
static bool in_range(double value, double most)
{
    return isfinite(value) && value >= 0 && value <= most;
}

static int add_use(const struct json_value *node, struct jobstats *s, struct err *err)
{
    struct json_iter it = {.object = json_value_get(node, "gpu_utilization")};
    double percent;

    while (json_iter_next(&it)) {
        if (!json_value_number(it.value, &percent) ||
            !in_range(percent, 100 + PERCENT_ROOM))
            return err_set(err, ERR_FORMAT,
                           "has a gpu_utilization that is no percentage");
        if (s->gpus == JOBSTATS_MAX_GPUS)
            return err_set(err, ERR_LIMIT, "has more than %d GPUs", JOBSTATS_MAX_GPUS);
        s->gpu_use =
            (isnan(s->gpu_use) ? 0 : s->gpu_use) + fmin(1, percent / 100); /* a sum */
        s->gpus++;
        s->unused_gpus += percent <= 0;
    }
    return 0;
}

static int add_memory(const struct json_value *node, struct jobstats *s, struct err *err)
{
    const struct json_value *all = json_value_get(node, "gpu_total_memory");
    struct json_iter it = {.object = json_value_get(node, "gpu_used_memory")};
    double bytes, has;

    while (json_iter_next(&it)) {
        if (!json_value_number(it.value, &bytes) ||
            !in_range(bytes, MAX_GPU_GB * BYTES_A_GB))
            return err_set(err, ERR_FORMAT, "has a gpu_used_memory that is no size");
        if (!(bytes / BYTES_A_GB > s->gpu_gb || isnan(s->gpu_gb)))
            continue;
        s->gpu_gb = bytes / BYTES_A_GB;
        has = json_member_number(all, it.key, NAN);
        s->gpu_all_gb = in_range(has, MAX_GPU_GB * BYTES_A_GB) ? has / BYTES_A_GB : NAN;
    }
    return 0;
}

static int read_json(const struct str *text, struct jobstats *stats, struct err *err)
{
    struct jobstats s = {
        .gpu_use = NAN, .gpu_gb = NAN, .gpu_all_gb = NAN, .seconds = NAN};
    struct json_doc *doc;
    struct json_iter nodes;
    int rc = 0;

    if (json_doc_parse_few(&doc, str_text(text), text->length, "jobstats", MAX_VALUES,
                           err) < 0)
        return -1;
    nodes = (struct json_iter){.object = json_value_get(json_doc_root(doc), "nodes")};
    if (json_value_kind(nodes.object) != JSON_KIND_OBJECT)
        rc = err_set(err, ERR_FORMAT, "has no nodes");
    while (rc == 0 && json_iter_next(&nodes))
        if (add_use(nodes.value, &s, err) < 0 || add_memory(nodes.value, &s, err) < 0)
            rc = -1;
    s.seconds = json_member_number(json_doc_root(doc), "total_time", NAN);
    if (!in_range(s.seconds, MAX_WATCHED))
        s.seconds = NAN;
    json_doc_destroy(doc);
    if (rc < 0)
        return -1;
    if (s.gpus > 0)
        s.gpu_use /= s.gpus;
    *stats = s;
    return 0;
}

int jobstats_read(const char *comment, enum jobstats_kind *kind, struct jobstats *stats,
                  struct err *err)
{
    struct str packed = {0}, json = {0};
    const char *text = comment + strlen(PREFIX);
    int rc = -1;

    if (!str_starts(comment, PREFIX)) {
        *kind = JOBSTATS_ABSENT;
        return 0;
    }
    if (!strcmp(text, "Short") || !strcmp(text, "None")) {
        *kind = *text == 'S' ? JOBSTATS_SHORT : JOBSTATS_NONE;
        return 0;
    }
    if (strlen(text) > JOBSTATS_MAX_TEXT) {
        err_set(err, ERR_LIMIT, "is longer than %zu bytes", JOBSTATS_MAX_TEXT);
        goto done;
    }
    if (decode_base64(text, &packed, err) < 0 ||
        gzip_unpack(str_text(&packed), packed.length, JOBSTATS_MAX_JSON, &json, err) <
            0 ||
        read_json(&json, stats, err) < 0)
        goto done;
    *kind = JOBSTATS_KNOWN;
    rc = 0;
done:
    if (rc < 0)
        err_prefix(err, "JS1 of jobstats");
    str_fini(&packed);
    str_fini(&json);
    return rc;
}
