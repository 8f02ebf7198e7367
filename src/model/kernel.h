/* kernel.h - how strongly two measurements of jobs on GPUs are correlated
 *
 * The covariance of the correlation core.  A cell is a job on a GPU type, alone or beside
 * another job; its value is a log rate.  The rate alone has a mean that follows work and
 * peak speed and correlates over alike jobs and over GPUs; the relative speed beside
 * another job is a sum of the job's sensitivity, the neighbour's pressure and their
 * match, again correlated over alike jobs and over GPUs.  Jobs are alike by family, batch
 * and work a step.  All parameters are free real numbers: widths as logarithms, shares
 * through a sigmoid, so that a gradient step cannot leave the valid range. */
#pragma once

#include "model/codec.h"
#include "world/world.h"

#include <stddef.h>
#include <stdint.h>

/* Work is centred here, about 10 GFLOP a step, so that level and slope do not fight. */
#define KERNEL_OMEGA_CENTRE 8.0

/* name, starting value fitted on the synthetic world, meaning */
#define KERNEL_PARAMS(X)                                                                 \
    X(M0, -0.598) /* mean log relative speed */                                          \
    X(VM, -1.897) /* log sd of the mean of a GPU type */                                 \
    X(WF, -0.78)  /* softmax weights of the job kernel: family, */                       \
    X(WR, 0.52)   /* work, */                                                            \
    X(WI, -1.55)  /* identity */                                                         \
    X(LB, -1.12)  /* log inverse length over batch */                                    \
    X(LW, -0.28)  /* the same over work */                                               \
    X(VA, -2.03)  /* log sd of sensitivity */                                            \
    X(VB, -1.78)  /* log sd of pressure */                                               \
    X(RAB, -0.47) /* their correlation, through tanh */                                  \
    X(RG, 1.02)   /* share common to all GPUs of both, through a sigmoid */              \
    X(VC, -1.26)  /* log sd of the match */                                              \
    X(RC, -0.04)  /* its common share */                                                 \
    X(RM, 0.74)   /* the common share of the mean */                                     \
    X(LN, -3.85)  /* log sd of noise */                                                  \
    X(B0, 3.55)   /* rate alone: mean, */                                                \
    X(BW, -2.04)  /* slope over work, */                                                 \
    X(BS, 0.54)   /* slope over log peak speed; then log sds: */                         \
    X(S0, -1.44)  /* common level */                                                     \
    X(SW, -2.02)  /* slope over work */                                                  \
    X(VL, -2.03)  /* level of a job */                                                   \
    X(VI, 1.2)    /* level of this very job: efficiency nobody told */                   \
    X(VG, -2.71)  /* level of a GPU */                                                   \
    X(VS, -2.54)  /* slope over log peak speed */                                        \
    X(VJ, -1.43)  /* match of job and GPU */                                             \
    X(VJS, -1.34) /* the job's own slope over log peak speed */

enum kernel_param {
#define KERNEL_ENUM(name, start) KERNEL_##name,
    KERNEL_PARAMS(KERNEL_ENUM)
#undef KERNEL_ENUM
        KERNEL_FIXED_COUNT,
    /* Then, for each GPU type, the log of how widely relative speeds spread on it. */
    KERNEL_SPREAD = KERNEL_FIXED_COUNT,
    KERNEL_PARAM_COUNT = KERNEL_FIXED_COUNT + WORLD_MAX_GPUS,
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

/* Jobs, GPUs and the table of job kernels, shared by many evaluations. */
struct kernel_space {
    struct job_trait *jobs; /* (stride) */
    struct gpu_trait *gpus;
    double *alike; /* (stride, stride) */
    size_t stride;
    bool relative; /* cells hold relative speeds, not rates: leave the rate alone out */
};

/* Parameters turned into the numbers the formulas use. */
struct kernel {
    double m0, vm, va, vb, vab, vc, noise; /* variances and a covariance */
    double share_m, share_g, share_c;
    double wf, wr, wi, inv_b, inv_w;
    double b0, bw, bs, s0, sw, vl, vi, vg, vs, vj, vjs;
    double spread[WORLD_MAX_GPUS];
};

void kernel_default(struct kernel_params *params);
void kernel_prepare(struct kernel *kernel, const struct kernel_params *params);

/* How alike two jobs are, 0..1; same says they are the same job. */
double kernel_alike(const struct kernel *kernel, const struct job_trait *a,
                    const struct job_trait *b, int same);

double kernel_mean(const struct kernel *kernel, const struct kernel_space *space,
                   struct cell cell);
double kernel_noise(const struct kernel *kernel, struct cell cell);
double kernel_value(const struct kernel *kernel, const struct kernel_space *space,
                    struct cell a, struct cell b);

/* The part of two pairs alone, from how alike a.job and a.other are to every job. */
double kernel_pair_value(const struct kernel *kernel, struct cell a, struct cell b,
                         const double *row, const double *other);
