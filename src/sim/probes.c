/* probes.c - demands move and probes report, once a tick; see state.h */
#include "sim/state.h"

#include <math.h>

/* A demand that moved less than this is left: recomputing a device costs, and no probe
 * would see the difference. */
#define DEMAND_STEP 0.02

static void move_demand(struct sim *sim, struct sim_job *job)
{
    double demand = workload_demand(job->request, sim->now_s);

    if (job->demand > 0 && fabs(demand / job->demand - 1) < DEMAND_STEP)
        return;
    sim_book_job(sim, job);
    job->demand = demand;
    loop_set_demand(sim->loop, job->request->job.id, demand, NULL);
    if (job->active)
        sim_touch_job_devices(sim, job);
}

static double device_watts(struct sim *sim, const struct sim_job *job)
{
    const struct device *device = &loop_cluster(sim->loop)->devices[job->devices[0]];
    struct truth_member members[LOOP_MAX_SHARE];
    struct truth_outcome outcome;
    int count = 0;

    for (int i = 0; i < device->job_count; i++) {
        const struct sim_job *other = sim_job_of(sim, device->jobs[i]);

        if (other->active)
            members[count++] = (struct truth_member){
                .request = other->request, .nodes = 1, .demand = other->demand};
    }
    truth_outcome(&sim->truth, device->type, device->cap_watts, members, count, &outcome);
    return outcome.watts;
}

static void report(struct sim *sim, struct sim_job *job)
{
    struct measurement m = {
        .job = job->request->job.id,
        .at_s = sim->now_s,
        .window_s = sim->options->tick_s,
        .rate = job->rate * exp(sim->options->noise_sd * rng_normal(&sim->noise)),
        .device_watts = device_watts(sim, job) * exp(0.02 * rng_normal(&sim->noise)),
    };

    /* Refused when a neighbour came or went within the window: the next one will do. */
    if (loop_measure(sim->loop, &m, NULL) == 0)
        job->measured_s = sim->now_s;
}

static bool due(const struct sim *sim, const struct sim_job *job)
{
    double settled_s = fmax(job->ready_s, job->placed_s);

    if (!job->active || sim->now_s - settled_s < sim->options->tick_s)
        return false;
    return job->measured_s <= settled_s ||
           sim->now_s - job->measured_s >= sim->options->measure_s;
}

void sim_tick(struct sim *sim)
{
    size_t count;
    const struct job_status *const *jobs = loop_jobs(sim->loop, &count);

    for (size_t i = 0; i < count; i++) {
        struct sim_job *job = sim_job_of(sim, jobs[i]->job.id);

        if (job->request->job.kind == JOB_INFERENCE)
            move_demand(sim, job);
        if (due(sim, job))
            report(sim, job);
        if (job->request->job.kind == JOB_TRAINING && job->active) {
            double ahead = job->rate * (sim->now_s - job->updated_s);

            loop_set_progress(sim->loop, jobs[i]->job.id,
                              job->request->steps - fmax(0, job->left - ahead), NULL);
        }
    }
}
