/* deliver.c - batches of a spool as POST /v1/reports, in order: main.c calls it whenever
 * something waits */
#include "corgi-report/deliver.h"

#include "base/clock.h"
#include "base/mem.h"
#include "http/api.h"
#include "http/client.h"

#include <stdlib.h>
#include <string.h>

#define BATCH     256 /* reports in one request */
#define CONNECT_S 5
#define ANSWER_S  10

struct deliver {
    struct client *client;
    struct deliver_told told;
    int asked;
};

/* Without TLS only to this machine: the token would be readable on the way. */
static bool is_safe(const char *url)
{
    static const char *const here[] = {"http://127.0.0.1", "http://localhost",
                                       "http://[::1]"};

    if (str_starts(url, "https://"))
        return true;
    for (size_t i = 0; i < sizeof(here) / sizeof(here[0]); i++) {
        char behind = str_starts(url, here[i]) ? url[strlen(here[i])] : 'x';

        if (behind == ':' || behind == '/' || behind == '\0')
            return true;
    }
    return false;
}

struct deliver *deliver_create(const struct report_origin *o, struct err *err)
{
    struct deliver *d;
    struct client *client;

    if (!is_safe(o->daemon)) {
        err_set(err, ERR_INVALID, "%.120s is neither https:// nor on this machine",
                o->daemon);
        return NULL;
    }
    client = client_create(&(struct client_config){.url = o->daemon,
                                                   .token = o->token,
                                                   .ca_file = o->ca,
                                                   .connect_s = CONNECT_S,
                                                   .answer_s = ANSWER_S,
                                                   .max_bytes = 1 << 16},
                           err);
    if (!client)
        return NULL;
    d = mem_new(struct deliver);
    d->client = client;
    return d;
}

void deliver_destroy(struct deliver *d)
{
    if (!d)
        return;
    client_destroy(d->client);
    free(d);
}

static void write_body(const struct report_spool *spool, struct str *body)
{
    const struct report_origin *o = report_spool_origin(spool);
    const char *line, *gpus = o->gpus;
    struct json_out out;
    char uuid[96];
    int count = 0;

    json_out_init(&out, body, false);
    json_out_begin_object(&out);
    if (o->job > 0) {
        json_out_key(&out, "job");
        json_out_u64(&out, o->job);
    }
    json_out_key_string(&out, "run", o->run);
    json_out_key_string(&out, "node", o->node);
    json_out_key_int(&out, "rank", o->rank);
    if (o->slurm_job)
        json_out_key_string(&out, "slurm_job", o->slurm_job);
    if (o->began_s > 0)
        json_out_key_number(&out, "age_s", clock_wall_s() - o->began_s);
    json_out_key_bool(&out, "whole", o->whole);
    json_out_key_array(&out, "gpus");
    while (count < 64 && str_next_word(&gpus, uuid, sizeof(uuid)))
        if (*uuid) {
            json_out_string(&out, uuid);
            count++;
        }
    json_out_end(&out);
    json_out_key(&out, "first");
    json_out_u64(&out, report_spool_first(spool));
    json_out_key_array(&out, "reports");
    for (size_t i = 0; i < BATCH && (line = report_spool_line(spool, i)); i++)
        json_out_string(&out, line);
    json_out_end(&out);
    json_out_end(&out);
}

/* What the status means for what waits. */
static enum deliver_result judge(struct deliver *d, const struct client_answer *answer,
                                 struct report_spool *spool, struct err *err)
{
    bool asked = report_spool_count(spool) == 0;
    double next;

    if (answer->status == 200 &&
        json_value_number(json_value_get(json_doc_root(answer->json), "next"), &next) &&
        (asked || next > (double)report_spool_first(spool))) {
        const struct json_value *root = json_doc_root(answer->json);

        d->told = (struct deliver_told){json_member_bool(root, "stop", false),
                                        json_member_number(root, "ask_s", 0)};
        if (!asked)
            report_spool_delivered(spool, (uint64_t)next);
        return DELIVER_DONE;
    }
    client_answer_error(answer, err);
    switch (answer->status) {
    case 400:
        return DELIVER_NEVER;
    case 401:
    case 403: /* that Slurm has this job the daemon may not have seen yet */
        return report_spool_origin(spool)->job > 0 ? DELIVER_NEVER : DELIVER_LATER;
    default: /* not there yet, another run has not gone yet, too many, too busy */
        return DELIVER_LATER;
    }
}

static enum deliver_result post(struct deliver *d, struct report_spool *spool,
                                struct err *err)
{
    struct client_answer answer = {0};
    struct str body = {0}, key = {0};
    enum deliver_result result = DELIVER_LATER;

    write_body(spool, &body);
    /* A batch that comes twice counts once: the connection may be kept. */
    str_addf(&key, "%s-%llu-%d", report_spool_origin(spool)->run,
             (unsigned long long)report_spool_first(spool), d->asked);
    if (client_call(d->client,
                    &(struct client_request){.method = HTTP_POST,
                                             .path = "/v1/reports",
                                             .body = str_text(&body),
                                             .idempotency_key = str_text(&key)},
                    &answer, err) == 0)
        result = judge(d, &answer, spool, err);
    client_answer_fini(&answer);
    str_fini(&body);
    str_fini(&key);
    return result;
}

enum deliver_result deliver_all(struct deliver *d, struct report_spool *spool,
                                struct err *err)
{
    enum deliver_result result = DELIVER_DONE;

    while (result == DELIVER_DONE && report_spool_count(spool) > 0)
        result = post(d, spool, err);
    return result;
}

enum deliver_result deliver_ask(struct deliver *d, struct report_spool *spool,
                                struct err *err)
{
    if (report_spool_count(spool) > 0)
        return deliver_all(d, spool, err);
    d->asked++;
    return post(d, spool, err);
}

struct deliver_told deliver_told(const struct deliver *d)
{
    return d->told;
}
