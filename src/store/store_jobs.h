/* store_jobs.h - jobs as they were asked for, and how far they are
 *
 * Two halves of a row: the request, which changes only when its owner updates it, and the
 * progress, which changes with every transition.  GPU types and devices stand by name:
 * the numbers of types and devices may differ when the daemon starts the next time. */
#ifndef CORGI_STORE_STORE_JOBS_H
#define CORGI_STORE_STORE_JOBS_H

#include "loop/types.h"
#include "store/reader.h"
#include "store/store.h"

#include <sys/types.h>

struct store_request {
    struct job job;    /* job.types_allowed is not stored: see types */
    const char *types; /* names of allowed GPU types, comma between; NULL, "": any */
    const char *user;  /* name of the submitter */
    uid_t uid;
    gid_t gid;
    const char *directory;
    const char *const *argv; /* NULL-terminated; NULL: none */
    const char *const *env;  /* NULL-terminated; NULL: none */
    const char *output;      /* NULL: none; so the next ones */
    const char *metrics_url;
    const char *metrics_counter;
    const char *progress_file;
    double stop_grace_s;
    int checkpoint_signal;
    const char *key; /* idempotency key, one job a user and key; NULL: none */
    unsigned char digest[STORE_DIGEST_BYTES]; /* of the request body; zero without key */
    const char *extra; /* a JSON object for what has no column; NULL: none */
};

struct store_progress {
    enum job_state state;
    bool held;
    int attempt;      /* 0: never started */
    double started_s; /* first start; NaN before */
    double placed_s;  /* last start or move; NaN before */
    double ended_s;   /* NaN before */
    double steps_done;
    double required_rate;
    int moves;
    int restarts;
    int exit_status;     /* -1: none */
    int signal;          /* 0: none */
    const char *devices; /* names, comma between; NULL, "": none */
    const char *reason;  /* why it is in this state, a sentence; NULL: none */
    const char *extra;   /* a JSON object of the daemon's own; NULL: none */
};

struct store_job {
    struct store_request request;
    struct store_progress progress;
};

/* A new job; the batch fails with ERR_EXISTS when its id, or the user's key, is taken. */
void store_put_job(struct store_batch *batch, const struct store_request *request,
                   const struct store_progress *progress);
/* The request as changed by its owner; ERR_NOT_FOUND when there is no such job.  The key
 * and the digest stay. */
void store_update_request(struct store_batch *batch, const struct store_request *request);
void store_update_progress(struct store_batch *batch, uint64_t job,
                           const struct store_progress *progress);

/* ---- reading ----------------------------------------------------------------------- */

struct store_job_filter {
    const char *user;        /* NULL: any */
    const char *name;        /* exactly; NULL: any */
    unsigned states;         /* bits 1u << enum job_state; 0: any */
    double submitted_from_s; /* 0: any */
    double submitted_to_s;   /* 0: any */
    uint64_t before_id;      /* for paging, newest first; 0: from the newest on */
    int limit;               /* at most; 0: 1000 */
};

typedef int (*store_job_row)(void *ctx, const struct store_job *job);

/* Jobs that did not end, oldest first: what the daemon starts with. */
int store_read_live_jobs(struct store_reader *reader, store_job_row row, void *ctx,
                         struct err *err);
int store_read_jobs(struct store_reader *reader, const struct store_job_filter *filter,
                    store_job_row row, void *ctx, struct err *err);
int store_count_jobs(struct store_reader *reader, const struct store_job_filter *filter,
                     uint64_t *count, struct err *err);

/* The caller ends *job with store_job_destroy().  ERR_NOT_FOUND. */
int store_read_job(struct store_reader *reader, uint64_t id, struct store_job **job,
                   struct err *err);
/* By user and idempotency key. */
int store_find_job(struct store_reader *reader, const char *user, const char *key,
                   struct store_job **job, struct err *err);

struct store_job *store_job_dup(const struct store_job *job);
void store_job_destroy(struct store_job *job); /* NULL is fine */

/* The words that stand in the tables: waiting, running, done, failed, cancelled. */
const char *store_state_name(enum job_state state);
enum job_state store_state_named(const char *name);

#endif
