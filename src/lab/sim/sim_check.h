/* sim_check.h - the simulator's debug mode: rules that must hold after every moment
 *
 *   energy  the parts add up to the total, and every node is booked as it is now
 *   share   no GPU has more jobs than the settings allow
 *   memory  what runs together on a GPU fits, by the truth and not by any estimate
 *   awake   no job sits on a node asleep or down, none runs on one that still wakes
 *   seats   engine, loop and cluster agree on who sits where, each job on as many GPUs as
 *           it asked for
 *   orders  nodes and power limits of the engine are those the loop believes in
 *   work    jobs finish with what was submitted done: integrated here on its own; a
 *           failure costs no more than what was done since the last checkpoint
 *   plan    each plan passes the audit of plans, on the cluster as the planner saw it
 *
 * The first broken rule ends the run with a sentence that names time, job and rule.  Only
 * looks on: a run is the same with and without. */
#pragma once

#include "base/err.h"
#include "base/vec.h"
#include "loop/types.h"

struct sim;

/* What the check saw a job do. */
struct check_job {
    double rate;   /* since the last look; 0: did not run */
    double done;   /* steps, integrated from the rates */
    double ends_s; /* a service: when its time is over */
    int restarts;
};

struct check {
    double looked_s;        /* when it last looked */
    struct check_job *jobs; /* (requests) */
    size_t seen;            /* requests that had arrived by then */
    vec_of(size_t) present; /* of these, index of those that had not ended */
    uint64_t *crowds; /* (devices) hash of what ran there when it was found to fit */
    struct cluster *before; /* the cluster as the planner sees it */
    vec_of(const struct job_status *) planned;
};

struct check *check_create(size_t requests, int devices);
void check_destroy(struct check *check); /* NULL is fine */

/* These read sim->check; NULL there: nobody checks.  After all of a moment
 * has happened: every rule but `plan`. */
int check_state(struct sim *sim, struct err *err);

/* Around a round: remember the cluster, then audit the plan that came out. */
void check_before_round(struct sim *sim);
int check_plan(struct sim *sim, struct err *err);
