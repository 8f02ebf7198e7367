/* pairs.h - how fast jobs run beside one another: core, P1 and P2 blended by evidence
 *
 * The part of the learned model for relative speeds.  Measurements are absorbed at once;
 * what takes longer (parameters, weights of the networks, widths of intervals, online
 * training) is a lesson (learned_lesson.h), on a copy. */
#pragma once

#include "base/map.h"
#include "model/blend.h"
#include "model/gbt.h"

/* Observations kept; those that tell least go when it is full. */
#define PAIRS_MAX 1280

struct pairs_memory { /* of one observation of the core */
    double extra_var; /* the core is told in a lesson */
    double times;     /* it was measured */
    uint64_t stamp;   /* last measured */
};

struct pairs {
    struct kernel_params start; /* shipped, what fitting is pulled to */
    struct gp *core;
    struct statnet *initial, *refined; /* P1, P2 */
    struct gbt *trees;                 /* of this cluster; NULL: too little seen */
    struct map *index;                 /* cell -> observation of the core */
    struct pairs_memory *memory;       /* (PAIRS_MAX) */
    size_t limit; /* observations kept, at most PAIRS_MAX: with fewer all costs less */
    vec_of(bool) idle; /* (jobs) none of it is here now: it is forgotten first */
    /* Answer with P1 alone: what was measured of other jobs, and of a cell itself, but
     * nothing that a job's own measurements say of its other cells.  For comparisons. */
    bool initial_only;
    bool stale; /* the core was told values it has not settled */
    uint64_t stamp;
    struct blend_weights weights;
    double width; /* half a 90 % interval in units of sd */
};

struct pairs_guess {
    double mean;      /* ln relative speed, for sums and products */
    double low, high; /* 90 % */
    double sd;
    int times; /* this very cell was measured */
};

struct pairs *pairs_create(void);
void pairs_destroy(struct pairs *pairs); /* NULL is fine */

void pairs_add_job(struct pairs *pairs, const struct job_trait *job);

/* What may be told of a cell: the value, but no further than three standard deviations
 * from what all other cells say of it. */
double pairs_bounded(struct pairs *pairs, struct cell cell, double value,
                     double extra_var);

/* Absorb the value of a cell as it is known now; a later one replaces it.  extra_var:
 * what is not known of the job's rate alone. */
void pairs_put(struct pairs *pairs, struct cell cell, double value, double extra_var);

/* What was absorbed counts from here on: to be called once after some observations and
 * before the next question.  Questions change nothing. */
void pairs_settle(struct pairs *pairs);

/* core_sd (count) unless NULL: the core's own sd of each. */
void pairs_predict(const struct pairs *pairs, const struct cell *cells, size_t count,
                   double *core_sd, struct pairs_guess *out);

/* Of one cell with jobs that were never added, see gp.h. */
struct pairs_guess pairs_predict_guest(const struct pairs *pairs,
                                       const struct gp_guests *guests, struct cell cell);

/* Of one job beside each of `count` others from first on, on every GPU: out (count,
 * gpus).  core_sd (count, gpus) keeps the core's own sd between calls: made again only
 * when widths says so, which costs most. */
void pairs_renew_row(const struct pairs *pairs, int job, int first, size_t count,
                     bool widths, double *core_sd, struct pairs_guess *out);

/* For checkpoints.  Reading is into one just created that knows its GPU types; when
 * c->in->bad tells of damage it is then only good for pairs_destroy(). */
#define PAIRS_MAX_JOBS 65536
void pairs_code(struct pairs *pairs, struct codec *c);
