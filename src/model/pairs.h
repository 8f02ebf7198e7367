/* pairs.h - how fast jobs run beside one another: P1, P2, the core and plainer experts
 *
 * The part of the learned model for relative speeds, and what `corgi eval` measures.
 * Measurements are absorbed at once; what takes longer (parameters of the core, the two
 * networks, widths of intervals) is a lesson (learned_lesson.h), on a copy.
 *
 * A cell is answered as the less known of its two jobs sees it: its own speed, or its
 * effect on the other.  The number of measurements of that job, and whether a job of its
 * family is known, say who is believed how much (blend.h). */
#pragma once

#include "base/map.h"
#include "model/blend.h"
#include "model/network_choice.h"
#include "model/network_progress.h"
#include "model/pair_replay.h"
#include "nn/attention.h"

/* Observations kept; those that tell least go when it is full. */
#define PAIRS_MAX 2048

struct pairs_memory { /* of one observation of the core */
    double extra_var; /* the core is told in a lesson */
    double times;     /* it was measured */
    uint64_t stamp;   /* last measured */
};

struct pairs {
    struct kernel_params start; /* shipped, what fitting is pulled to */
    /* The core with fitted parameters, and with the shipped ones: a fit to few families
     * says little of a family never seen, of which nothing was measured. */
    struct gp *core, *plain;
    struct attention *p1, *p2;
    struct network_progress progress[PAIR_NETWORKS];
    struct pair_replay replay;   /* what the core had to forget */
    struct map *index;           /* cell -> observation of the core */
    struct pairs_memory *memory; /* (PAIRS_MAX) */
    size_t limit; /* observations kept, at most PAIRS_MAX: with fewer all costs less */
    vec_of(bool) idle; /* (jobs) none of it is here now: it is forgotten first */
    vec_of(int) told;  /* (jobs) observations it is part of */
    /* (jobs, gpus) ln rate alone, NaN: not known; as the cores know them, and as told
     * last, which counts from the next lesson on. */
    vec_of(double) rates, rates_now;
    vec_of(struct job_counters) counters, counters_now; /* (jobs) likewise */
    /* Answer with P1 alone: what was measured of other jobs, and of a cell itself, but
     * nothing that a job's own measurements say of its other cells.  For comparisons. */
    bool initial_only;
    unsigned without; /* bits of experts left out (blend.h), for comparisons */
    bool stale;       /* the cores were told values they have not settled */
    uint64_t stamp;
    struct blend_widths widths;
    /* How rows vary together at the last lesson, see pair_view.h; empty: none was. */
    vec_of(double) common, match;
};

struct pairs_guess {
    double mean;      /* ln relative speed: the point with the least relative error */
    double low, high; /* 90 % */
    double sd;
    int times; /* this very cell was measured */
};

struct pairs *pairs_create(void);
void pairs_destroy(struct pairs *pairs); /* NULL is fine */

/* P1 and P2 of another architecture, as they ship. */
void pairs_set_networks(struct pairs *pairs, enum network_choice choice);

/* For who studies it away from the loop: everything but which cells there are. */
struct pairs *pairs_dup(const struct pairs *pairs);

/* All GPU types come before the first job. */
void pairs_add_gpu(struct pairs *pairs, const struct gpu_trait *gpu);
void pairs_add_job(struct pairs *pairs, const struct job_trait *job);

/* What is known of a job's rates alone now: (gpus) ln rates, NaN where none is.  It
 * counts at once for a job no observation is of, else from the next lesson on. */
void pairs_set_rates(struct pairs *pairs, int job, const double *rates);

/* The same of what was counted of it while it ran alone. */
void pairs_set_counters(struct pairs *pairs, int job,
                        const struct job_counters *counters);

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

/* Levels and spreads of the GPU types as the observations have them, into parameters; and
 * how much counters say of likeness, nothing while few jobs have some. */
void pairs_standard_units(const struct pairs *pairs, struct kernel_params *params);

/* The job of a cell it is answered for: the one of which less was measured. */
int pairs_less_known(const struct pairs *pairs, struct cell cell);

/* Any cells of jobs that were added. */
void pairs_predict(const struct pairs *pairs, const struct cell *cells, size_t count,
                   struct pairs_guess *out);

/* Of one cell with jobs that were never added, see gp.h. */
struct pairs_guess pairs_predict_guest(const struct pairs *pairs,
                                       const struct gp_guests *guests, struct cell cell);

/* Of one job and each of `count` others from first on, on every GPU, as this job sees
 * them: out (count, PAIR_KINDS, gpus) its own speeds and its effects.  core_sd, as large,
 * keeps the core's own sd between calls: made again only when widths says so, which costs
 * most. */
void pairs_renew_row(const struct pairs *pairs, int job, int first, size_t count,
                     bool widths, double *core_sd, struct pairs_guess *out);

/* What was measured, for views. */
struct pair_catalogue pairs_catalogue(const struct pairs *pairs,
                                      const struct gp_guests *guests);

/* What is said of some cells of a view's job: everything but the core, and what follows
 * from all with it. */
void pairs_ask_experts(const struct pairs *pairs, const struct pair_sight *view,
                       const int *cells, size_t count, struct blend_said *said);
bool pairs_trusts_fit(const struct pair_sight *view);

struct pairs_mix { /* who is believed how much of cells of one kind, and how wide */
    struct blend_weights weights;
    struct blend_shift shift;
    double half;
};
struct pairs_mix pairs_mix_of(const struct pairs *pairs, const struct pair_sight *view,
                              enum pair_kind kind);
struct pairs_guess pairs_guess_of(const struct pairs_mix *mix,
                                  const struct blend_said *said,
                                  struct blend_belief *raw); /* unless NULL: the mix */

/* For checkpoints.  Reading is into one just created that knows its GPU types; when
 * c->in->bad tells of damage it is then only good for pairs_destroy(). */
#define PAIRS_MAX_JOBS 65536
void pairs_code(struct pairs *pairs, struct codec *c);
