/* kernel.h - how strongly two measurements of jobs on GPUs are correlated
 *
 * The covariance of the correlation core.  A cell is a job on a GPU type, alone or beside
 * another job; its value is a log rate.  The rate alone has a mean that follows work and
 * peak speed and correlates over alike jobs and over GPUs; the relative speed beside
 * another job is a sum of the job's sensitivity, the neighbour's pressure and their
 * match, again correlated over alike jobs and over GPUs.  Jobs are alike by family, batch
 * and work a step, and by their rates alone: how these differ between types, and which
 * share of peak speed they reach.  All parameters are free real numbers: widths as
 * logarithms, shares through a sigmoid, so that a gradient step cannot leave the valid
 * range. */
#pragma once

#include "model/codec.h"
#include "world/world.h"

#include <stddef.h>
#include <stdint.h>

/* Work is centred here, about 10 GFLOP a step, so that level and slope do not fight. */
#define KERNEL_OMEGA_CENTRE 8.0

/* name, starting value for rates alone, for pairs, meaning.  Both were fitted on
 * synthetic worlds: those of pairs in units of each GPU type's own spread. */
#define KERNEL_PARAMS(X)                                                                 \
    X(M0, -0.598, 0)      /* mean log relative speed, beside the level of the type */    \
    X(VM, -1.897, -1.204) /* log sd of the mean of a GPU type */                         \
    X(WF, -0.78, 0.651)   /* softmax weights of the job kernel: family, */               \
    X(WR, 0.52, 0.354)    /* work, */                                                    \
    X(WI, -1.55, -2.514)  /* identity, */                                                \
    X(WS, -40, -0.391)    /* rates alone, */                                             \
    X(WC, -40, -40)       /* counters: none, until jobs with some are known */           \
    X(LB, -1.12, -0.857)  /* log inverse length over batch */                            \
    X(LW, -0.28, -0.189)  /* the same over work, */                                      \
    X(LP, 0, 0.584)       /* over ratios of rates between types */                       \
    X(LS, 0, -0.036)      /* over the share of peak speed */                             \
    X(LC, 0, 1.2)         /* and over counters */                                        \
    X(VA, -2.03, -0.349)  /* log sd of sensitivity */                                    \
    X(VB, -1.78, -0.809)  /* log sd of pressure */                                       \
    X(RAB, -0.47, -0.254) /* their correlation, through tanh */                          \
    X(RG, 1.02, 1.321)    /* share common to all GPUs of both, through a sigmoid */      \
    X(VC, -1.26, -0.42)   /* log sd of the match */                                      \
    X(RC, -0.04, 0.249)   /* its common share */                                         \
    X(RM, 0.74, 0.74)     /* the common share of the mean */                             \
    X(LN, -3.85, -1.433)  /* log sd of noise */                                          \
    X(B0, 3.55, 0)        /* rate alone: mean, */                                        \
    X(BW, -2.04, 0)       /* slope over work, */                                         \
    X(BS, 0.54, 0)        /* slope over log peak speed; then log sds: */                 \
    X(S0, -1.44, 0)       /* common level */                                             \
    X(SW, -2.02, 0)       /* slope over work */                                          \
    X(VL, -2.03, 0)       /* level of a job */                                           \
    X(VI, 1.2, 0)         /* level of this very job: efficiency nobody told */           \
    X(VG, -2.71, 0)       /* level of a GPU */                                           \
    X(VS, -2.54, 0)       /* slope over log peak speed */                                \
    X(VJ, -1.43, 0)       /* match of job and GPU */                                     \
    X(VJS, -1.34, 0)      /* the job's own slope over log peak speed */

enum kernel_param {
#define KERNEL_ENUM(name, alone, pairs) KERNEL_##name,
    KERNEL_PARAMS(KERNEL_ENUM)
#undef KERNEL_ENUM
        KERNEL_FIXED_COUNT,
    /* Then, for each GPU type, the log of how widely relative speeds spread on it, and
     * their mean: what turns them into standard units. */
    KERNEL_SPREAD = KERNEL_FIXED_COUNT,
    KERNEL_LEVEL = KERNEL_SPREAD + WORLD_MAX_GPUS,
    KERNEL_PARAM_COUNT = KERNEL_LEVEL + WORLD_MAX_GPUS,
};

struct kernel_params {
    double v[KERNEL_PARAM_COUNT];
};

/* What the kernel sees of a job and of a GPU type. */
struct job_trait {
    int family;   /* equal: same family; -1: of its own */
    double beta;  /* log2(batch) / 2 */
    double omega; /* ln(operations a step) / 3 */
    bool untold;  /* nobody told its work: omega says nothing */
};

struct gpu_trait {
    double speed;     /* ln(FP32 TFLOPS / 10) */
    double bandwidth; /* ln(GB/s / 600) */
};

