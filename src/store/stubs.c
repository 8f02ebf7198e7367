/* stubs.c - stands for what is not written yet: accepts all rows, finds none */
#include "store/store.h"
#include "store/reader.h"
#include "store/jobs.h"
#include "store/history.h"
#include "store/events.h"
#include "store/telemetry.h"
#include "store/energy.h"
#include "store/access.h"
#include "store/settings.h"
#include "store/models.h"
#include "store/admin.h"
#include "base/mem.h"
#include <stdlib.h>
#include <string.h>
struct store {
    struct store_options options;
    uint64_t next[STORE_SEQUENCE_COUNT];
};
struct store_batch {
    size_t rows;
};
struct store_reader {
    int nothing;
};
const double store_time_bounds[STORE_TIME_BUCKETS - 1] = {0};
int store_open(struct store **store, const struct store_options *options, struct err *err)
{
    (void)err;
    *store = mem_new(struct store);
    (*store)->options = *options;
    return 0;
}

void store_close(struct store *store)
{
    free(store);
}

const char *store_path(const struct store *store)
{
    return store->options.path;
}

bool store_was_interrupted(const struct store *store)
{
    (void)store;
    return 0;
}

struct store_batch *store_batch_create(void)
{
    return mem_new(struct store_batch);
}

void store_batch_destroy(struct store_batch *batch)
{
    free(batch);
}

size_t store_batch_rows(const struct store_batch *batch)
{
    (void)batch;
    return 0;
}

size_t store_batch_bytes(const struct store_batch *batch)
{
    (void)batch;
    return 0;
}

int store_commit(struct store *store, struct store_batch *batch, enum store_class how,
                 store_done done, void *ctx, struct err *err)
{
    struct store_completion c = {.done = done, .ctx = ctx};
    (void)how;
    (void)err;
    free(batch);
    if (done) {
        if (store->options.post)
            store->options.post(store->options.post_ctx, &c, 1);
        else
            done(ctx, &c);
    }
    return 0;
}

int store_commit_wait(struct store *store, struct store_batch *batch, struct err *err)
{
    (void)store;
    (void)err;
    free(batch);
    return 0;
}

void store_flush(struct store *store)
{
    (void)store;
}

uint64_t store_take_id(struct store *store, enum store_sequence sequence)
{
    return ++store->next[sequence];
}

void store_stats(struct store *store, struct store_stats *stats)
{
    (void)store;
    memset(stats, 0, sizeof(*stats));
}

int store_reader_open(struct store_reader **reader, const char *path, struct err *err)
{
    (void)path;
    (void)err;
    *reader = mem_new(struct store_reader);
    return 0;
}

void store_reader_close(struct store_reader *reader)
{
    free(reader);
}

int store_reader_begin(struct store_reader *reader, struct err *err)
{
    (void)reader;
    (void)err;
    return 0;
}

void store_reader_end(struct store_reader *reader)
{
    (void)reader;
}

void store_digest(const void *bytes, size_t count,
                  unsigned char digest[STORE_DIGEST_BYTES])
{
    (void)bytes;
    (void)count;
    (void)digest;
}

void store_put_job(struct store_batch *batch, const struct store_request *request,
                   const struct store_progress *progress)
{
    (void)batch;
    (void)request;
    (void)progress;
}

void store_update_request(struct store_batch *batch, const struct store_request *request)
{
    (void)batch;
    (void)request;
}

void store_update_progress(struct store_batch *batch, uint64_t job,
                           const struct store_progress *progress)
{
    (void)batch;
    (void)job;
    (void)progress;
}

int store_read_live_jobs(struct store_reader *reader, store_job_row row, void *ctx,
                         struct err *err)
{
    (void)reader;
    (void)row;
    (void)ctx;
    (void)err;
    return 0;
}

int store_read_jobs(struct store_reader *reader, const struct store_job_filter *filter,
                    store_job_row row, void *ctx, struct err *err)
{
    (void)reader;
    (void)filter;
    (void)row;
    (void)ctx;
    (void)err;
    return 0;
}

int store_count_jobs(struct store_reader *reader, const struct store_job_filter *filter,
                     uint64_t *count, struct err *err)
{
    (void)reader;
    (void)filter;
    (void)count;
    (void)err;
    return 0;
}

