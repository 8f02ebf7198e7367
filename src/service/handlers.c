/* handlers.c - see handlers.h
 *
 * http/ has parsed a request, checked it against the schema and found the route; the
 * handler of the route reads records and loop or changes them in a tx, and answers. */
#include "service/handlers.h"

#include "base/mem.h"
#include "base/parse.h"
#include "service/tx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUTE(op, ...) {API_ROUTE(op, __VA_ARGS__), .handle = handle_##op},
const struct route handlers_routes[] = {API_ROUTES(ROUTE){0}};

bool handlers_number(struct request *r, const char *name, double min, double max,
                     double *value)
{
    const char *text = uri_query_get(&r->query, name);
    double number;

    if (!text)
        return true;
    if (!parse_double(text, &number) || number < min || number > max) {
        request_answer_error(r, 400, "invalid", name, "%s must be a number from %g to %g",
                             name, min, max);
        return false;
    }
    *value = number;
    return true;
}

bool handlers_limit(struct request *r, int *limit)
{
    const char *text = uri_query_get(&r->query, "limit");

    *limit = API_DEFAULT_PAGE;
    if (!text)
        return true;
    if (parse_int(text, limit) && *limit >= 1 && *limit <= API_MAX_PAGE)
        return true;
    request_answer_error(r, 400, "invalid", "limit",
                         "limit must be a whole number from 1 to %d", API_MAX_PAGE);
    return false;
}

bool handlers_after(struct request *r, uint64_t *after)
{
    const char *text = uri_query_get(&r->query, "after");

    *after = 0;
    if (!text)
        return true;
    if (parse_u64(text, after) && *after > 0)
        return true;
    request_answer_error(r, 400, "invalid", "after",
                         "after must be `next` of the page before");
    return false;
}

bool handlers_choice(struct request *r, const char *name, const char *const *choices,
                     int *value)
{
    const char *text = uri_query_get(&r->query, name);
    struct str list = {0};

    if (!text)
        return true;
    for (int i = 0; choices[i]; i++) {
        if (strcmp(choices[i], text) == 0) {
            *value = i;
            str_fini(&list);
            return true;
        }
        str_addf(&list, "%s%s", i ? ", " : "", choices[i]);
    }
    request_answer_error(r, 400, "invalid", name, "%s must be one of %s", name,
                         str_text(&list));
    str_fini(&list);
    return false;
}

bool handlers_writable(struct service *s, struct request *r)
{
    if (s->draining)
        request_answer_error(r, 503, "busy", NULL,
                             "the daemon is ending; try again soon");
    else if (s->starting)
        request_answer_error(r, 503, "busy", NULL, "the daemon is starting; try again");
    else
        return true;
    return false;
}

bool handlers_may_act(struct service *s, struct request *r)
{
    if (!s->advises)
        return handlers_writable(s, r);
    request_answer_error(r, 409, "advises", NULL,
                         "this daemon only advises (slurm.mode: advise): use Slurm's own "
                         "commands, sbatch, scancel, scontrol");
    return false;
}

void handlers_value(struct handlers_answer *a, struct request *r)
{
    *a = (struct handlers_answer){.request = r};
    json_out_init(&a->out, &a->text, false);
}

void handlers_begin(struct handlers_answer *a, struct request *r, const char *list)
{
    handlers_value(a, r);
    json_out_begin_object(&a->out);
    if (list) {
        json_out_key_array(&a->out, list);
    }
}

void handlers_page(struct handlers_answer *a, bool more, uint64_t last)
{
    char next[24];

    json_out_end(&a->out);
    snprintf(next, sizeof(next), "%llu", (unsigned long long)last);
    json_out_key_string(&a->out, "next", more ? next : NULL);
}

static void end_all(struct handlers_answer *a)
{
    while (a->out.depth > 0)
        json_out_end(&a->out);
}

void handlers_answer(struct handlers_answer *a, int status)
{
    end_all(a);
    request_answer(a->request, status, &a->text);
}

void handlers_fail(struct handlers_answer *a, const struct err *err)
{
    str_fini(&a->text);
    request_fail(a->request, NULL, err);
}

void handlers_forbid(struct request *r, uint64_t job)
{
    request_answer_error(r, 403, "forbidden", NULL, "job %llu is another user's",
                         (unsigned long long)job);
}

struct kept_quote {
    bool first;
    char *text;
};

/* The text is lost; its row still tells the most of it. */
static char *quote_again(const struct store_quote *q)
{
    struct str text = {0};
    struct json_out out;

    json_out_init(&out, &text, false);
    json_out_begin_object(&out);
    json_out_key_string(&out, "verdict", q->verdict);
    json_out_key_string(&out, "reason",
                        "the text of this quote is damaged in the store; these are the "
                        "figures that are kept beside it");
    json_out_key_number(&out, "promised_rate", q->rate);
    json_out_key_number(&out, "confidence", q->confidence);
    json_out_key_number(&out, "start_s", q->start_s);
    json_out_key_bool(&out, "damaged", true);
    json_out_end(&out);
    return str_take(&text);
}

