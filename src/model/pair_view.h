/* pair_view.h - what is known of pairs as one job sees it: columns, rows, its own errors
 *
 * P1, P2 and the plainer experts (pair_experts.h) all answer from this.  The cells of a
 * job are its own speed beside each other job on each GPU type, then the effect: what
 * each of these keeps beside it.  A cell's column holds what all other jobs have there;
 * its mean is where every expert starts, and what another job is away from it is a
 * residual.  A view leaves the job's own measurements out of columns and residuals; they
 * are shown to it. */
#pragma once

#include "model/gp.h"

/* What was measured and of whom.  Borrowed. */
struct pair_catalogue {
    const struct job_trait *jobs; /* (job_count) */
    const double *rates;          /* (job_count, gpu_count) ln rate alone, NaN: unknown */
    const struct job_counters *counters; /* (job_count) NULL: nothing was counted */
    const struct gpu_trait *gpus;        /* (gpu_count) */
    int job_count, gpu_count;
    struct gp_guests guests;  /* jobs that were never added count from job_count on */
    const struct cell *cells; /* (count) */
    const double *values;     /* (count) ln relative speeds */
    size_t count;
    /* As pair_moments_fill() gives them for nearly the same; NULL: work them out. */
    const double *common, *match;
};

/* A view of all that is known, by no job of it. */
#define PAIR_NO_JOB (-1)

/* Of a job's own measurements the last ones correct its other cells. */
#define PAIR_SHOWN_MAX 20

enum pair_kind { PAIR_OWN, PAIR_EFFECT, PAIR_KINDS };

struct pair_residual {
    int job;  /* whose it is */
    int cell; /* of the view */
    float value;
};

struct pair_sight {
    const struct pair_catalogue *from;
    int job, gpus, jobs; /* jobs: guests included */
    int known_count, families;
    int *known;      /* (known_count) jobs with a residual */
    int *kin;        /* (jobs) how many known jobs are of its family */
    bool sibling;    /* a known job is of the same family */
    size_t cells;    /* PAIR_KINDS * gpus * jobs */
    double *centre;  /* (cells) shrunk mean of the column */
    double *spread;  /* (cells) sd in it */
    double *square;  /* (cells) sum of squared residuals over known jobs less one */
    double *self;    /* (gpus, jobs) of a job beside itself, against that of others */
    double *profile; /* (jobs, gpus) ratios of rates, standardised; 0: unknown */
    double *level;   /* (jobs) of rates, standardised */
    bool *rated;     /* (jobs) a rate of it is known */
    double *share;   /* (jobs, gpus) ln share of peak speed; NaN: unknown */
    double mean[WORLD_MAX_GPUS];
    int slowest, fastest;            /* GPU types */
    struct pair_residual *residuals; /* (residual_count) */
    size_t residual_count;
    double *common, *match; /* (kinds * gpus, kinds * gpus) how rows vary together: over
                               all co-runners, and beyond that beside the same one */
    int shown_cells[PAIR_SHOWN_MAX];
    double shown_error[PAIR_SHOWN_MAX]; /* against the centre */
    int shown;                          /* of the last PAIR_SHOWN_MAX, */
    int measured[PAIR_KINDS];           /* and of all */
};

/* hidden (job_count): of these jobs nothing was measured; then nothing is shown either.
 * NULL: all count, and what was measured of the job is shown to it. */
struct pair_sight *pair_view_create(const struct pair_catalogue *from, int job,
                                    const bool *hidden);
void pair_view_destroy(struct pair_sight *view); /* NULL is fine */

/* These measurements of the job in place of those shown before. */
void pair_view_show(struct pair_sight *view, const struct cell *cells,
                    const double *values, size_t count);

static inline int pair_view_cell(const struct pair_sight *v, enum pair_kind kind, int gpu,
                                 int other)
{
    return ((int)kind * v->gpus + gpu) * v->jobs + other;
}

/* The number of a cell of this job; -1: it is not one of it. */
static inline int pair_view_find(const struct pair_sight *v, struct cell cell)
{
    if (cell.job == v->job)
        return pair_view_cell(v, PAIR_OWN, cell.gpu, cell.other);
    return cell.other == v->job ? pair_view_cell(v, PAIR_EFFECT, cell.gpu, cell.job) : -1;
}

const struct job_trait *pair_view_trait(const struct pair_sight *view, int job);

/* ---- pair_moments.c: how rows vary together -------------------------------------------
 *
 * Residuals of a row vary together over all co-runners, beside the same co-runner on two
 * types, and as those of single cells were seen to. */

/* From the residuals of a view into its `common` and `match`. */
void pair_moments_fill(struct pair_sight *view);

/* What a residual of a cell is expected to vary by while nothing is shown. */
double pair_moments_var(const struct pair_sight *view, int cell);

/* How many times further below its columns a job runs than rows usually stray, by the own
 * speeds that are shown (a ratio of variances, 1 at least); 1 also where it runs above
 * them.  Such a job's rate alone was measured too high, or nothing like it is known. */
double pair_moments_below(const struct pair_sight *view);

/* How what is shown corrects `count` cells: weights (count, shown), and the variance left
 * (count), of residuals that vary as rows of the catalogue do. */
void pair_moments_update(const struct pair_sight *view, const int *cells, size_t count,
                         double *weights, double *var);
