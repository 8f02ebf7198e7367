/* job_records.c - see job_records.h
 *
 * There may be a hundred thousand jobs and few of them have devices, so these have a list
 * of their own, and what is asked for often is counted when it changes. */
#include "service/job_records.h"

#include "base/hash.h"
#include "base/intern.h"
#include "base/json.h"
#include "base/json_out.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/rng.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef vec_of(struct record *) record_list;

struct records {
    record_list all;
    record_list busy; /* have devices */
    struct records_counts counts;
    struct map *by_id;
    struct map *by_key; /* hash of user and key -> record */
    struct intern *users;
    vec_of(struct records_use) use; /* (users) jobs only */
};

struct records *records_create(void)
{
    struct records *r = mem_new(struct records);

    r->by_id = map_create();
    r->by_key = map_create();
    r->users = intern_create();
    return r;
}

static void destroy_record(struct record *record)
{
    store_job_destroy(record->stored);
    free(record->quote_json);
    free(record->final);
    vec_free(&record->waiters);
    free(record);
}

void records_destroy(struct records *r)
{
    if (!r)
        return;
    vec_each (struct record *, record, &r->all)
        destroy_record(*record);
    vec_free(&r->all);
    vec_free(&r->busy);
    vec_free(&r->use);
    map_destroy(r->by_id);
    map_destroy(r->by_key);
    intern_destroy(r->users);
    free(r);
}

static uint64_t key_hash(const char *user, const char *key)
{
    return rng_mix(hash_text(user), hash_text(key));
}

static struct records_use *use_of(struct records *r, const char *user)
{
    int id = intern_id(r->users, user);

    while (r->use.count <= (size_t)id)
        vec_push(&r->use, (struct records_use){0});
    return &r->use.items[id];
}

/* ---- replicas of a service ----------------------------------------------------------
 */

static void replicas_json(const struct record_replicas *x, struct str *out)
{
    struct json_out json;

    json_out_init(&json, out, false);
    json_out_begin_object(&json);
    json_out_key_bool(&json, "scale_to_zero", x->scale_to_zero);
    json_out_key_int(&json, "max_replicas", x->max);
    json_out_key_int(&json, "shares", x->shares);
    if (x->of) {
        json_out_key_int(&json, "replica_of", (int64_t)x->of);
        json_out_key_int(&json, "replica", x->number);
    }
    json_out_end(&json);
}

static int whole(const struct json_value *root, const char *key, int least)
{
    double n = json_member_number(root, key, 1);

    return n >= least && n <= 1e6 ? (int)n : 1;
}

static struct record_replicas read_replicas(const char *extra)
{
    struct record_replicas x = {.max = 1, .shares = 1, .number = 1};
    const struct json_value *root;
    struct json_doc *doc;

    if (!extra || json_doc_parse(&doc, extra, strlen(extra), "extra", NULL) < 0)
        return x;
    root = json_doc_root(doc);
    x.scale_to_zero = json_member_bool(root, "scale_to_zero", false);
    x.max = whole(root, "max_replicas", 0);
    x.shares = whole(root, "shares", 1);
    x.of = (uint64_t)fmax(0, json_member_number(root, "replica_of", 0));
    x.number = whole(root, "replica", 0);
    json_doc_destroy(doc);
    return x;
}

/* The record has a copy of the request, which tells of its replicas. */
static void keep_request(struct record *r, const struct store_job *job,
                         const struct record_replicas *replicas)
{
    struct store_job kept = *job, *old = r->stored;
    struct str extra = {0};

    r->replicas = replicas ? *replicas : read_replicas(job->request.extra);
    if (replicas) {
        if (replicas->of || replicas->scale_to_zero || replicas->max != 1)
            replicas_json(replicas, &extra);
        kept.request.extra = extra.text;
    }
    r->stored = store_job_dup(&kept);
    store_job_destroy(old);
    str_fini(&extra);
}