int store_read_job(struct store_reader *reader, uint64_t id, struct store_job **job,
                   struct err *err)
{
    (void)reader;
    (void)id;
    (void)job;
    return err_set(err, ERR_NOT_FOUND, "there is no job %llu", (unsigned long long)id);
}

int store_find_job(struct store_reader *reader, const char *user, const char *key,
                   struct store_job **job, struct err *err)
{
    (void)reader;
    (void)user;
    (void)key;
    (void)job;
    return err_set(err, ERR_NOT_FOUND, "no job has this key");
}

struct store_job *store_job_dup(const struct store_job *job)
{
    (void)job;
    return NULL;
}

void store_job_destroy(struct store_job *job)
{
    (void)job;
}

void store_add_transition(struct store_batch *batch, const struct store_transition *t)
{
    (void)batch;
    (void)t;
}

int store_read_transitions(struct store_reader *reader, uint64_t job,
                           store_transition_row row, void *ctx, struct err *err)
{
    (void)reader;
    (void)job;
    (void)row;
    (void)ctx;
    (void)err;
    return 0;
}

void store_add_decision(struct store_batch *batch, const struct store_decision *d)
{
    (void)batch;
    (void)d;
}

int store_read_decisions(struct store_reader *reader,
                         const struct store_decision_filter *filter,
                         store_decision_row row, void *ctx, struct err *err)
{
    (void)reader;
    (void)filter;
    (void)row;
    (void)ctx;
    (void)err;
    return 0;
}

void store_add_quote(struct store_batch *batch, const struct store_quote *quote)
{
    (void)batch;
    (void)quote;
}

int store_read_quotes(struct store_reader *reader, uint64_t job, store_quote_row row,
                      void *ctx, struct err *err)
{
    (void)reader;
    (void)job;
    (void)row;
    (void)ctx;
    (void)err;
    return 0;
}

int store_read_quote(struct store_reader *reader, uint64_t id, store_quote_row row,
                     void *ctx, struct err *err)
{
    (void)reader;
    (void)id;
    (void)row;
    (void)ctx;
    return err_set(err, ERR_NOT_FOUND, "no such quote");
}

void store_add_guard(struct store_batch *batch, const struct store_guard *guard)
{
    (void)batch;
    (void)guard;
}

int store_read_guards(struct store_reader *reader, uint64_t job, double from_s, int limit,
                      store_guard_row row, void *ctx, struct err *err)
{
    (void)reader;
    (void)job;
    (void)from_s;
    (void)limit;
    (void)row;
    (void)ctx;
    (void)err;
    return 0;
}

void store_add_event(struct store_batch *batch, const struct store_event *event)
{
    (void)batch;
    (void)event;
}

int store_read_events(struct store_reader *reader, uint64_t after_id, int limit,
                      store_event_row row, void *ctx, struct err *err)
{
    (void)reader;
    (void)after_id;
    (void)limit;
    (void)row;
    (void)ctx;
    (void)err;
    return 0;
}

int store_read_event_span(struct store_reader *reader, uint64_t *oldest, uint64_t *newest,
                          struct err *err)
{
    (void)reader;
    (void)oldest;
    (void)newest;
    (void)err;
    return 0;
}

void store_add_measurement(struct store_batch *batch, const struct store_measurement *m)
{
    (void)batch;
    (void)m;
}

void store_add_power(struct store_batch *batch, const struct store_power *power)
{
    (void)batch;
    (void)power;
}

int store_read_measurements(struct store_reader *reader, uint64_t job, double from_s,
                            double to_s, int limit, store_measurement_row row, void *ctx,
                            struct err *err)
{
    (void)reader;
    (void)job;
    (void)from_s;
    (void)to_s;
    (void)limit;
    (void)row;
    (void)ctx;
    (void)err;
    return 0;
}

int store_read_power(struct store_reader *reader, const char *device, double from_s,
                     double to_s, int limit, store_power_row row, void *ctx,
                     struct err *err)
{
    (void)reader;
    (void)device;
    (void)from_s;
    (void)to_s;
    (void)limit;
    (void)row;
    (void)ctx;
    (void)err;
    return 0;
}

void store_add_energy(struct store_batch *batch, const struct store_energy *energy)
{
    (void)batch;
    (void)energy;
}

