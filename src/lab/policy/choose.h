/* choose.h - find the devices of one job, given a score for each device
 *
 * A planner says what one device is worth to a job; this picks the cheapest device, or
 * for a job on several GPUs the cheapest set of one type, on one node where that is
 * possible. */
#pragma once

#include "lab/policy/occupancy.h"

/* False: the job must not go there.  Smaller scores are better. */
typedef bool choose_score(void *ctx, const struct occupancy *o,
                          const struct optimize_input *in, const struct job_status *job,
                          int device, double *score);

/* Memory reused between calls. */
struct choose {
    double *scores; /* (devices) NaN: not eligible */
    int *order;     /* (devices) */
    int capacity;
};

void choose_fini(struct choose *c);

/* Fills devices (job->job.devices of them) and the summed score; false: nowhere to go. */
bool choose_devices(struct choose *c, const struct occupancy *o,
                    const struct optimize_input *in, const struct job_status *job,
                    choose_score *score, void *ctx, int *devices, double *total);
