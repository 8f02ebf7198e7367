/* sim_engine_private.h - the inside of the simulated engine, for the files of this folder
 * only */
#ifndef CORGI_ENGINE_SIM_SIM_ENGINE_PRIVATE_H
#define CORGI_ENGINE_SIM_SIM_ENGINE_PRIVATE_H

#include "base/rng.h"
#include "base/vec.h"
#include "engine/sim/sim_engine.h"
#include "engine/sim/truth.h"

enum run_state {
    RUN_STARTING, /* waits for its node or its checkpoint */
    RUN_ACTIVE,
    RUN_STOPPED, /* its steps are kept for the next attempt */
    RUN_ENDED,   /* known until a daemon has heard of it */
};

/* From this long after the submission on, so many requests/s are asked of a service. */
struct demand_step {
    double after_s, rate;
};

/* A job of the world. */
struct run {
    struct request request;
    double factor; /* on the rate of the request's class: devices beyond its scale */
    int attempt;
    enum run_state state;
    bool known; /* the request is filled: a daemon named the job since the engine began */
    double ready_s;
    double before;  /* steps of earlier attempts */
    double steps;   /* of this one */
    double rate;    /* now */
    double done_to; /* steps are booked up to this time */
    double measured_s, began_s;
    double total;   /* steps it takes; 0: ends by time */
    double ends_s;  /* a service: when its time is over; INFINITY: never */
    double written; /* steps the journal has */
    double told_s;  /* wall time its end was told */
    int exit_status;
    double speed, speed_after_s;
    uint64_t service; /* whose requests it shares with the other replicas; its own id */
    int demand_steps; /* 0: requests come as in the world */
    struct demand_step demand[SIM_ENGINE_DEMAND_STEPS];
    enum engine_end end;
    int device_count;
    int devices[LOOP_MAX_GANG];
};

struct occasion { /* an event that waits for dispatch() to tell it */
    struct engine_event event;
    char text[120];
};

struct sim_engine {
    struct sim_engine_options options;
    struct cluster *cluster;
    struct world *world;
    int *gpu_of_type; /* (cluster types) */
    struct truth truth;
    double origin_s;    /* the world's time when the engine began */
    double wall_s;      /* and the wall's */
    double now_s;       /* the world is computed up to here */
    double power_s;     /* energy was told up to here */
    double *watts;      /* (devices) now */
    double *joules;     /* (devices) since last told */
    double *joules_to;  /* (devices) booked up to */
    double *told_to;    /* (devices) told up to */
    int timer;          /* descriptor */
    int journal;        /* descriptor; -1: none */
    double journaled_s; /* wall time of the last steps written */
    long journal_bytes;
    struct rng noise;
    vec_of(struct run *) runs; /* those that run or will again */
    vec_of(struct run *) past; /* ended, kept a while for a daemon that comes back */
    vec_of(struct occasion) news;
    struct engine_sink sink;
};

/* News that are gathered before they are told: a world that leaps far ahead has millions.
 */
#define SIM_ENGINE_NEWS 4096

struct run *sim_engine_find(struct sim_engine *e, uint64_t job);

/* people.c: what a job is in the world, from what its user told. */
void sim_engine_describe(struct sim_engine *e, struct run *run,
                         const struct engine_job *job);

/* running.c: rates and watts of a device and its jobs; the next thing that happens and
 * letting it happen. */
void sim_engine_touch(struct sim_engine *e, const int *devices, int count);
void sim_engine_tell_power(struct sim_engine *e, const int *devices, int count);
double sim_engine_next_s(const struct sim_engine *e);
void sim_engine_advance(struct sim_engine *e,
                        double to_s); /* or until there is much news */
struct engine_event *sim_engine_tell(struct sim_engine *e, enum engine_event_kind kind,
                                     const char *text);

/* journal.c: the world's memory. */
int journal_open(struct sim_engine *e, struct err *err);
void journal_start(struct sim_engine *e, const struct run *run);
void journal_end(struct sim_engine *e, const struct run *run);
void journal_forget(struct sim_engine *e, uint64_t job);
void journal_node(struct sim_engine *e, int node);
void journal_cap(struct sim_engine *e, int device);
/* Steps and the clock, when it is time or the daemon ends. */
void journal_steps(struct sim_engine *e, bool at_once);

#endif