static const struct {
    const char *name;
    size_t offset; /* of a double */
} extra_numbers[] = {
    {"steps_before", offsetof(struct record, steps_before)},
    {"promised_rate", offsetof(struct record, promised_rate)},
    {"offered_rate", offsetof(struct record, offered_rate)},
    {"confidence", offsetof(struct record, confidence)},
    {"joules", offsetof(struct record, booked.use.joules)},
    {"joules_error", offsetof(struct record, booked.use.error_joules)},
    {"saved_joules", offsetof(struct record, booked.saving.joules)},
    {"saved_error", offsetof(struct record, booked.saving.error)},
    {"mean_demand", offsetof(struct record, mean_demand)},
    {"reference_type", offsetof(struct record, reference_type)},
    {"reference_s", offsetof(struct record, reference_s)},
    {"began_s", offsetof(struct record, began_s)},
    {"ran_s", offsetof(struct record, ran_s)},
};
#define EXTRA_NUMBERS (sizeof(extra_numbers) / sizeof(extra_numbers[0]))

void record_refused_json(const struct record *r, struct json_out *out)
{
    for (int i = RECORD_TAKEN + 1; i < RECORD_REASONS; i++)
        if (r->refused[i] > 0)
            json_out_key_int(out, record_refusal_name((enum record_refusal)i),
                             r->refused[i]);
}

void record_extra_json(const struct record *r, const char *leaving_devices,
                       struct str *out)
{
    struct json_out json;

    json_out_init(&json, out, false);
    json_out_begin_object(&json);
    for (size_t i = 0; i < EXTRA_NUMBERS; i++)
        json_out_key_number(
            &json, extra_numbers[i].name,
            *(const double *)(const void *)((const char *)r + extra_numbers[i].offset));
    json_out_key_string(&json, "reason_code", r->reason_code);
    json_out_key_int(&json, "memory_failures", r->tries.memory_failures);
    json_out_key_int(&json, "unfinished", r->tries.unfinished);
    json_out_key_object(&json, "refused");
    record_refused_json(r, &json);
    json_out_end(&json);
    if (r->ref[0]) {
        json_out_key_string(&json, "ref", r->ref);
        json_out_key_string(&json, "hosts", r->hosts);
        json_out_key_bool(&json, "part", r->part);
        json_out_key_number(&json, "advised_s", r->advised_s);
        json_out_key_number(&json, "advised_elsewhere", r->advised_elsewhere);
        json_out_key_number(&json, "advised_moves", r->advised_moves);
    }
    for (int i = 0; i < JOB_GROUPS; i++)
        if (r->there.names[i][0])
            json_out_key_string(&json, job_group_kinds[i], r->there.names[i]);
    if (r->gpu_use >= 0) { /* not NaN */
        json_out_key_number(&json, "gpu_use", r->gpu_use);
        json_out_key_number(&json, "unused_gpus", r->unused_gpus);
        json_out_key_number(&json, "gpu_memory_gb", r->gpu_memory_gb);
    }
    if (r->entered[0])
        json_out_key_string(&json, "entered", r->entered);
    if (r->token_digest[0])
        json_out_key_string(&json, "token_digest", r->token_digest);
    if (r->done_attempt > 0)
        json_out_key_int(&json, "done_attempt", r->done_attempt);
    if (r->leaving_holds) {
        json_out_key_int(&json, "leaving_attempt", r->leaving_attempt);
        json_out_key_string(&json, "leaving_devices", leaving_devices);
        json_out_key_number(&json, "leaving_until_s", r->leaving_until_s);
        json_out_key_number(&json, "leaving_steps_before", r->leaving_steps_before);
        json_out_key_int(&json, "leaving_end",
                         r->phase == PHASE_LEAVING ? r->leaving_end : 0);
    }
    json_out_end(&json);
}

