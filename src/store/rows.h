/* rows.h - what the store keeps, a struct a kind of row, and reading it again
 *
 * tables.c says of each struct which columns of which table it fills.  A row goes into a
 * batch, and what it means to put one stands at its struct:
 *
 *     store_put(batch, &event);
 *
 * A reader is a connection that only reads.  Each thread that reads has one of its own;
 * it never waits for the writer, sees all that was committed before its read began, and
 * needs no running store: tools open one beside a daemon.
 *
 * GPU types, devices and users stand by name: their numbers may differ when the daemon
 * starts the next time.  Where NULL means "none", NaN does so for numbers. */
#pragma once

#include "loop/types.h"
#include "store/store.h"

#include <sys/types.h>

/* What stands in place of a JSON text (a quote's detail, a decision's alternatives, an
 * event's data) that is not what was stored: {"damaged":true}.  To be compared by its
 * address. */
extern const char store_damaged[];

/* ---- jobs -------------------------------------------------------------------------- */

/* As it was asked for.  Put: as its owner changed it, the key and the digest stay;
 * ERR_NOT_FOUND when there is no such job. */
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

/* How far it is; changes with every transition.  Put: ERR_NOT_FOUND as above. */
struct store_progress {
    uint64_t job; /* only when it is put without its request */
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

/* Put: a new one; ERR_EXISTS when its id, or the user's key, is taken. */
struct store_job {
    struct store_request request;
    struct store_progress progress;
};

/* How many there are in a state. */
struct store_state_count {
    enum job_state state;
    uint64_t count;
};

/* ---- history: only ever added to --------------------------------------------------- */

#define STORE_NO_STATE (-1)

/* Goes into the same batch as the progress it tells of, so that a job and its history
 * never disagree. */
struct store_transition {
    uint64_t job;
    double at_s;
    int from;           /* only read: enum job_state; STORE_NO_STATE: of a new job */
    enum job_state to;  /* the same as from for holds, moves, updates */
    const char *what;   /* submitted, started, moved, held, ...: one word */
    const char *reason; /* a sentence; NULL: none */
    int attempt;
    const char *devices; /* names, comma between; NULL: none */
};

/* A line of the ledger. */
struct store_decision {
    uint64_t id; /* store_take_id(STORE_DECISION_ID) */
    uint64_t job;
    double at_s;
    uint64_t round;
    const char *what;    /* start, move, stop, wait, cap, ...: one word */
    const char *devices; /* names, comma between; NULL: none */
    double rate;         /* predicted; NaN: none */
    double watts;
    double joules;
    const char *reason;
    const char *alternatives; /* JSON array of what else was possible, with joules */
};

/* What was promised, or offered. */
struct store_quote {
    uint64_t id;  /* store_take_id(STORE_QUOTE_ID) */
    uint64_t job; /* 0: asked for without submitting */
    const char *user;
    double at_s;
    const char *verdict; /* accepted, queued, counter, refused */
    double rate;         /* promised; NaN: none, so the next ones */
    double confidence;
    double joules, joules_low, joules_high;
    double start_s;
    double valid_until_s;
    const char *devices;
    const char *neighbour;
    const char *detail; /* JSON: the answer as it was given; NULL: none */
};

/* A promise that did not hold, and what was done. */
struct store_guard {
    uint64_t job;
    double at_s;
    const char *kind; /* rate, latency, deadline: what broke */
    double promised;
    double measured;
    double window_s; /* how long it was broken */
    const char *device;
    const char *action; /* move_neighbour, lift_cap, move_job, none */
    const char *reason;
};

/* The numbered log of what happened, for clients that resume.  They ask for what lies
 * behind the last number they saw, so numbers must become visible in their order: take
 * them on one thread, and commit all events in one class. */
struct store_event {
    uint64_t id; /* store_take_id(STORE_EVENT_ID) */
    double at_s;
    const char *kind; /* job.started and the like */
    uint64_t job;     /* 0: none */
    const char *user; /* owner of the job: who may see it; NULL: everyone */
    const char *data; /* a JSON object; NULL: an empty one */
};

/* ---- telemetry --------------------------------------------------------------------- */

/* Raw rows are kept for a while; retention then folds them into one row an hour.  Reads
 * give both: a folded row has windows > 1. */
struct store_measurement {
    uint64_t job;
    int attempt;
    const char *device; /* name; NULL: not of one device */
    double at_s;        /* end of the window */
    double window_s;
    double rate;  /* NaN: none */
    double watts; /* of the device; NaN: none */
    double steps; /* so far; NaN: none */
    /* Of a service in the window; 0 or NaN: none.  Folded rows keep the latency. */
    double latency_s, median_s; /* 99th and 50th percentile */
    double busy, held;
    const char *source;
    double confidence; /* 0..1 */
    bool out_of_memory;
    /* Only when read: */
    uint64_t windows; /* that this row stands for; then rate, watts, latency are means */
    double rate_low, rate_high;
    double latency_high_s;
};

struct store_power {
    const char *device;
    double at_s; /* end of the window */
    double window_s;
    double watts; /* mean */
    double joules;
    bool modelled;
};

/* Who used what is decided before it gets here: each share of a device's energy is put
 * once, and added to the sums of its job, device and hour.  These stay when jobs are
 * removed. */
struct store_energy {
    double at_s; /* decides the hour */
    const char *device;
    uint64_t job;     /* 0: nobody's, the device was idle or its host */
    const char *user; /* NULL with job 0 */
    double joules;
    double error_joules;    /* half width of its 90 % interval; they add up */
    double modelled_joules; /* the part that no meter measured */
    double busy_s;          /* device time */
    double saved_joules;    /* against the reference placement, of what is known */
    double saved_error;     /* half width of its 90 % interval */
    double unknown_joules;  /* used, and nobody knows what they saved */
    /* A later row may correct each of the three by less than nothing. */
};

struct store_energy_sum {
    double start_s; /* BY_HOUR; else the first hour in it */
    double span_s;
    uint64_t job;       /* BY_JOB, 0: nobody's; else 0 */
    const char *user;   /* BY_JOB; else NULL */
    const char *name;   /* BY_JOB, of a job the store has; else NULL */
    const char *device; /* BY_JOB; else NULL */
    double joules, error_joules, modelled_joules, busy_s;
    double saved_joules, saved_error, unknown_joules;
};

/* ---- access and settings ----------------------------------------------------------- */

enum store_role { STORE_VIEWER, STORE_USER, STORE_OPERATOR };

/* Put: a new one; ERR_EXISTS when the id or the digest is taken. */
struct store_token {
    uint64_t id;                              /* store_take_id(STORE_TOKEN_ID) */
    unsigned char digest[STORE_DIGEST_BYTES]; /* store_digest() of the token's text */
    enum store_role role;
    const char *user;
    uid_t uid; /* jobs submitted with it run as this user */
    gid_t gid;
    const char *note; /* what it is for; NULL: none */
    double created_s;
    double expires_s; /* 0: never */
    double revoked_s; /* 0: valid */
};

/* Put: ends a token, the first time counts; ERR_NOT_FOUND. */
struct store_revocation {
    uint64_t token;
    double at_s;
};

struct store_audit {
    double at_s;
    const char *user;    /* NULL: not known */
    const char *from;    /* peer: unix uid=1000, 127.0.0.1:4711 */
    const char *action;  /* job.cancel */
    const char *target;  /* 17 */
    const char *outcome; /* done, refused, failed */
    const char *detail;  /* NULL: none; nothing secret */
    uint64_t id;         /* read: its number */
};

/* Any name and text.  Put: replaces the text of that name. */
struct store_setting {
    const char *name;
    const char *text;
};

enum store_scope { STORE_NODE, STORE_DEVICE };
enum store_power_wish { STORE_POWER_AUTO, STORE_POWER_ON, STORE_POWER_OFF };

/* An operator's word on a node or a device, by name.  Put: replaces the one before. */
struct store_operator {
    enum store_scope scope;
    const char *name;
    bool drained;
    enum store_power_wish power; /* AUTO: the scheduler decides */
    double cap_watts;            /* 0: the scheduler decides */
    const char *reason;          /* NULL: none */
    const char *user;            /* who said so */
    double at_s;
};

/* ---- putting and reading ----------------------------------------------------------- */

enum store_table {
    STORE_JOBS,         /* newest first; limit 1000 when none is given */
    STORE_LIVE_JOBS,    /* those that did not end, oldest first, all */
    STORE_STATE_COUNTS, /* of states with any job */
    STORE_REQUESTS,     /* put only */
    STORE_PROGRESS,     /* put only */
    STORE_TRANSITIONS,  /* of one job, oldest first, all */
    STORE_DECISIONS,    /* newest first; limit 1000 */
    STORE_QUOTES,       /* of one job, oldest first, all */
    STORE_GUARDS,       /* put only */
    STORE_EVENTS,       /* oldest first; limit 1000 */
    STORE_MEASUREMENTS, /* of one job, oldest first; limit 10000 */
    STORE_POWER,        /* put only */
    STORE_ENERGY,       /* put only */
    /* struct store_energy_sum; from_s counts from the hour it lies in */
    STORE_ENERGY_BY_JOB,  /* and device, by job, all */
    STORE_ENERGY_BY_HOUR, /* oldest first; days, where hours were folded into days */
    STORE_TOKENS,         /* all, revoked and expired ones too, oldest first */
    STORE_REVOCATIONS,    /* put only */
    STORE_AUDIT,          /* newest first; limit 1000 */
    STORE_SETTINGS,       /* by name, all */
    STORE_OPERATORS,      /* by scope and name, all */
    STORE_MODELS,         /* and the next: of models.c alone */
    STORE_MODEL_PARTS,
    STORE_WHOLE_MODELS,
    STORE_TABLE_COUNT
};

/* Copy a row, of the struct its table has, into a batch. */
#define store_put(batch, ...)                                                            \
    store_put_row(batch,                                                                 \
                  _Generic((__VA_ARGS__)[0], struct store_job                            \
                           : STORE_JOBS, struct store_request                            \
                           : STORE_REQUESTS, struct store_progress                       \
                           : STORE_PROGRESS, struct store_transition                     \
                           : STORE_TRANSITIONS, struct store_decision                    \
                           : STORE_DECISIONS, struct store_quote                         \
                           : STORE_QUOTES, struct store_guard                            \
                           : STORE_GUARDS, struct store_event                            \
                           : STORE_EVENTS, struct store_measurement                      \
                           : STORE_MEASUREMENTS, struct store_power                      \
                           : STORE_POWER, struct store_energy                            \
                           : STORE_ENERGY, struct store_token                            \
                           : STORE_TOKENS, struct store_revocation                       \
                           : STORE_REVOCATIONS, struct store_audit                       \
                           : STORE_AUDIT, struct store_setting                           \
                           : STORE_SETTINGS, struct store_operator                       \
                           : STORE_OPERATORS),                                           \
                  __VA_ARGS__)
void store_put_row(struct store_batch *batch, enum store_table table, const void *row);

struct store_reader;

int store_reader_open(struct store_reader **reader, const char *path, struct err *err);
/* In the process that has the store open: also where no other process can read it. */
int store_open_reader(struct store *store, struct store_reader **reader, struct err *err);
void store_reader_close(struct store_reader *reader); /* NULL is fine */

/* Which rows; 0 and NULL: any.  Only what the table has may be asked for. */
struct store_filter {
    uint64_t id;
    uint64_t before_id, after_id; /* for paging */
    uint64_t job;
    const char *user, *name, *key, *device;
    unsigned states;     /* of jobs: bits 1u << enum job_state */
    double from_s, to_s; /* of jobs: when they were submitted */
    int limit;           /* at most so many; 0: see enum store_table */
};

/* A row of the table's struct; strings are borrowed for the call.  Returns 0 to go on,
 * anything else to stop, which is no error. */
typedef int store_row(void *ctx, const void *row);

/* Give the rows one by one; filter NULL: no limits to them.  Returns how many, or -1. */
int store_read(struct store_reader *reader, enum store_table table,
               const struct store_filter *filter, store_row *row, void *ctx,
               struct err *err);

/* The caller ends *job with store_job_destroy().  ERR_NOT_FOUND. */
int store_read_job(struct store_reader *reader, uint64_t id, struct store_job **job,
                   struct err *err);
/* By user and idempotency key. */
int store_find_job(struct store_reader *reader, const char *user, const char *key,
                   struct store_job **job, struct err *err);

struct store_job *store_job_dup(const struct store_job *job);
void store_job_destroy(struct store_job *job); /* NULL is fine */

/* The oldest and newest event there are; both 0 when there are none.  A client that
 * resumes before oldest - 1 has missed some. */
int store_read_event_span(struct store_reader *reader, uint64_t *oldest, uint64_t *newest,
                          struct err *err);

/* ---- checkpoints of what was learned ----------------------------------------------- */

#define STORE_MODEL_MAX_BYTES ((size_t)128 << 20)

/* Written in pieces between other commits, so that a large one delays no submission; it
 * counts only when its last piece is there.  The bytes are copied.  version is the
 * caller's: which program can read them.  done as in store_commit(), after the last
 * piece.  ERR_LIMIT, ERR_BUSY. */
int store_save_model(struct store *store, const char *name, int version, double at_s,
                     const void *bytes, size_t count, store_done done, void *ctx,
                     struct err *err);

struct store_model {
    int version;
    double at_s;
    size_t count;
    char *bytes; /* the caller frees */
    int skipped; /* newer checkpoints that were damaged */
};

/* The newest whole one; a damaged one is passed over.  ERR_NOT_FOUND. */
int store_load_model(struct store_reader *reader, const char *name,
                     struct store_model *model, struct err *err);
