/* loop.h - the doors of the loop: ask, tell, decide, keep
 *
 *     admit → estimate → optimize → place → (engine) → record → refine → estimate …
 *
 * Everything Corgi decides is decided behind these calls.  The daemon makes them between
 * its store and its engine, `corgi sim` between its heap of events and the simulated
 * engine, a test with two jobs and two devices.  The loop is pure: no I/O, no clock and
 * no randomness of its own; the same calls give the same actions.
 *
 * One thread owns a loop.  Only round_plan() may run on another one: it touches nothing
 * but the round it is given and reads the model, which does not learn in the meantime. */
#pragma once

#include "base/err.h"
#include "loop/admit/quote.h"
#include "loop/cluster.h"
#include "loop/fair_share.h"
#include "loop/place/decision.h"
#include "loop/planner.h"
#include "loop/record/quote_score.h"
#include "loop/record/record.h"
#include "loop/refine/refine.h"
#include "model/learned.h"

struct loop;

struct loop_options {
    struct optimize_settings settings;
    uint64_t seed;
    double round_gap_s;   /* rounds are not closer together than this */
    double round_every_s; /* what changes slowly is looked at this often; 0: 300 s */
    size_t most_waiting;  /* waiting jobs a round looks at; 0: 512 */
};

/* Takes the cluster and the model; the planner is made from its ops. */
struct loop *loop_create_take(const struct loop_options *options, struct cluster *cluster,
                              struct model model, const struct planner_ops *planner);
void loop_destroy(struct loop *loop); /* NULL is fine */

/* ---- asking: const, any number of times, leaves no trace ---- */

/* What could be promised of the job now: where the planner would put it, what that gives
 * and when; a counter-offer; a refusal.  The job's id may be 0, or that of a job that
 * waits or runs and is to be changed.  ERR_INVALID: malformed; ERR_LIMIT: its user has
 * as many as the quota allows (NULL: that is not asked); then *quote is untouched. */
int loop_quote(const struct loop *loop, const struct job *job, int max_replicas,
               const struct user_quota_ask *quota, double now_s, struct quote *quote,
               struct err *err);

/* Does it do less than it must, by its last windows?  A reason for a round at once. */
bool loop_falls_short(const struct loop *loop, uint64_t job, double now_s);

/* How long the job is expected to run on at this rate; NaN: nobody knows. */
double loop_time_left_s(const struct loop *loop, uint64_t job, double rate, double now_s);

/* The places of a job that waits and why each is not taken: alternatives, nothing else.
 */
void loop_explain(const struct loop *loop, uint64_t job, double now_s,
                  struct decision *places);

const struct cluster *loop_cluster(const struct loop *loop);
const struct optimize_settings *loop_settings(const struct loop *loop);
const struct job_status *loop_job(const struct loop *loop, uint64_t job); /* NULL: none */
const struct job_status *const *loop_jobs(const struct loop *loop, size_t *count);
const struct refine_score *loop_score(const struct loop *loop);
const struct quote_score *loop_quote_score(const struct loop *loop);
const struct plan *loop_plan(const struct loop *loop); /* of the last round */
const struct fair_shares *loop_shares(const struct loop *loop);
struct model *loop_model(const struct loop *loop);

/* ---- telling: what users, engines and probes say ---- */

/* The job enters the queue; who tells has asked for a quote before, has made what was
 * promised durable, and says so when nothing was (job.unpromised).  ERR_INVALID:
 * malformed, ERR_EXISTS: the id is taken. */
int loop_submit(struct loop *loop, const struct job *job, double now_s, struct err *err);

/* What the job that entered was quoted at this time: what becomes of it is compared with
 * that. */
void loop_quoted(struct loop *loop, uint64_t job, const struct quote *quote,
                 double asked_s);

/* The job is another one from now on: what it needs, may use, is called.  Its devices and
 * its past stay. */
int loop_change(struct loop *loop, const struct job *job, double now_s, struct err *err);