char *record_read_leaving(struct record *r, const char *extra)
{
    const struct json_value *root;
    struct json_doc *doc;
    const char *devices;
    char *names = NULL;
    double end;

    if (!extra || !strstr(extra, "\"leaving_attempt\"") ||
        json_doc_parse(&doc, extra, strlen(extra), "extra", NULL) < 0)
        return NULL;
    root = json_doc_root(doc);
    devices = json_member_string(root, "leaving_devices");
    end = json_member_number(root, "leaving_end", 0);
    if (devices) {
        r->leaving_attempt = whole(root, "leaving_attempt", 1);
        r->leaving_until_s = json_member_number(root, "leaving_until_s", 0);
        r->leaving_steps_before = json_member_number(root, "leaving_steps_before", 0);
        r->leaving_end = end >= JOB_DONE && end <= JOB_CANCELLED ? (int)end : 0;
        names = mem_strdup(devices);
    }
    json_doc_destroy(doc);
    return names;
}

/* A damaged one is taken for the nearest that can be, with room to count on. */
static int stored_count(const struct json_value *root, const char *name)
{
    return (int)fmin(fmax(json_member_number(root, name, 0), 0), 1e9);
}

void record_read_extra(struct record *r, const char *extra)
{
    const struct json_value *root;
    struct json_doc *doc;
    const char *code;

    if (!extra || json_doc_parse(&doc, extra, strlen(extra), "extra", NULL) < 0)
        return;
    root = json_doc_root(doc);
    for (size_t i = 0; i < EXTRA_NUMBERS; i++)
        json_value_number(json_value_get(root, extra_numbers[i].name),
                          (void *)((char *)r + extra_numbers[i].offset));
    r->shown = r->booked;
    code = json_member_string(root, "reason_code");
    str_copy(r->reason_code, sizeof(r->reason_code), code ? code : "");
    r->tries.memory_failures = stored_count(root, "memory_failures");
    r->tries.unfinished = stored_count(root, "unfinished");
    for (int i = RECORD_TAKEN + 1; i < RECORD_REASONS; i++)
        r->refused[i] = stored_count(json_value_get(root, "refused"),
                                     record_refusal_name((enum record_refusal)i));
    code = json_member_string(root, "ref");
    str_copy(r->ref, sizeof(r->ref), code ? code : "");
    r->part = json_member_bool(root, "part", false);
    for (int i = 0; i < JOB_GROUPS; i++) {
        code = json_member_string(root, job_group_kinds[i]);
        str_copy(r->there.names[i], LOOP_NAME_SIZE, code ? code : "");
    }
    code = json_member_string(root, "entered");
    str_copy(r->entered, sizeof(r->entered), code ? code : "");
    code = json_member_string(root, "token_digest");
    str_copy(r->token_digest, sizeof(r->token_digest), code ? code : "");
    r->done_attempt = stored_count(root, "done_attempt");
    code = json_member_string(root, "hosts");
    str_copy(r->hosts, sizeof(r->hosts), code ? code : "");
    r->gpu_use = json_member_number(root, "gpu_use", NAN);
    r->unused_gpus = json_member_number(root, "unused_gpus", 0);
    r->gpu_memory_gb = json_member_number(root, "gpu_memory_gb", NAN);
    r->advised_s = json_member_number(root, "advised_s", NAN);
    r->advised_elsewhere = json_member_number(root, "advised_elsewhere", 0);
    r->advised_moves = json_member_number(root, "advised_moves", 0);
    json_doc_destroy(doc);
}

double record_ran_s(const struct record *r, double now_s)
{
    return r->ran_s + (isfinite(r->began_s) ? fmax(0, now_s - r->began_s) : 0);
}

void record_stopped(struct record *r, double now_s)
{
    r->ran_s = record_ran_s(r, now_s);
    r->began_s = NAN;
}

void record_explain(struct record *r, const char *code, const char *format, ...)
{
    va_list args;

    str_copy(r->reason_code, sizeof(r->reason_code), code ? code : "");
    va_start(args, format);
    vsnprintf(r->reason, sizeof(r->reason), format, args);
    va_end(args);
}

