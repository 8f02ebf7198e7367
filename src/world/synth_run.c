/* synth_run.c - a roofline of one job on one card, see synth_private.h */
#include "world/synth_private.h"

#include <math.h>

#define LAUNCH_S        6e-6 /* a kernel, on a common host */
#define BANDWIDTH_REACH 0.7  /* share of the sheet's bandwidth that programs get */

/* Data and weights pass a device while it computes: the longer of the two, and a part of
 * the shorter. */
static double device_time(double compute_s, double memory_s)
{
    return fmax(compute_s, memory_s) + 0.3 * fmin(compute_s, memory_s);
}

static double step_time(double host_s, double device_s, double overlap)
{
    return fmax(host_s, device_s) + (1 - overlap) * fmin(host_s, device_s);
}

/* A ring over the devices passes the gradients nearly twice. */
static double exchange_s(const struct synth_job *job, int scale, double gbs)
{
    return 2.0 * (scale - 1) / scale * job->gradient_gb / gbs;
}

struct synth_cell synth_run(const struct synth_job *job, const struct synth_gpu *gpu,
                            const struct synth_world *world, int g, int scale,
                            double noise)
{
    double filled = job->sms_per_sample * job->batch;
    double occupancy = fmax(filled / (filled + 4 * gpu->sms * world->fill), 0.02);
    double work = job->flop_per_sample * job->batch;
    double compute_s =
        work / (gpu->flops * job->efficiency * sqrt(fmax(occupancy, 0.05)));
    double memory_s = work / (BANDWIDTH_REACH * job->flop_per_byte * gpu->bytes_per_s);
    double launch_s = LAUNCH_S * job->kernels / gpu->host;
    double device_s = fmax(device_time(compute_s, memory_s), 0.6 * launch_s) *
                      exp((double)job->quirk_time[g]);
    double host_s = world->host_share *
                        (job->host_s + job->host_s_per_sample * job->batch) / gpu->host +
                    0.5 * launch_s;
    double near_s = host_s + exchange_s(job, scale, gpu->node_gbs);
    double far_s = host_s + exchange_s(job, scale, gpu->spread_gbs);

    return (struct synth_cell){
        .device_s = device_s,
        .host_s = near_s,
        .step_s = step_time(near_s, device_s, job->overlap) * noise,
        .spread_step_s = step_time(far_s, device_s, job->overlap) * noise,
        .occupancy = occupancy,
        .memory_share = memory_s / (compute_s + memory_s),
        .kernel_log_s = log(device_s / job->kernels),
        .overlap = job->overlap,
        .suffer = exp((double)job->quirk_suffer[g]),
        .hurt = exp((double)job->quirk_hurt[g]),
        .memory_gb = job->memory_gb,
    };
}
