/* job_records.h - what the daemon remembers of each job that has not ended
 *
 * The loop knows a job as far as it plans with it; a record has the rest: its owner and
 * command, its attempts, what was promised, what was measured, who waits for an answer.
 * Jobs that ended are in the store alone. */
#pragma once

#include "base/json_out.h"
#include "base/str.h"
#include "base/vec.h"
#include "engine/conduct.h"
#include "http/request.h"
#include "loop/job_groups.h"
#include "loop/place/decision.h"
#include "loop/record/energy_split.h"
#include "loop/record/promise.h"
#include "loop/record/record.h"
#include "loop/replicas/replicas.h"
#include "store/rows.h"

enum phase {
    PHASE_PENDING,    /* submitted, not yet safe on disk: nobody sees it */
    PHASE_WAITING,    /* in the queue */
    PHASE_COMMITTING, /* has devices, its attempt is being stored */
    PHASE_LAUNCHING,  /* stored; waits for others to leave its devices */
    PHASE_STARTING,   /* the engine was told */
    PHASE_RUNNING,    /* the engine said it runs */
    PHASE_LEAVING,    /* it is to end, and the engine has not said yet that it has */
    PHASE_ENDED,      /* until the store has its end */
};

/* What the request says of replicas; the store keeps it as JSON in its `extra`. */
struct record_replicas {
    bool scale_to_zero;
    int max;
    int shares;  /* of the rate asked for: a replica carries one */
    uint64_t of; /* the service it is a replica of; 0: none */
    int number;  /* its number there */
};

struct record_energy {
    struct energy_use use;
    struct energy_saving saving;
};

#define RECORD_REF_SIZE   100
#define RECORD_HOSTS_SIZE 208

/* Lists look at the first of these in every record: they stand close together.  Those of
 * the state are counted, so they change through records_set_...() alone. */
struct record {
    struct store_job *stored; /* request and its strings; progress is below */
    uint64_t id;
    enum phase phase;
    int priority;           /* as in the request */
    int user;               /* number of its user, see records_users() */
    int groups[JOB_GROUPS]; /* of its account, QOS and partition; -1: none */
    bool held;              /* by a person */
    bool over_quota;        /* by its user's quota, from round to round */
    bool gone;              /* its end is stored; only its devices are not free yet */
    bool dirty;             /* the store could not take its last change */
    struct record_replicas replicas;
    struct replicas_state scaling;
    char ref[RECORD_REF_SIZE]; /* what the engine it was found in calls it; "": ours */
    char entered[RECORD_REF_SIZE]; /* what the engine it was handed in to calls it; "": it
                                      has not said, or has no queue */
    char hosts[RECORD_HOSTS_SIZE]; /* nodes it has there, as the engine told */
    struct job_groups there;       /* account, QOS, partition there, likewise */
    char token_digest[2 * AUTH_DIGEST_BYTES + 1]; /* of its probes' token; "": none */
    bool part;                /* of a device is what it asked for there */
    uint64_t advised;         /* hash of what was advised last */
    double advised_s;         /* the planner would have started it then; NaN: never */
    int advised_type;         /* on GPUs of this type */
    double advised_elsewhere; /* 1: the engine took another type; 0: the same, or not
                                 known */
    double gpu_use;           /* as somebody's counters saw it, 0..1; NaN: not seen */
    double unused_gpus;       /* of its devices did nothing at all */
    double gpu_memory_gb;     /* held on the device that held most; NaN: not seen */
    double advised_moves;     /* that the planner would have made */
    struct job told; /* as the engine was told: what was asked for, not a share */
    int attempt;
    int done_attempt; /* its probe has said that it is done; 0: none */
    int engine_count; /* devices of the attempt the engine was told of */
    int engine_devices[LOOP_MAX_GANG];
    int leaving_attempt; /* that was told to stop and has not ended yet; 0: none */
    int leaving_count;
    int leaving_devices[LOOP_MAX_GANG];
    bool leaving_holds;     /* it is still there, and nobody may start on them */
    double leaving_until_s; /* then it is made to go */
    int leaving_end;        /* of PHASE_LEAVING: enum job_state it ends in */
    struct conduct_tries tries;
    double leaving_steps_before; /* steps_before of the attempt that is leaving */
    double steps_before;         /* done by earlier attempts */
    double ended_s;
    int exit_status, signal;
    char reason[208];
    char reason_code[20];
    double promised_rate; /* NaN: no promise */
    double offered_rate;  /* instead of one; NaN: none */
    double confidence;
    double expected_start_s, expected_end_s;
    double predicted_rate;  /* where it sits now */
    char *quote_json;       /* the quote as it was given, until the store has it; NULL:
                               it has, see handlers_recall_quote() */
    double began_s;         /* the engine said it runs; NaN: does not run */
    double ran_s;           /* time its earlier attempts ran */
    double rate, rate_at_s; /* measured last; NaN: never */
    double demand;          /* of a service, requests/s; NaN */
    double demand_at_s;     /* measured then */
    double latency_s;       /* of a service, 99th percentile as measured; NaN */
    double watts;           /* its share of power; NaN */
    struct record_energy booked, shown; /* shown: the part that is in the store */
    double mean_demand;                 /* of a service since it began, requests/s */
    double reference_type, reference_s; /* as in struct job_status, for the next start */
    int measured_attempt; /* the last one its engine measured, as far as it was taken */
    double told_s;        /* end of the last window a job told by itself; NaN: none */
    int refused[RECORD_REASONS]; /* windows that taught nothing, by enum record_refusal */
    struct promise promise;
    struct job_status *final;         /* how it ended, or stood when it was told to;
                                         NULL: neither */
    vec_of(struct request *) waiters; /* answered when it is stored */
};