struct job record_share(const struct record *r)
{
    struct job job = *record_job(r);

    if (job.kind == JOB_INFERENCE && job.need.kind == NEED_SERVICE)
        job.need.rate /= r->replicas.shares;
    job.unpromised = job.need.kind != NEED_BEST_EFFORT && !isfinite(r->promised_rate);
    return job;
}

bool record_at_zero(const struct record *r)
{
    return r->held && strcmp(r->reason_code, RECORD_AT_ZERO) == 0;
}

static struct replica as_replica(const struct record *r)
{
    return (struct replica){.number = r->replicas.number,
                            .has_devices = record_has_devices(r),
                            .rate = NAN,
                            .demand = r->demand,
                            .demand_at_s = r->demand_at_s,
                            .latency_s = r->latency_s};
}

int records_replicas(const struct records *r, const struct record *service,
                     struct replica *replicas, struct record **found)
{
    int count = 0;

    replicas[count++] = as_replica(service);
    if (found)
        found[0] = records_get(r, service->id);
    for (size_t i = 0; i < r->all.count && service->replicas.max > 1; i++) {
        struct record *other = r->all.items[i];

        if (other->replicas.of != service->id || other->phase >= PHASE_ENDED ||
            count == LOOP_MAX_GANG)
            continue;
        if (found)
            found[count] = other;
        replicas[count++] = as_replica(other);
    }
    return count;
}

/* ---- counting ---------------------------------------------------------------------- */

/* Out before a change, in after it. */
static void tally(struct records *r, const struct record *record, int by)
{
    if (record->phase == PHASE_WAITING) {
        *(record->held ? &r->counts.held : &r->counts.waiting) += by;
        r->counts.over_quota += record->over_quota ? by : 0;
    }
}

