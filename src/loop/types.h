/* types.h - the plain structs the stages of the loop share
 *
 * A request becomes a job (admit), gets estimates of how it would run (estimate), a place
 * in a plan (optimize), actions for the engine (place), measurements (record), and these
 * correct what is believed of it and of its like (refine).  What the model below the loop
 * sees of them too is in model/model_types.h.  Nothing here does anything.
 */
#pragma once

#include "model/model_types.h"
#include "model/services.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- jobs -------------------------------------------------------------------------- */

enum job_state {
    JOB_WAITING,
    JOB_RUNNING, /* has devices; may still be waking a node or restoring a checkpoint */
    JOB_DONE,
    JOB_FAILED,
    JOB_CANCELLED,
};

/* The last windows of a job in one company under one cap; see recent_rate.h. */
struct recent_rate {
    double rate;  /* their mean, the newest weigh more; of a service what it answered,
                     less where that came too late */
    double watts; /* of its first device, likewise; 0: not measured */
    double cap_watts;
    double at_s;      /* end of the newest */
    double latency_s; /* of the newest, of a service; 0: not measured */
    double asked;     /* of it in the newest, at least; NaN: not known */
    int windows;      /* 0: not measured */
    double late;      /* evidence that its answers come later than was promised */
    uint64_t company; /* hash of devices and neighbours */
    struct service_seen serving;
};

/* What a job was quoted, until that is compared with what came; see quote_score.h. */
struct quote_kept {
    bool given;
    bool started, at_place, measured; /* what has been compared */
    double asked_s, start_s;          /* start NaN: not told */
    struct estimate rate;
    double watts;               /* of each device; its share where it has a neighbour */
    uint64_t neighbour;         /* 0: alone */
    int device_count;           /* 0: it was to wait */
    int devices[LOOP_MAX_GANG]; /* that were named */
};

/* A job and what became of it so far. */
struct job_status {
    struct job job;
    enum job_state state;
    double required_rate; /* now: need.rate, or a service's demand and some headroom */
    double demand;        /* of a service as measured, requests/s; NaN: not yet */
    double asked, asked_least; /* the same as counted, also beyond what was reserved; and
                                  the least since its last window */
    struct recent_rate pace;
    double started_s;  /* first start; NaN before */
    double placed_s;   /* last start or move; NaN before */
    double steps_done; /* training, as far as measurements tell */
    double short_s;    /* windows in which it did less than it must, together */
    double counted_s;  /* what it held is counted up to then, see fair_share.h */
    int preempted;     /* times it was stopped for another job */
    int moves;
    int restarts;
    int reference_type; /* it would run on otherwise, see reference_place.h; -1: none */
    double reference_s; /* and from when on */
    double reference_end_s, reference_seen_s; /* until when, and as of when that is */
    int ages_passed, parts_passed; /* what was counted of it, see estimate/lengths.h */
    bool held;           /* by its owner or an operator: waits, whatever is free */
    bool leaving;        /* an earlier attempt of it is still there, see cluster.h */
    double not_before_s; /* waits until then, after attempts that went wrong; 0: no */
    int helped;     /* so many times, as it fell short: where it was put was too tight */
    int mend_told;  /* 1 + what was last done for it as it fell short; 0: nothing */
    double offered; /* rate it was offered as what it asked for cannot be had; 0: none */
    int device_count; /* 0 while it waits */
    int devices[LOOP_MAX_GANG];
    struct quote_kept quoted; /* planners are not shown it, see round.c */
};

/* ---- the cluster ---- */

enum node_state {
    NODE_AWAKE,
    NODE_ASLEEP,
    NODE_WAKING,
    NODE_DOWN,
    NODE_FALLING, /* told to sleep, and not asleep yet: of no use, at full draw */
    NODE_STATES,
};

/* Processors and memory of a host: what it has, what is left, what a job takes. */
struct host_room {
    double cpus, memory_gb;
};

/* Groups of nodes that jobs may be bound to: 0 is all nodes, the last one has none. */
#define LOOP_NODE_GROUPS 64
#define LOOP_NOWHERE     (LOOP_NODE_GROUPS - 1)

/* Who may begin on a node; see loop/node_access.h. */
struct node_access {
    uint64_t groups;   /* bit g: jobs of group g may */
    double reserved_s; /* from then on it is for others; 0: never */
};

struct node {
    char name[LOOP_NAME_SIZE];
    enum node_state state;
    double host_watts;   /* without its GPUs, awake */
    double sleep_watts;  /* everything, asleep */
    double wake_s;       /* from asleep to ready, at host_watts */
    double since_s;      /* when it came into this state */
    double idle_since_s; /* when its last job left, or others'; meaningless while it has
                            jobs */
    int first_device;    /* its devices are in a row */
    int device_count;
    bool may_sleep;
    struct host_room room;  /* for jobs; infinite: not bounded */
    struct host_room taken; /* of it by jobs the loop does not know */
    struct node_access access;
};

struct device {
    int type; /* index into cluster.types */
    int node;
    bool drained; /* finish what runs, start nothing */
    bool failed;
    bool taken;       /* by a job the loop does not know: nobody may start here */
    double cap_watts; /* power limit in force; 0: none */
    int share_most;   /* jobs it takes at once; 0: as the settings say */
    int job_count;
    uint64_t jobs[LOOP_MAX_SHARE]; /* ids, in order of arrival on the device */
    int leaving_count;             /* jobs that were told to go and are still there */
};