/* The job has ended by itself or was cancelled; its seats are free. */
int loop_end_job(struct loop *loop, uint64_t job, double now_s, struct err *err);

/* An attempt of the job, which may have ended for the loop, or wait again, or have other
 * devices now, was told to stop and is still on these: nobody starts there, and the job
 * itself nowhere, before it has left.  Until then at the latest it is made to go. */
void loop_leaving(struct loop *loop, uint64_t job, const int *devices, int count,
                  double until_s);
void loop_left(struct loop *loop, uint64_t job, const int *devices, int count,
               double now_s);

/* The engine lost the job (out of memory, node gone): it waits again. */
int loop_requeue(struct loop *loop, uint64_t job, double now_s, struct err *err);

/* The measured demand of a service, requests/s.  What must be kept free for it follows:
 * the demand with some headroom, at most what was asked for at submission. */
int loop_set_demand(struct loop *loop, uint64_t job, double rate, double now_s,
                    struct err *err);

/* How far a training job is, for deadlines and for the time it still takes. */
int loop_set_progress(struct loop *loop, uint64_t job, double steps_done,
                      struct err *err);

/* A window of measurement.  0: it was learned from, *observed (unless NULL) says what was
 * seen and what had been expected; its pointers are borrowed until the next call.  -1: it
 * teaches nothing, observed->refusal says why. */
struct loop_observed {
    struct observation seen;
    struct prediction expected; /* before it was learned */
    bool first_sight;           /* this combination was never measured before */
    double abs_log_error;       /* of the expected rate */
    bool falls_short;           /* the job does less than it must: a round is due */
    /* Of a job that had no promise yet: it has one now (QUOTE_ACCEPTED), or an offer.
     * NULL: nothing new; borrowed until the next call. */
    const struct quote *settled;
    enum record_refusal refusal;
};
int loop_measure(struct loop *loop, const struct measurement *m,
                 struct loop_observed *observed, struct err *err);

void loop_node_is_awake(struct loop *loop, int node, double now_s);

/* A node or a device is gone: its jobs wait again.  Or it is back, awake and empty. */
void loop_node_failed(struct loop *loop, int node, double now_s);
void loop_node_repaired(struct loop *loop, int node, double now_s);
void loop_device_failed(struct loop *loop, int device, double now_s);
void loop_device_repaired(struct loop *loop, int device, double now_s);

/* The engine could not do what an action said: the cap in force, the node's state. */
int loop_set_cap(struct loop *loop, int device, double watts, double now_s,
                 struct err *err);
void loop_set_node(struct loop *loop, int node, enum node_state state, double now_s);

/* ---- telling: what an engine that decides itself has done ---- */

/* The job runs on these devices since then, wherever it was before, and so many it has
 * from now on.  ERR_INVALID when one of them has no seat: nothing has changed. */
int loop_seat(struct loop *loop, uint64_t job, const int *devices, int count, double at_s,
              struct err *err);

/* So much of the node is left by jobs the loop does not know; infinite: not bounded. */
void loop_set_room(struct loop *loop, int node, struct host_room left, double now_s);
/* Who may be on a node, and when; see node_access.h.  What becomes of jobs that are there
 * is the engine's affair. */
void loop_set_access(struct loop *loop, int node, struct node_access access,
                     double now_s);
void loop_set_group_end(struct loop *loop, int group, double ends_s, double now_s);
/* Where the job may be from now on, and for how long; not knowing it is no error. */
void loop_bind(struct loop *loop, uint64_t job, int group, double limit_s, double now_s);
/* It is reckoned to this account from now on (job.account). */
void loop_reckon(struct loop *loop, uint64_t job, uint64_t account, double now_s);
/* Whether a job the loop does not know sits on the device. */
void loop_device_taken(struct loop *loop, int device, bool taken, double now_s);

/* The cluster has one more node, behind all others; a plan that is being made is stale.
 */
void loop_add_node(struct loop *loop, const struct node_spec *spec, double now_s);

/* ---- telling: an operator's words ---- */