static size_t position_of(struct record *const *list, size_t count, uint64_t id)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (list[middle]->id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* New ones have the highest id; only those that live again belong further in front. */
static void join(record_list *list, struct record *record)
{
    size_t at = position_of(list->items, list->count, record->id);

    vec_push(list, record);
    memmove(&list->items[at + 1], &list->items[at],
            (list->count - 1 - at) * sizeof(list->items[0]));
    list->items[at] = record;
}

static void leave(record_list *list, const struct record *record)
{
    size_t at = position_of(list->items, list->count, record->id);

    assert(at < list->count && list->items[at] == record);
    memmove(&list->items[at], &list->items[at + 1],
            (list->count - at - 1) * sizeof(list->items[0]));
    list->count--;
}

void records_set_phase(struct records *r, struct record *record, enum phase phase)
{
    bool was = record_has_devices(record);

    tally(r, record, -1);
    record->phase = phase;
    tally(r, record, 1);
    if (!was && record_has_devices(record))
        join(&r->busy, record);
    else if (was && !record_has_devices(record))
        leave(&r->busy, record);
}

void records_set_held(struct records *r, struct record *record, bool held)
{
    tally(r, record, -1);
    record->held = held;
    tally(r, record, 1);
}

void records_set_over_quota(struct records *r, struct record *record, bool over)
{
    tally(r, record, -1);
    record->over_quota = over;
    tally(r, record, 1);
}

void records_set_request(struct record *record, const struct store_request *request,
                         const struct record_replicas *replicas)
{
    struct store_job changed = *record->stored;

    changed.request = *request;
    keep_request(record, &changed, replicas);
    record->priority = request->job.priority;
}

struct records_counts records_counts(const struct records *r)
{
    return r->counts;
}

/* ---- coming and going -------------------------------------------------------------- */

struct record *records_add(struct records *r, const struct store_job *job,
                           const struct record_replicas *replicas)
{
    struct record *record = mem_new(struct record);

    keep_request(record, job, replicas);
    record->id = job->request.job.id;
    record->exit_status = -1;
    record->ended_s = record->promised_rate = record->offered_rate = record->rate =
        record->demand = NAN;
    record->watts = record->expected_start_s = record->expected_end_s = NAN;
    record->rate_at_s = record->predicted_rate = record->latency_s = NAN;
    record->told_s = NAN;
    record->began_s = record->reference_s = record->advised_s = NAN;
    record->gpu_use = record->gpu_memory_gb = NAN;
    record->reference_type = -1;
    record->scaling = REPLICAS_NEW;
    record->promise = PROMISE_NEW;
    record->priority = job->request.job.priority;
    record->user = intern_id(r->users, job->request.user);
    for (int i = 0; i < JOB_GROUPS; i++)
        record->groups[i] = -1;
    tally(r, record, 1);
    join(&r->all, record);
    map_put(r->by_id, record->id, (size_t)(uintptr_t)record);
    if (job->request.key)
        map_put(r->by_key, key_hash(job->request.user, job->request.key),
                (size_t)(uintptr_t)record);
    use_of(r, job->request.user)->jobs++;
    return record;
}

void records_set_there(struct records *r, struct record *record,
                       const struct job_groups *there)
{
    char key[JOB_GROUP_KEY_SIZE];

    record->there = *there;
    for (int i = 0; i < JOB_GROUPS; i++) {
        if (record->groups[i] >= 0)
            r->use.items[record->groups[i]].jobs--;
        record->groups[i] = -1;
        if (!job_groups_key(there, (enum job_group)i, key))
            continue;
        use_of(r, key)->jobs++;
        record->groups[i] = intern_id(r->users, key);
    }
}

struct record *records_get(const struct records *r, uint64_t id)
{
    size_t value;

    return map_get(r->by_id, id, &value) ? (struct record *)(uintptr_t)value : NULL;
}

struct record *records_keyed(const struct records *r, const char *user, const char *key)
{
    struct record *record;
    size_t value;

    if (!map_get(r->by_key, key_hash(user, key), &value))
        return NULL;
    record = (struct record *)(uintptr_t)value;
    return strcmp(record_user(record), user) == 0 &&
                   strcmp(record->stored->request.key, key) == 0
               ? record
               : NULL;
}

void records_drop(struct records *r, struct record *record)
{
    const struct store_request *q = &record->stored->request;

    leave(&r->all, record);
    map_remove(r->by_id, record->id);
    if (q->key && records_keyed(r, q->user, q->key) == record)
        map_remove(r->by_key, key_hash(q->user, q->key));
    use_of(r, q->user)->jobs--;
    for (int i = 0; i < JOB_GROUPS; i++)
        if (record->groups[i] >= 0)
            r->use.items[record->groups[i]].jobs--;
    tally(r, record, -1);
    if (record_has_devices(record))
        leave(&r->busy, record);
    destroy_record(record);
}

struct record *const *records_all(const struct records *r, size_t *count)
{
    *count = r->all.count;
    return r->all.items;
}

struct record *const *records_busy(const struct records *r, size_t *count)
{
    *count = r->busy.count;
    return r->busy.items;
}

static bool counts_for(const struct record *record, int id)
{
    bool counts = record->user == id;

    for (int i = 0; i < JOB_GROUPS; i++)
        counts = counts || record->groups[i] == id;
    return counts;
}

struct records_use records_use(const struct records *r, const char *user)
{
    struct records_use use = {0};
    int id = intern_find(r->users, user);

    if (id < 0 || (size_t)id >= r->use.count || r->use.items[id].jobs == 0)
        return use;
    use.jobs = r->use.items[id].jobs;
    for (size_t i = 0; i < r->busy.count; i++)
        if (counts_for(r->busy.items[i], id)) {
            use.running++;
            use.gpus += record_job(r->busy.items[i])->devices;
        }
    return use;
}

int records_users(const struct records *r)
{
    return intern_count(r->users);
}

const char *records_user(const struct records *r, int number)
{
    return intern_name(r->users, number);
}
