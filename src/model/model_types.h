/* model_types.h - the plain structs that the model and the loop share
 *
 * A job as it was requested, a combination of jobs on a device as a question, estimates
 * as the answer, an observation to learn from.  The loop's own structs are in
 * loop/types.h.
 */
#pragma once

#include "world/descriptor.h"
#include "world/gpu_sheet.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOOP_MAX_SHARE                                                                   \
    4 /* hard limit on jobs a device (theta); the config sets it lower */
#define LOOP_MAX_GANG  64 /* devices a job may ask for */
#define LOOP_NAME_SIZE 80

/* ---- requests ---------------------------------------------------------------------- */

enum job_kind {
    JOB_TRAINING,  /* ends when its steps are done */
    JOB_INFERENCE, /* a service: a required rate that moves, ends when its time is over */
};

enum need_kind {
    NEED_BEST_EFFORT,
    NEED_RATE,     /* at least `rate` steps/s while it runs */
    NEED_SERVICE,  /* `rate` requests/s, each within latency_s at the 99th percentile */
    NEED_DEADLINE, /* total_steps done by deadline_s */
};

struct requirement {
    enum need_kind kind;
    double rate;       /* steps/s or requests/s; 0 when the kind has none */
    double latency_s;  /* NEED_SERVICE; 0: none asked */
    double deadline_s; /* NEED_DEADLINE, on the loop's clock */
    double confidence; /* the requirement must hold with this probability, in (0, 1) */
};

struct job {
    uint64_t id;
    char name[LOOP_NAME_SIZE];
    int owner; /* user id */
    enum job_kind kind;
    struct job_descriptor descriptor;
    struct requirement need;
    double submitted_s;
    double total_steps;     /* training; 0: unknown */
    double duration_s;      /* inference: how long it is wanted; 0: until cancelled */
    int devices;            /* GPUs it runs on, all at once */
    double memory_gb;       /* on each device, as told by the user; 0: unknown */
    double cpus;            /* of its nodes' processors, all devices together; 0: none */
    double host_memory_gb;  /* of its nodes' memory, likewise */
    int priority;           /* larger goes first */
    uint64_t types_allowed; /* bit t: may run on GPU type t; 0: any */
    int group;              /* of nodes it may use, see loop/node_access.h; 0: all */
    double limit_s;         /* it is ended after so long; 0: never */
    uint64_t account;       /* it is reckoned to, see loop/fair_share.h; 0: its user's */
    bool may_share;
    bool may_move;
    bool unpromised; /* it has a need, and no promise of it yet: see loop/admit/quote.h */
};

/* ---- estimates -----------------------------------------------------------------------
 */

enum estimate_source {
    ESTIMATE_INITIAL,    /* from descriptors and data sheets alone */
    ESTIMATE_CORRELATED, /* moved by observations of other cells */
    ESTIMATE_MEASURED,   /* this very cell was measured */
};
#define ESTIMATE_SOURCES 3

struct estimate {
    double value;
    double low, high; /* 90 % interval */
    enum estimate_source source;
    int observations; /* that this estimate rests on */
    bool of_kind;     /* some of them of jobs told alike, not only of its family */
};

/* One job as part of what runs on a device. */
struct member {
    const struct job *job;
    int nodes;     /* nodes its devices span; 1: all on one */
    double demand; /* requests/s a service is asked for; 0: works all the time */
};

/* What a device would run: a type of GPU, a cap, one to LOOP_MAX_SHARE jobs. */
struct combination {
    int type;
    double cap_watts; /* 0: none */
    int count;
    struct member members[LOOP_MAX_SHARE];
};

struct prediction {
    struct estimate
        rate[LOOP_MAX_SHARE]; /* of each whole job, if this device limits it */
    struct estimate watts;    /* of this device */
    double fits;              /* probability that memory suffices, 0..1 */
};

/* ---- observations ------------------------------------------------------------------ */

/* A measurement put in its context: what ran where when it was taken. */
struct observation {
    struct combination where; /* members[subject] is the measured job */
    int subject;
    double at_s;
    double rate;         /* when it works all the time */
    double rate_sd_log;  /* how far that is to be trusted, as sd of the log rate */
    bool floor;          /* of a service: it is at least that, nothing more is known */
    double device_watts; /* NaN: not measured */
    double memory_gb;    /* held on each device; 0: not seen */
    bool out_of_memory;
};