struct cell {
    int job;
    int gpu;
    int other; /* the co-runner; -1: alone */
};

/* One number for a pair, for maps. */
static inline uint64_t cell_key(struct cell cell)
{
    return (uint64_t)cell.job << 40 | (uint64_t)cell.gpu << 32 | (uint64_t)cell.other;
}

/* From what a user tells and a data sheet says; everything a user may leave out has a
 * neutral value.  family: the caller's number for descriptor->family, -1: none told. */
struct job_trait job_trait_of(const struct job_descriptor *descriptor, int family);
struct gpu_trait gpu_trait_of(const struct gpu_sheet *sheet);

/* Families told apart; jobs of more are taken for families of their own. */
#define KERNEL_FAMILIES 65536

/* For checkpoints. */
void job_trait_code(struct codec *c, struct job_trait *trait);
void kernel_params_code(struct codec *c, struct kernel_params *params);

/* What was counted of a job while it ran alone, each 0..1 and the mean over types; NaN:
 * nobody counted it. */
enum job_counter {
    COUNTER_BUSY,        /* share of the time its device worked */
    COUNTER_MEMORY_BUSY, /* and its memory was read or written */
    COUNTER_WATTS,       /* draw, as a share of what the device can draw beyond idle */
    COUNTER_MEMORY,      /* share of the device's memory it held */
    COUNTER_HOST,        /* share of the time its processes used a core of the host */
    JOB_COUNTERS
};

struct job_counters {
    double of[JOB_COUNTERS];
};
struct job_counters job_counters_none(void);

/* What rates alone and counters tell of a job's likeness; count 0: no rate was
 * measured. */
struct rate_profile {
    int count;                   /* types */
    float ratio[WORLD_MAX_GPUS]; /* ln rate on each, over what its peak speed lets expect
                                    and centred; 0 where none was measured */
    float share;                 /* ln share of peak speed reached, over 3; NaN: untold */
    struct job_counters counted;
};

/* rates (gpus): ln rate alone on each type, NaN where none is known.  No counters. */
struct rate_profile rate_profile_of(const struct job_trait *job, const double *rates,
                                    const struct gpu_trait *gpus, int gpu_count);

/* Squared distance of two jobs by their counters; NaN where not the same was counted of
 * both: if they were compared by what they have in common, likeness would not be one (the
 * table of all jobs would have no root). */
double job_counters_apart2(const struct job_counters *a, const struct job_counters *b);

/* Jobs, GPUs and the table of job kernels, shared by many evaluations. */
struct kernel_space {
    struct job_trait *jobs;        /* (stride) */
    struct rate_profile *profiles; /* (stride) */
    struct gpu_trait *gpus;
    double *alike; /* (stride, stride) */
    size_t stride;
    bool relative; /* cells hold relative speeds, not rates: leave the rate alone out */
};

/* Parameters turned into the numbers the formulas use. */
struct kernel {
    double m0, vm, va, vb, vab, vc, noise; /* variances and a covariance */
    double share_m, share_g, share_c;
    double wf, wr, wi, ws, wc, inv_b, inv_w, inv_p, inv_s, inv_c;
    double b0, bw, bs, s0, sw, vl, vi, vg, vs, vj, vjs;
    double spread[WORLD_MAX_GPUS], level[WORLD_MAX_GPUS];
};

/* Where rates alone, and pairs, start. */
void kernel_default(struct kernel_params *params);
void kernel_pairs_default(struct kernel_params *params);
void kernel_prepare(struct kernel *kernel, const struct kernel_params *params);

/* A job as likeness sees it; profile NULL: its rates are not known. */
struct kernel_job {
    const struct job_trait *trait;
    const struct rate_profile *profile;
};

/* The parts of how alike two jobs are, each 0..1, and the squared distances in them. */
struct kernel_likeness {
    double family, work, rates, counters;
    double batch2, work2, ratio2, share2, counter2;
};
struct kernel_likeness kernel_likeness_of(const struct kernel *kernel,
                                          struct kernel_job a, struct kernel_job b,
                                          int same);

/* How alike two jobs are, 0..1; same says they are the same job. */
double kernel_alike(const struct kernel *kernel, struct kernel_job a, struct kernel_job b,
                    int same);

double kernel_mean(const struct kernel *kernel, const struct kernel_space *space,
                   struct cell cell);
double kernel_noise(const struct kernel *kernel, struct cell cell);
double kernel_value(const struct kernel *kernel, const struct kernel_space *space,
                    struct cell a, struct cell b);

/* The part of two pairs alone, from how alike a.job and a.other are to every job. */
double kernel_pair_value(const struct kernel *kernel, struct cell a, struct cell b,
                         const double *row, const double *other);