static int keep_quote(void *ctx, const void *row)
{
    const struct store_quote *quote = row;
    struct kept_quote *kept = ctx;

    if (kept->first && kept->text)
        return 0;
    free(kept->text);
    kept->text = quote->detail == store_damaged ? quote_again(quote)
                 : quote->detail                ? mem_strdup(quote->detail)
                                                : NULL;
    return 0;
}

char *handlers_quote(struct service *s, uint64_t job, bool first)
{
    struct kept_quote kept = {.first = first};

    store_read(s->reader, STORE_QUOTES, &(struct store_filter){.job = job}, keep_quote,
               &kept, NULL);
    return kept.text;
}

void handlers_recall_quote(struct service *s, struct record *record)
{
    if (!record->quote_json)
        record->quote_json = handlers_quote(s, record->id, false);
}

void handlers_drop_quote(struct record *record)
{
    free(record->quote_json);
    record->quote_json = NULL;
}

/* Not in memory: it has ended, or never was. */
static void answer_for_stored(struct service *s, struct request *r, uint64_t id)
{
    struct store_job *job;
    struct err err = {0};

    if (store_read_job(s->reader, id, &job, &err) < 0) {
        request_fail(r, NULL, &err);
        return;
    }
    if (!service_may_touch(&r->identity, job->request.user))
        handlers_forbid(r, id);
    else
        request_answer_error(r, 409, "exists", NULL, "job %llu has ended already",
                             (unsigned long long)id);
    store_job_destroy(job);
}

struct record *handlers_record(struct service *s, struct request *r)
{
    struct record *record = handlers_record_leaving(s, r);

    if (!record || record->phase != PHASE_LEAVING)
        return record;
    request_answer_error(r, 409, "exists", NULL,
                         "job %llu is leaving: it ends when its processes are gone",
                         (unsigned long long)record->id);
    return NULL;
}

struct record *handlers_record_leaving(struct service *s, struct request *r)
{
    struct record *record;
    uint64_t id;

    if (!handlers_may_act(s, r) || request_param_id(r, "id", &id) < 0)
        return NULL;
    record = records_get(s->records, id);
    if (!record || record->phase == PHASE_PENDING || record->phase == PHASE_ENDED) {
        answer_for_stored(s, r, id);
        return NULL;
    }
    if (!service_may_touch(&r->identity, record_user(record))) {
        handlers_forbid(r, id);
        return NULL;
    }
    if (!record->ref[0])
        return record;
    request_answer_error(r, 409, "advises", NULL,
                         "job %llu is Slurm's, and only watched: use Slurm's own "
                         "commands, scancel, scontrol",
                         (unsigned long long)id);
    return NULL;
}

bool handlers_may_look(struct service *s, struct request *r, uint64_t *id)
{
    const struct record *record;
    struct store_job *job;
    struct err err = {0};
    bool allowed;

    if (request_param_id(r, "id", id) < 0)
        return false;
    record = records_get(s->records, *id);
    if (record && record->phase != PHASE_PENDING) {
        allowed = service_may_see(&r->identity, record_user(record));
    } else {
        if (store_read_job(s->reader, *id, &job, &err) < 0) {
            request_fail(r, NULL, &err);
            return false;
        }
        allowed = service_may_see(&r->identity, job->request.user);
        store_job_destroy(job);
    }
    if (!allowed)
        handlers_forbid(r, *id);
    return allowed;
}

const char *handlers_reason(const struct request *r)
{
    const char *reason = json_value_string(json_value_get(r->body, "reason"));

    return reason && *reason ? reason : NULL;
}

struct stored_answer {
    struct handlers_answer answer;
    int status;
};

static void stored(void *ctx, const struct err *err)
{
    struct stored_answer *a = ctx;

    if (err->code == ERR_NONE)
        request_answer(a->answer.request, a->status, &a->answer.text);
    else
        request_answer_error(
            a->answer.request, 503, err_code_name(err->code), NULL,
            a->answer.only_stored
                ? "it could not be stored: %s"
                : "it is done, but could not be stored yet: %s; a daemon "
                  "that is killed before it can does not know of it",
            err->text);
    str_fini(&a->answer.text);
    free(a);
}

void handlers_commit(struct handlers_answer *answer, struct tx *tx, int status)
{
    struct stored_answer *a = mem_new(struct stored_answer);

    end_all(answer);
    *a = (struct stored_answer){*answer, status};
    tx_commit(tx, stored, a);
}
