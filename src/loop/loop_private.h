/* loop_private.h - the inside of struct loop, for loop.c, loop_admin.c and round.c only
 */
#pragma once

#include "base/vec.h"
#include "loop/job_table.h"
#include "loop/loop.h"
#include "loop/place/place.h"

/* What the model is told when the round that reads it is over. */
enum deferred_kind { DEFERRED_BEGIN, DEFERRED_END, DEFERRED_ABSORB };

struct deferred {
    enum deferred_kind kind;
    struct observation seen;         /* its members point into jobs */
    struct job jobs[LOOP_MAX_SHARE]; /* the first is whom BEGIN and END are about */
};

struct loop {
    struct optimize_settings settings;
    struct cluster *cluster;
    struct model model;
    struct planner planner; /* a round's while one is out */
    struct planner quoting; /* the same planner for quotes: only its scratch is written */
    struct model planned;   /* the model as a round reads it, with a cache of its own */
    struct model asked;     /* as others read it: what they ask leaves no trace in ours */
    struct jobs *jobs;
    struct lengths *lengths;
    struct fair_shares *shares;
    double counted_s; /* when what all held was last counted */
    struct plan plan;
    place_changes changes; /* of the last plan */
    place_actions actions;
    vec_of(struct decision) decisions;
    vec_of(struct decision_before) before;   /* of jobs the plan moves */
    vec_of(const struct job_status *) ready; /* those a round that ends is about */
    vec_of(size_t) ready_at; /* (the first of them) their seats in the draft */
    vec_of(const struct job_status *) besides; /* whoever has devices and is not in it */
    struct round *spare; /* the next one, with what it need not copy again; NULL: none */
    vec_of(struct deferred *) deferred;
    struct learned_lesson *studied; /* taken when no round reads the model; NULL: none */
    struct refine_score score;
    struct quote_score quotes;
    struct quote settled;     /* of the last job that was */
    double *device_changed_s; /* (devices) when jobs or cap of a device last changed */
    double *fixed_cap_watts;  /* (devices) an operator's word; NaN: none */
    bool round_out;
    double gap_s, every_s;
    double due_s; /* of the next round */
    double last_round_s;
    double stirred_s; /* when something last happened or was done */
    size_t most_waiting;
};

int loop_find(struct loop *loop, uint64_t id, struct job_status **status,
              struct err *err);

/* Its seats are free. */
void loop_leave_devices(struct loop *loop, struct job_status *status, double now_s);

/* What the job held up to now is its user's. */
void loop_count_use(struct loop *loop, struct job_status *status, double now_s);

/* A round that is out of use; NULL is fine. */
void round_spare_destroy(struct round *r);

/* The model is told, now or when the round that is out has ended. */
void loop_tell_model(struct loop *loop, enum deferred_kind kind, const struct job *job,
                     const struct observation *seen);
void loop_tell_deferred(struct loop *loop);

/* Something may follow from what happened: a round in a while. */
void loop_stir(struct loop *loop, double now_s);

/* The present as a planner sees it, of these jobs. */
struct optimize_input loop_input(const struct loop *loop,
                                 const struct job_status *const *jobs, size_t count,
                                 double now_s);

/* The model as the loop itself reads it: quotes, decisions, what was expected. */
static inline struct model *loop_own_model(const struct loop *loop)
{
    return (struct model *)(uintptr_t)&loop->model;
}
