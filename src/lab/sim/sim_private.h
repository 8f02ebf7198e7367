/* sim_private.h - inside of one running simulation, shared by run.c, devices.c, engine.c,
 * probes.c */
#ifndef CORGI_LAB_SIM_SIM_PRIVATE_H
#define CORGI_LAB_SIM_SIM_PRIVATE_H

#include "base/rng.h"
#include "base/vec.h"
#include "lab/sim/sim_check.h"
#include "lab/sim/event_queue.h"
#include "lab/sim/sim_run.h"

struct sim_job {
    const struct request *request;
    enum sim_end end; /* so far: SIM_WAITING before it arrives */
    bool active;      /* runs now: seated and not paused */
    double ready_s;   /* when its pause is over */
    double rate;      /* steps/s or requests/s it can do now */
    double demand;    /* requests/s asked for now; 0: training */
    double left;      /* training: steps to do */
    double ends_s;    /* inference: when its time is over; NaN before its start */
    double updated_s; /* progress and judgement are booked up to here */
    double placed_s;
    double measured_s;    /* end of the last window */
    double measured_rate; /* its true rate then */
    unsigned stamp;       /* of its valid finish event */
    int device_count;
    int devices[LOOP_MAX_GANG];
    int memory_failures;
    size_t recorded; /* its stay in the recording; 0: none */
    double work_h, useful_h;
    struct sim_job_result result;
};

struct sim {
    const struct sim_options *options;
    const struct sim_setup *setup;
    struct truth truth;
    struct loop *loop;
    struct meter *meter;
    struct sim_recording *recording; /* NULL: nobody records */
    struct check *check;             /* NULL: nobody checks */
    struct quarters quarters;
    struct events *events;
    struct rng noise, failures;
    struct sim_job *jobs; /* (workload.count) request id - 1 is the index */
    size_t arrived, ended;
    double now_s;
    bool round_due;
    int quiet_rounds;    /* held in a row without an action */
    double next_round_s; /* of the timer's event that stands; INFINITY: none does */
    double next_tick_s;  /* likewise */
    vec_of(double) decision_ms;
    long rounds;
};

static inline struct sim_job *sim_job_of(struct sim *sim, uint64_t id)
{
    return &sim->jobs[id - 1];
}

/* devices.c: book a job's progress up to now at its present rate. */
void sim_book_job(struct sim *sim, struct sim_job *job);
/* Recompute what runs on a device and all that follows: draw, rates, finish times. */
void sim_touch_device(struct sim *sim, int device);
void sim_touch_job_devices(struct sim *sim, const struct sim_job *job);

/* devices.c: a node's state or jobs have changed. */
void sim_touch_node(struct sim *sim, int node);

/* engine.c: carry out what a round decided. */
void sim_execute(struct sim *sim, const struct action *actions, size_t count);
/* A pause is over: the job starts to run, or fails for lack of memory. */
void sim_job_ready(struct sim *sim, struct sim_job *job);
void sim_job_finished(struct sim *sim, struct sim_job *job);
void sim_node_fails(struct sim *sim, int node);
void sim_node_repaired(struct sim *sim, int node);

/* probes.c: move demands, report measurements; when the next tick is of use (INFINITY:
 * only after something else has happened). */
double sim_tick(struct sim *sim);

/* run.c: something happened that calls for a round now. */
void sim_news(struct sim *sim);
/* Have a round not later than this; rounds on the timer are never closer together than
 * round_s, and none is held when nothing could have changed. */
void sim_want_round(struct sim *sim, double at_s);
void sim_want_tick(struct sim *sim, double at_s);

/* oracle.c: a model that knows the truth; for the rows called oracle. */
struct model sim_oracle_create(const struct truth *truth, struct sim *sim);

#endif
