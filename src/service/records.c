/* records.c - see records.h
 *
 * Users have few jobs each next to all, so use is counted when asked for over an index by
 * user; the list in order of id is an array, as ids only grow. */
#include "service/records.h"

#include "base/intern.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct records {
    vec_of(struct record *) all;
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
    vec_free(&r->use);
    map_destroy(r->by_id);
    map_destroy(r->by_key);
    intern_destroy(r->users);
    free(r);
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = rng_mix(hash, (uint64_t)(unsigned char)*text);
    return rng_mix(hash, 0);
}

static uint64_t key_hash(const char *user, const char *key)
{
    return hash_text(hash_text(1, user), key);
}

static struct records_use *use_of(struct records *r, const char *user)
{
    int id = intern_id(r->users, user);

    while (r->use.count <= (size_t)id)
        vec_push(&r->use, (struct records_use){0});
    return &r->use.items[id];
}

struct record *records_add(struct records *r, const struct store_job *job)
{
    struct record *record = mem_new(struct record);

    record->stored = store_job_dup(job);
    record->id = job->request.job.id;
    record->exit_status = -1;
    record->ended_s = record->promised_rate = record->rate = record->demand = NAN;
    record->watts = record->expected_start_s = record->expected_end_s = NAN;
    record->rate_at_s = record->predicted_rate = record->latency_s = NAN;
    record->reference_watts = record->reference_rate = record->began_s = NAN;
    record->scaling = (struct scaling){.less_since_s = NAN, .idle_since_s = NAN};
    record->max_replicas = record->shares = record->replica = 1;
    record->watch =
        (struct promise_watch){.below_since_s = NAN, .acted_s = NAN, .checked_s = NAN};
    vec_push(&r->all, record);
    map_put(r->by_id, record->id, (size_t)(uintptr_t)record);
    if (job->request.key)
        map_put(r->by_key, key_hash(job->request.user, job->request.key),
                (size_t)(uintptr_t)record);
    use_of(r, job->request.user)->jobs++;
    return record;
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

/* Ids grow: binary search. */
static size_t position_of(const struct records *r, uint64_t id)
{
    size_t low = 0, high = r->all.count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (r->all.items[middle]->id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void records_drop(struct records *r, struct record *record)
{
    size_t at = position_of(r, record->id);
    const struct store_request *q = &record->stored->request;

    memmove(&r->all.items[at], &r->all.items[at + 1],
            (r->all.count - at - 1) * sizeof(r->all.items[0]));
    r->all.count--;
    map_remove(r->by_id, record->id);
    if (q->key && records_keyed(r, q->user, q->key) == record)
        map_remove(r->by_key, key_hash(q->user, q->key));
    use_of(r, q->user)->jobs--;
    destroy_record(record);
}

struct record *const *records_all(const struct records *r, size_t *count)
{
    *count = r->all.count;
    return r->all.items;
}

struct records_use records_use(const struct records *r, const char *user)
{
    struct records_use use = {0};
    int id = intern_find(r->users, user);

    if (id < 0 || (size_t)id >= r->use.count || r->use.items[id].jobs == 0)
        return use;
    use.jobs = r->use.items[id].jobs;
    for (size_t i = 0; i < r->all.count; i++) {
        const struct record *record = r->all.items[i];

        if (!record_has_devices(record) || strcmp(record_user(record), user) != 0)
            continue;
        use.running++;
        use.gpus += record_job(record)->devices;
    }
    return use;
}

void record_set_request(struct record *record, const struct store_request *request)
{
    struct store_job changed = *record->stored;
    struct store_job *old = record->stored;

    changed.request = *request;
    record->stored = store_job_dup(&changed);
    store_job_destroy(old);
}
