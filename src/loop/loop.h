/* loop.h - the loop: admit, estimate, optimize, place, (engine), record, refine
 *
 * Pure: no I/O, no clock, no randomness of its own.  An engine tells it what happens and
 * carries out the actions of each round; the same calls give the same actions.  One
 * thread. */
#ifndef CORGI_LOOP_LOOP_H
#define CORGI_LOOP_LOOP_H

#include "base/err.h"
#include "loop/admit/admit.h"
#include "loop/planner.h"
#include "loop/refine/refine.h"

struct loop;

struct loop_options {
    struct optimize_settings settings;
    uint64_t seed;
};

/* Takes the cluster and the model; the planner is made from its ops. */
struct loop *loop_create_take(const struct loop_options *options, struct cluster *cluster,
                              struct model model, const struct planner_ops *planner);
void loop_destroy(struct loop *loop); /* NULL is fine */

/* ---- what the engine and the users tell
 * ------------------------------------------------ */

/* ERR_INVALID: malformed, ERR_EXISTS: the id is taken; nothing has changed then.
 * Otherwise *answer says what became of it; a refused job is forgotten at once. */
int loop_submit(struct loop *loop, const struct job *job, struct admission *answer,
                struct err *err);

/* The job has ended by itself or was cancelled; its seats are free. */
int loop_end_job(struct loop *loop, uint64_t job, double now_s, struct err *err);

/* The engine lost the job (out of memory, node gone): it waits again. */
int loop_requeue(struct loop *loop, uint64_t job, double now_s, struct err *err);

/* The measured demand of a service, requests/s.  What must be kept free for it follows:
 * the demand with some headroom, at most what was asked for at submission. */
int loop_set_demand(struct loop *loop, uint64_t job, double rate, struct err *err);

/* A window of measurement; refine learns from it.  ERR_INVALID, ERR_NOT_FOUND: ignored.
 */
int loop_measure(struct loop *loop, const struct measurement *m, struct err *err);

/* Does it do less than it must, by its last windows?  A reason for a round at once. */
bool loop_falls_short(struct loop *loop, uint64_t job, double now_s);

/* How far a training job is, for deadlines. */
int loop_set_progress(struct loop *loop, uint64_t job, double steps_done,
                      struct err *err);

void loop_node_is_awake(struct loop *loop, int node, double now_s);

/* A node is gone: its jobs wait again.  Or it is back, awake and empty. */
void loop_node_failed(struct loop *loop, int node, double now_s);
void loop_node_repaired(struct loop *loop, int node, double now_s);

/* ---- one round
 * ------------------------------------------------------------------------- */

/* Plan and place.  The actions are borrowed until the next round.  A plan that breaks a
 * rule is a defect of its planner: err says which, nothing changes. */
int loop_round(struct loop *loop, double now_s, const struct action **actions,
               size_t *count, struct err *err);

/* ---- what it knows
 * --------------------------------------------------------------------- */

const struct cluster *loop_cluster(const struct loop *loop);
const struct job_status *loop_job(struct loop *loop,
                                  uint64_t job); /* NULL when unknown */
const struct job_status *const *loop_jobs(const struct loop *loop, size_t *count);
const struct refine_score *loop_score(const struct loop *loop);
const struct plan *loop_plan(const struct loop *loop); /* of the last round */
struct model *loop_model(struct loop *loop);

#endif
