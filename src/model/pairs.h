/* pairs.h - how fast jobs run beside one another: core, P1 and P2 blended by evidence
 *
 * The part of the learned model for relative speeds.  Measurements are absorbed at once;
 * pairs_adapt() does what takes longer (parameters, weights of the networks, widths of
 * intervals, online training) and belongs on a worker, on a copy. */
#ifndef CORGI_MODEL_PAIRS_H
#define CORGI_MODEL_PAIRS_H

#include "base/bytes.h"
#include "model/blend.h"
#include "model/gp.h"

#include <stdint.h>

/* Observations kept; those that tell least go when it is full. */
#define PAIRS_MAX 1280

struct pairs;

struct pairs_guess {
    double mean;      /* ln relative speed, for sums and products */
    double low, high; /* 90 % */
    double sd;
    int times; /* this very cell was measured */
};

struct pairs *pairs_create(void);
void pairs_destroy(struct pairs *pairs); /* NULL is fine */

int pairs_add_job(struct pairs *pairs, const struct job_trait *job);
int pairs_add_gpu(struct pairs *pairs, const struct gpu_trait *gpu);

/* Absorb a window.  extra_var: what is not known of the job's rate alone.  True when the
 * cell had changed suddenly. */
bool pairs_observe(struct pairs *pairs, struct cell cell, double value, double extra_var);

/* Absorb the value of a cell as it is known now; a later one replaces it. */
void pairs_put(struct pairs *pairs, struct cell cell, double value, double extra_var);

/* Keep fewer observations than PAIRS_MAX: everything costs less. */
void pairs_set_limit(struct pairs *pairs, size_t limit);

/* No job of this kind is here now: what is known of it is forgotten first. */
void pairs_set_idle(struct pairs *pairs, int job, bool idle);

/* Answer with P1 alone: what was measured of other jobs, and of a cell itself, but
 * nothing that a job's own measurements say of its other cells.  For comparisons. */
void pairs_set_initial(struct pairs *pairs, bool alone);

size_t pairs_count(const struct pairs *pairs);

void pairs_adapt(struct pairs *pairs, uint64_t seed);

/* What was absorbed counts from here on: to be called once after some observations and
 * before the next question.  Questions change nothing. */
void pairs_settle(struct pairs *pairs);

void pairs_predict(const struct pairs *pairs, const struct cell *cells, size_t count,
                   struct pairs_guess *out);

/* Of one cell with jobs that were never added, see gp.h. */
struct pairs_guess pairs_predict_guest(const struct pairs *pairs,
                                       const struct gp_guests *guests, struct cell cell);

/* Means only, of one job on every GPU beside each of others: out (gpus, count).  For
 * finding a shortlist: cheaper than pairs_predict(), without the trees. */
void pairs_predict_row(const struct pairs *pairs, int job, const int *others,
                       size_t count, double *out);

/* Everything of the same row, out (gpus, count).  core_sd (gpus, count) keeps the core's
 * own sd between calls: made again only when widths says so, which costs most. */
void pairs_renew_row(const struct pairs *pairs, int job, const int *others, size_t count,
                     bool widths, double *core_sd, struct pairs_guess *out);

const struct gp *pairs_core(const struct pairs *pairs); /* borrowed */

/* ------------------------------------------------------------------------------------ */

/* What was learned of pairs, for checkpoints and for workers */

#define PAIRS_MAX_JOBS 65536

void pairs_write(const struct pairs *pairs, struct bytes_out *out);

/* Into one just created that knows its GPU types; in->bad tells of damage, and what was
 * read until then is then only good for pairs_destroy(). */
void pairs_read(struct pairs *pairs, struct bytes_in *in);

/* A copy that a worker may change (pairs_adapt) while the other goes on absorbing, and
 * taking back what was learned: parameters, network, trees, weight and width.  Ends the
 * copy. */
struct pairs *pairs_dup(const struct pairs *pairs);
void pairs_take(struct pairs *pairs, struct pairs *learned);

#endif
