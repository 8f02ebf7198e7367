/* sim_private.h - inside of one running simulation, shared by sim_run.c, sim_actions.c,
 * run_score.c, quarter_stats.c and sim_check*.c
 *
 * What really happens is the simulated engine's (engine/sim/sim_engine.h); here is what
 * became of each request so far, and the score. */
#pragma once

#include "base/vec.h"
#include "engine/conduct.h"
#include "engine/sim/sim_engine.h"
#include "lab/sim/sim_check.h"
#include "lab/sim/sim_run.h"
#include "lab/sim/sim_told.h"
#include "loop/replicas/replicas.h"

struct sim_draw;
struct sim_service;
struct sim_replica;

struct sim_job {
    const struct sim_request *request;
    enum sim_end end;      /* so far: SIM_WAITING before it arrives */
    int attempt;           /* of the engine */
    double steps_before;   /* done in earlier attempts, as the engine told */
    double stopped_before; /* the same of the attempt that was stopped last */
    struct conduct_tries tries;
    size_t recorded;  /* its stay in the recording; 0: none */
    double updated_s; /* work and judgement are booked up to here */
    double done;      /* steps or requests booked */
    double work_h, useful_h;
    struct energy_use use;       /* of devices, see sim_saved.c */
    double mean_demand;          /* of a service over that time, requests/s */
    struct sim_service *service; /* that may scale; NULL: it is of none */
    struct replica seen;         /* last measured of such a one */
    bool measured;               /* since it was started last */
    bool misplaced;              /* see sim_misplaced.c, and since when */
    double misplaced_since_s;
    struct sim_job_result result;
};

struct sim {
    const struct sim_options *options;
    const struct sim_setup *setup;
    struct engine engine;
    struct sim_watch watch;
    struct loop *loop;
    struct meter *meter;
    struct sim_recording *recording; /* NULL: nobody records */
    struct check *check;             /* NULL: nobody checks */
    struct quarters quarters;
    struct sim_draw *draws;        /* (devices) see sim_saved.c; NULL: none yet */
    struct energy_savings savings; /* of jobs that are over */
    struct sim_job *jobs;          /* (workload.count) request id - 1 is the index */
    vec_of(struct sim_service *) services; /* that may scale, see sim_replicas.c */
    vec_of(struct sim_service *) moved;    /* of which something was measured */
    vec_of(struct sim_replica *) replicas; /* ids go on behind the workload's */
    vec_of(size_t) to_start; /* requests by their real start, see sim_follow.c */
    size_t next_start;       /* of these */
    vec_of(size_t) late;     /* whose time has come, and there is no room yet */
    size_t arrived, ended;
    double now_s;
    vec_of(double) decision_ms; /* of processor time: rounds with the arrivals before, */
    vec_of(double) improve_ms;  /* those that also looked for a better placement, */
    vec_of(double) quote_ms;
    double submit_s; /* of arrivals since the last round */
    long rounds;
    double misplaced_looked_s; /* see sim_misplaced.c */
};

/* sim_replicas.c: the job of the index'th replica. */
struct sim_job *sim_replica_job(struct sim *sim, size_t index);

static inline struct sim_job *sim_job_of(struct sim *sim, uint64_t id)
{
    const struct sim_told *told = sim->setup->told;
    size_t count = sim->setup->workload->count;

    if (told)
        return &sim->jobs[told->index[id - 1]];
    return id <= count ? &sim->jobs[id - 1] : sim_replica_job(sim, id - 1 - count);
}

/* sim_run.c: a simulation by hand, for tests.  sim_moment() goes to the next time
 * something happens, at most to `until_s`, and lets it happen; false: that time has come.
 */
int sim_init(struct sim *sim, const struct sim_options *options,
             const struct sim_setup *setup, struct err *err);
void sim_fini(struct sim *sim);
bool sim_moment(struct sim *sim, double until_s, int *rc, struct err *err);

/* sim_actions.c: what a round decided becomes calls of the engine, what the engine tells
 * calls of the loop. */
void sim_execute(struct sim *sim, const struct action *actions, size_t count);
void sim_hear(void *sim, const struct engine_event *event);

/* It has no devices any more; and the job is over. */
void sim_leave(struct sim *sim, struct sim_job *job);
void sim_end_job(struct sim *sim, struct sim_job *job, enum sim_end end);

/* sim_replicas.c: services whose replicas follow their demand.  A job arrives that may be
 * split into so many shares; something was measured of a job; what follows from that,
 * once a moment; a job is about to end; the books are closed. */
void sim_replicas_arrive(struct sim *sim, struct sim_job *job, int shares);
void sim_replicas_seen(struct sim *sim, struct sim_job *job,
                       const struct engine_event *event);
int sim_replicas_follow(struct sim *sim, struct err *err);
void sim_replicas_end(struct sim *sim, struct sim_job *job, bool failed);
void sim_replicas_close(struct sim *sim);
void sim_replicas_fini(struct sim *sim);

/* sim_saved.c: a device draws so much from now on, or has other jobs; a job is about to
 * end, or the run is. */
void sim_saved_device(struct sim *sim, int device, double watts);
void sim_saved_job(struct sim *sim, const struct sim_job *job);

/* sim_misplaced.c: a round is over; who is in a place that costs far more than one that
 * is free, and since when? */
void sim_misplaced_look(struct sim *sim);

/* sim_follow.c: a run with a real schedule (setup.schedule); without one, the first and
 * the last do nothing. */
void sim_follow_init(struct sim *sim);
double sim_follow_next_s(const struct sim *sim); /* INFINITY: nobody starts any more */
void sim_follow_start(struct sim *sim);          /* whose time has come */
void sim_follow_fini(struct sim *sim);

/* run_score.c: books what is open up to now and fills *result, which ends with
 * sim_result_fini(). */
void score_run(struct sim *sim, struct sim_result *result);
/* Book a job's work and judge its requirement up to now, as it is now. */
void sim_book_job(struct sim *sim, struct sim_job *job);

/* oracle.c: a model that knows the truth; for the rows called oracle.  Borrows the
 * engine.
 */
struct model sim_oracle_create(const struct engine *engine);