/* One of these; few devices have any, so the cluster keeps them. */
struct device_leaving {
    int device;
    uint64_t job;
    double until_s;        /* it is made to go then, at the latest */
    struct host_room room; /* it takes until then, for this device */
};

struct cluster {
    int type_count;
    struct gpu_sheet *types; /* (type_count) at most 64, see job.types_allowed */
    int node_count;
    struct node *nodes;
    int device_count;
    struct device *devices;
    int leaving_count;
    struct device_leaving *leaving; /* (leaving_count) see cluster_leaving() */
    size_t node_room, device_room, leaving_room; /* for so many the arrays have room */
    /* Jobs of a group that is itself a reservation end by then; 0: it is none. */
    double group_ends_s[LOOP_NODE_GROUPS];
};

/* ---- plans ---- */

enum unplaced_reason {
    UNPLACED_NONE,     /* it has a place */
    UNPLACED_CAPACITY, /* every device it could use is taken */
    UNPLACED_RATE,     /* no free device is believed to meet the requirement */
    UNPLACED_MEMORY,   /* it fits into the memory of no type it may use */
    UNPLACED_POLICY,   /* held back: power limit; order, in other policies */
    UNPLACED_HOST,     /* a device is free, but not the processors or memory beside it */
    UNPLACED_NODE,     /* a gang: it is done earlier if it waits for a whole node */
    UNPLACED_ACCESS,   /* a device is free, but on no node it may use now */
    UNPLACED_REASONS
};

/* Where one job shall run.  Jobs keep the order of the optimizer's input. */
struct seat {
    uint64_t job;
    int device_count; /* 0: waits, see reason */
    int first; /* its devices are plan.devices[first .. first + device_count - 1] */
    enum unplaced_reason reason;
    uint64_t by;  /* it runs and is stopped for this job; 0: for none */
    double rate;  /* predicted, of the whole job */
    double watts; /* predicted share of power */
};

/* What a planner tried to learn, from its beginning on. */
struct plan_learning {
    long trials;  /* places taken for what they may turn out to be */
    long settled; /* of which have been measured */
    long better;  /* and found better than the place of the best guess was believed */
    double spent_joules;  /* lost where the trial was worse, until it was measured */
    double earned_joules; /* saved where it was better, over the time the job stays */
};

/* What a plan went by, for quotes until the next one. */
struct plan_terms {
    bool known;         /* there was a plan */
    double price_watts; /* of a unit of progress */
    bool bold;          /* places may be tried for what they may turn out to be */
};

/* What was done for a job that does less than it must. */
enum plan_help {
    HELP_MOVED,     /* it goes to a better place */
    HELP_NEIGHBOUR, /* a job beside it goes elsewhere */
    HELP_UNCAPPED,  /* the power limit of its device is lifted */
    HELP_NOTHING,   /* no better place is free: it keeps what it has */
    HELP_FIXED,     /* it may not be moved: it keeps what it has */
};

struct plan_mend {
    uint64_t job;
    enum plan_help help;
    double rate, needed; /* measured, and what it must have */
};

struct plan {
    size_t seat_count;
    size_t seat_capacity;
    struct seat *seats; /* (seat_count) one a job, in input order */
    size_t used;
    size_t capacity;
    int *devices;      /* (used) pool the seats point into */
    double *cap_watts; /* (cluster.device_count) 0: none */
    bool *awake;       /* (cluster.node_count) wanted state */
    struct plan_learning learning;
    struct plan_terms terms;
    bool improved;  /* a better placement of what runs was looked for */
    bool queue_cut; /* others wait behind those who were looked at, who all have places */
    double again_s; /* it changes then by itself: somebody has waited long enough for a
                       better place; infinite: never */
    size_t mend_count, mend_capacity;
    struct plan_mend *mends; /* (mend_count) whoever falls short */
};

/* ---- actions for the engine ---- */

enum action_kind {
    ACTION_WAKE,  /* node */
    ACTION_SLEEP, /* node */
    ACTION_CAP,   /* device, cap_watts */
    ACTION_START, /* job on devices */
    ACTION_MOVE,  /* job to devices: checkpoint, stop, restart */
    ACTION_STOP,  /* job: back to the queue */
};

struct action {
    enum action_kind kind;
    uint64_t job;
    uint64_t by; /* for which job it is stopped; 0: for none */
    int node;
    int device;
    double cap_watts;
    int device_count;
    int devices[LOOP_MAX_GANG];
};

/* ---- measurements ---- */

/* One window of one job, reported by a probe or by the simulator.  Nothing here says what
 * a service could do: a probe sees only what it did. */
struct measurement {
    uint64_t job;
    double at_s;         /* end of the window */
    double window_s;     /* its length */
    double rate;         /* steps/s it did, or requests/s it answered */
    double device_watts; /* mean of one of its devices; NaN: not measured */
    bool out_of_memory;  /* the job failed for lack of memory; rate means nothing */
    double doubt;        /* of the source in its own rate: 0 none, 1 a mere guess */
    double memory_gb;    /* held on each of its devices; 0: not seen */
    double worked_s;     /* of its devices' time in the window, as the engine itself saw
                            it; 0: not seen */
    /* Of a service; 0: not told. */
    double busy;      /* share of the window its devices worked for it, 0..1 */
    double latency_s; /* 99th percentile of its answers, from arrival on */
    double median_s;  /* 50th percentile */
    double held;      /* requests inside, worked on or waiting, mean over the window */
};
