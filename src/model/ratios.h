/* ratios.h - closed forms for rates alone: what jobs like this one did
 *
 * Used by rates.h and, as baselines, by eval/. */
#ifndef CORGI_MODEL_RATIOS_H
#define CORGI_MODEL_RATIOS_H

#include "model/kernel.h"

struct ratios_view {
    const struct job_trait *jobs;
    const struct gpu_trait *gpus;
    int job_count, gpu_count;
    const double *seen; /* (jobs, WORLD_MAX_GPUS) ln rates, NaN where never measured */
    const struct job_trait *guest; /* a job that was never added, asked for by this: */
};
#define RATIOS_GUEST (-1) /* as the job of a level */

/* ln of the ratio of a job's rates on two types: of its family with near batches first,
 * else the median over all jobs measured on both, else the data sheets'. */
double ratios_between(const struct ratios_view *view, int job, int from, int to);

/* The level of the job's family at its batch; returns how many measurements it rests on,
 * 0 (outputs untouched) when there are none. */
int ratios_family_level(const struct ratios_view *view, int job, int gpu, double *mean,
                        double *sd);

/* A job of which nothing is known but its work: the typical share of peak. */
void ratios_typical_level(const struct ratios_view *view, int job, int gpu, double *mean,
                          double *sd);

#endif
