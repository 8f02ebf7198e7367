/* synth_private.h - the parts of the synthetic world; generate.c puts them together
 *
 * Each part draws from the one generator it is handed, in a fixed order.  Times are
 * seconds a step. */
#ifndef CORGI_WORLD_SYNTH_PRIVATE_H
#define CORGI_WORLD_SYNTH_PRIVATE_H

#include "base/rng.h"
#include "world/generate.h"
#include "world/world.h"

/* What the sheet does not tell of a card and of two jobs on it. */
struct synth_gpu {
    double flops;       /* true FP32 flop/s */
    double bytes_per_s; /* true memory bandwidth */
    double sms;
    double memory_gb;          /* that jobs can have */
    double host;               /* speed of the node's processors, 1 is common */
    double node_gbs;           /* gradients between devices of a node */
    double spread_gbs;         /* and between nodes */
    double kernel_pull;        /* long kernels of the other hold a job up */
    double free_share;         /* two jobs whose occupancies sum below do not meet */
    double bandwidth_conflict; /* slow-down of two jobs that both wait for memory */
    double host_conflict;      /* and of two that both wait for the processors */
};

/* Constants of one world. */
struct synth_world {
    double host_share; /* host time of all jobs: many worlds are GPU bound */
    double fill;       /* samples it takes to fill an SM */
    double noise_sd;   /* of measured relative speeds */
    double missing;
};

/* A job family at one batch size. */
struct synth_job {
    int family;
    double flop_per_sample;
    double batch;
    double flop_per_byte;
    double efficiency; /* share of peak when the device is full */
    double kernels;    /* a step */
    double sms_per_sample;
    double host_s; /* a step */
    double host_s_per_sample;
    double overlap;     /* of host and device, 0..1 */
    double memory_gb;   /* true footprint */
    double gradient_gb; /* exchanged a step when on several devices */
    /* (gpus) quirks of this job on each card, as logs: device time, how much it suffers,
     * how much it hurts. */
    float quirk_time[WORLD_MAX_GPUS];
    float quirk_suffer[WORLD_MAX_GPUS];
    float quirk_hurt[WORLD_MAX_GPUS];
};

/* How one class runs on one card, as interference needs it. */
struct synth_cell {
    double device_s, host_s, step_s, spread_step_s;
    double occupancy;    /* 0..1 */
    double memory_share; /* of the time is memory's, 0..1 */
    double kernel_log_s; /* log of the mean kernel length */
    double overlap;
    double suffer, hurt; /* factors */
    double memory_gb;
};

/* Fill sheets (kept when options give them) and what is behind them. */
void synth_gpus(const struct generate_options *options, struct gpu_sheet *sheets,
                struct synth_gpu *gpus, int count, struct rng *rng);

/* Draw all families of a world.  Jobs of one family follow one another, batches rising.
 * The caller frees *jobs and *descriptors (one a job). */
int synth_jobs(const struct generate_options *options, const struct synth_gpu *gpus,
               int gpu_count, struct synth_job **jobs,
               struct job_descriptor **descriptors, struct rng *rng);

/* One job on one card; scale > 1 adds the exchange of gradients.  Noise of the step's
 * time is an argument, so that all scales of a job share it. */
struct synth_cell synth_run(const struct synth_job *job, const struct synth_gpu *gpu,
                            const struct synth_world *world, int g, int scale,
                            double noise);

/* Fill the relative speeds of all pairs on card g. */
void synth_interfere(struct world *world, int g, const struct synth_cell *cells,
                     const struct synth_gpu *gpu, const struct synth_world *constants,
                     struct rng *rng);

#endif