int store_read_energy(struct store_reader *reader, enum store_energy_by by,
                      const struct store_energy_filter *filter, store_energy_row row,
                      void *ctx, struct err *err)
{
    (void)reader;
    (void)by;
    (void)filter;
    (void)row;
    (void)ctx;
    (void)err;
    return 0;
}

const char *store_role_name(enum store_role role)
{
    (void)role;
    return NULL;
}

bool store_role_named(const char *name, enum store_role *role)
{
    (void)name;
    (void)role;
    return 0;
}

void store_put_token(struct store_batch *batch, const struct store_token *token)
{
    (void)batch;
    (void)token;
}

void store_revoke_token(struct store_batch *batch, uint64_t id, double at_s)
{
    (void)batch;
    (void)id;
    (void)at_s;
}

int store_read_tokens(struct store_reader *reader, store_token_row row, void *ctx,
                      struct err *err)
{
    (void)reader;
    (void)row;
    (void)ctx;
    (void)err;
    return 0;
}

int store_find_token(struct store_reader *reader,
                     const unsigned char digest[STORE_DIGEST_BYTES], store_token_row row,
                     void *ctx, struct err *err)
{
    (void)reader;
    (void)digest;
    (void)row;
    (void)ctx;
    return err_set(err, ERR_NOT_FOUND, "no such token");
}

void store_add_audit(struct store_batch *batch, const struct store_audit *audit)
{
    (void)batch;
    (void)audit;
}

int store_read_audit(struct store_reader *reader, uint64_t before_id, int limit,
                     store_audit_row row, void *ctx, struct err *err)
{
    (void)reader;
    (void)before_id;
    (void)limit;
    (void)row;
    (void)ctx;
    (void)err;
    return 0;
}

void store_put_setting(struct store_batch *batch, const char *name, const char *text)
{
    (void)batch;
    (void)name;
    (void)text;
}

int store_read_settings(struct store_reader *reader, store_setting_row row, void *ctx,
                        struct err *err)
{
    (void)reader;
    (void)row;
    (void)ctx;
    (void)err;
    return 0;
}

int store_read_setting(struct store_reader *reader, const char *name, char **text,
                       struct err *err)
{
    (void)reader;
    (void)name;
    (void)text;
    return err_set(err, ERR_NOT_FOUND, "no such setting");
}

void store_put_operator(struct store_batch *batch, const struct store_operator *word)
{
    (void)batch;
    (void)word;
}

int store_read_operators(struct store_reader *reader, store_operator_row row, void *ctx,
                         struct err *err)
{
    (void)reader;
    (void)row;
    (void)ctx;
    (void)err;
    return 0;
}

int store_save_model(struct store *store, const char *name, int version, double at_s,
                     const void *bytes, size_t count, store_done done, void *ctx,
                     struct err *err)
{
    (void)name;
    (void)version;
    (void)at_s;
    (void)bytes;
    (void)count;
    return store_commit(store, store_batch_create(), STORE_RELAXED, done, ctx, err);
}

int store_load_model(struct store_reader *reader, const char *name,
                     struct store_model *model, struct err *err)
{
    (void)reader;
    (void)name;
    (void)model;
    return err_set(err, ERR_NOT_FOUND, "no such model");
}

void store_retention_defaults(struct store_retention *retention)
{
    (void)retention;
}

int store_retain(struct store *store, const struct store_retention *retention,
                 double now_s, store_done done, void *ctx, struct err *err)
{
    (void)retention;
    (void)now_s;
    return store_commit(store, store_batch_create(), STORE_RELAXED, done, ctx, err);
}

int store_check(const char *path, bool quick, store_finding finding, void *ctx,
                struct store_check_result *result, struct err *err)
{
    (void)path;
    (void)quick;
    (void)finding;
    (void)ctx;
    (void)result;
    (void)err;
    return 0;
}

int store_backup(const char *path, const char *to, bool replace, struct err *err)
{
    (void)path;
    (void)to;
    (void)replace;
    (void)err;
    return 0;
}

const char *const *store_tables(void)
{
    return NULL;
}

int store_export(const char *path, const struct store_export_options *options, FILE *out,
                 uint64_t *rows, struct err *err)
{
    (void)path;
    (void)options;
    (void)out;
    (void)rows;
    (void)err;
    return 0;
}