struct records;

struct records *records_create(void);
void records_destroy(struct records *records); /* NULL is fine */

/* A copy of the job; its id must be new.  replicas NULL: as its `extra` says. */
struct record *records_add(struct records *records, const struct store_job *job,
                           const struct record_replicas *replicas);
struct record *records_get(const struct records *records, uint64_t id); /* NULL: none */
void records_drop(struct records *records, struct record *record);

/* By user and idempotency key, also those not yet stored; NULL: none. */
struct record *records_keyed(const struct records *records, const char *user,
                             const char *key);

/* All in order of id. */
struct record *const *records_all(const struct records *records, size_t *count);

/* Those that have devices, in order of id; borrowed until a phase changes. */
struct record *const *records_busy(const struct records *records, size_t *count);

void records_set_phase(struct records *records, struct record *record, enum phase phase);
void records_set_held(struct records *records, struct record *record, bool held);
void records_set_over_quota(struct records *records, struct record *record, bool over);

/* Replace the request by a changed one; strings are copied. */
void records_set_request(struct record *record, const struct store_request *request,
                         const struct record_replicas *replicas);

/* In the queue, kept at any time. */
struct records_counts {
    int waiting, held; /* by a person or not */
    int over_quota;    /* of those that wait */
};
struct records_counts records_counts(const struct records *records);

/* How many a user has, or what a quota is named after ("account:NAME"): pending ones
 * count. */
struct records_use {
    int jobs, running, gpus;
};
struct records_use records_use(const struct records *records, const char *user);

int records_users(const struct records *records); /* names that were ever seen */
const char *records_user(const struct records *records, int number);

/* What it belongs to, by which it is counted from now on. */
void records_set_there(struct records *records, struct record *record,
                       const struct job_groups *there);

/* ---- replicas of a service ----------------------------------------------------------
 */

/* The job as the loop shall see it: its share of what was asked for. */
struct job record_share(const struct record *record);

/* Reason code of a service that was scaled to zero and waits for requests. */
#define RECORD_AT_ZERO "scaled_to_zero"
bool record_at_zero(const struct record *record);

/* The replicas of a service that have not ended, itself first, pending ones included;
 * their records too unless found is NULL.  Both have room for LOOP_MAX_GANG. */
int records_replicas(const struct records *records, const struct record *service,
                     struct replica *replicas, struct record **found);

/* ---- of one record ------------------------------------------------------------------
 */

/* What the store keeps of it beside the columns of its progress, as JSON. */
void record_extra_json(const struct record *record, const char *leaving_devices,
                       struct str *out);
void record_read_extra(struct record *record, const char *extra); /* NULL: nothing */

/* Members of an object: how many windows taught nothing, by reason. */
void record_refused_json(const struct record *record, struct json_out *out);
/* Names of the devices an attempt was leaving then, with commas between; the caller
 * frees.  NULL: none was. */
char *record_read_leaving(struct record *record, const char *extra);

/* It runs no more, or not there: the time it ran is added up. */
void record_stopped(struct record *record, double now_s);
double record_ran_s(const struct record *record, double now_s); /* up to now */

/* Why it stands as it does: a code as in the API, and a sentence. */
void record_explain(struct record *record, const char *code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Said of those who wait while nothing can be stored. */
#define RECORD_NO_STORE "waits: the daemon cannot write to its store"

static inline const struct job *record_job(const struct record *r)
{
    return &r->stored->request.job;
}

static inline bool record_has_devices(const struct record *r)
{
    return r->phase >= PHASE_COMMITTING && r->phase <= PHASE_LEAVING;
}

/* It was handed in to the engine itself. */
#define RECORD_FOUND "found:"
static inline bool record_was_found(const struct record *r)
{
    return r->stored->request.key && str_starts(r->stored->request.key, RECORD_FOUND);
}

static inline const char *record_user(const struct record *r)
{
    return r->stored->request.user;
}