/* A job that waits gets no seat before this time: its last attempts went wrong. */
void loop_defer(struct loop *loop, uint64_t job, double until_s);

/* A held job gets no seat.  One that runs is put back into the queue first, which is the
 * caller's business (loop_requeue). */
int loop_hold(struct loop *loop, uint64_t job, bool held, double now_s, struct err *err);

/* Nothing new starts on a drained device; what runs there stays. */
int loop_drain(struct loop *loop, int device, bool drained, double now_s,
               struct err *err);

/* Plans keep to this power limit.  0 watts: no limit at all; NaN: the planner decides
 * again.  Errors as loop_set_cap(). */
int loop_fix_cap(struct loop *loop, int device, double watts, double now_s,
                 struct err *err);

/* Whether a node may be put to sleep. */
void loop_allow_sleep(struct loop *loop, int node, bool allowed, double now_s);

void loop_set_settings(struct loop *loop, const struct optimize_settings *settings,
                       double now_s);

/* What is a user's of the cluster; of users nobody tells of one part each. */
void loop_set_share(struct loop *loop, const struct fair_share_rule *rule, double now_s);
/* No job says this account any more: what the user had of it is among their own. */
void loop_fold_share(struct loop *loop, int owner, const char *account, double now_s);

/* ---- deciding: snapshot, plan on any thread, apply ---- */

/* When the next round is due; INFINITY: when something has happened. */
double loop_round_due_s(const struct loop *loop);

/* Something happened, maybe such that the loop cannot know: a round at once. */
void loop_want_round(struct loop *loop, double now_s);

/* A copy of what the planner reads: all that run and the head of the queue.  Until
 * loop_round_end() or round_destroy() the loop gives no other round, and what it is told
 * to learn is kept until then. */
struct round;
struct round *loop_round_begin(struct loop *loop, double now_s);

/* The long step, on any thread: reads the model, which learns nothing meanwhile. */
void round_plan(struct round *round);

/* What a round came to, borrowed until the next one. */
struct round_result {
    const struct action *actions;
    size_t action_count;
    const struct decision *decisions; /* the ledger: each action about a job, each job
                                         that falls short, with reasons */
    size_t decision_count;
};

/* Ends the round.  What happened meanwhile is respected: jobs that came wait, jobs that
 * ended are left out.  A plan that no longer fits, or breaks a rule, is refused whole:
 * -1, nothing changes, and the next round is due at once. */
int loop_round_end(struct loop *loop, struct round *round, double now_s,
                   struct round_result *result, struct err *err);
void round_destroy(struct loop *loop, struct round *round); /* without applying it */

/* Ends the round without doing what it came to: the result tells what would have been
 * done, and jobs and cluster stay as they are. */
int loop_round_advise(struct loop *loop, struct round *round, double now_s,
                      struct round_result *result, struct err *err);

/* All three steps. */
int loop_round(struct loop *loop, double now_s, struct round_result *result,
               struct err *err);

/* ---- after a restart ---- */

/* A job as it was: it waits, or runs on its devices.  ERR_INVALID when the cluster has no
 * such seats (any more): nothing has changed. */
int loop_restore(struct loop *loop, const struct job_status *was, struct err *err);

/* ---- keeping what was learned ---- */

/* A lesson (model/learned.h) when one is due (refine/lesson.h), NULL otherwise; and what
 * came of it, which counts once no round is out.  The last does all of it at once. */
struct learned_lesson *loop_lesson_begin(struct loop *loop, double now_s);
void loop_lesson_take(struct loop *loop, struct learned_lesson *lesson);
void loop_learn_due(struct loop *loop, double now_s);

/* Everything that was learned as bytes; the caller frees them.  Loading refuses, and
 * changes nothing, what is damaged, of another version or of other GPU types. */
int loop_save(const struct loop *loop, unsigned char **bytes, size_t *count,
              struct err *err);
int loop_load(struct loop *loop, const void *bytes, size_t count, struct err *err);

/* After loading and restoring: what was kept of jobs that are not here any more goes. */
void loop_forget_absent(struct loop *loop);
