/* sim_devices.c - what runs on the simulated devices, at which rate and draw; see state.h
 */
#include "lab/sim/sim_private.h"

#include "loop/cluster.h"

#include <math.h>

/* The rate the job must have now, as the protocol judges it: the demand itself for a
 * service (no headroom), the requirement for training. */
static double judged_rate(const struct sim_job *job)
{
    const struct requirement *need = &job->request->job.need;

    if (need->kind == NEED_RATE)
        return need->rate;
    return need->kind == NEED_SERVICE ? job->demand : 0;
}

/* Waiting within the grace time is not judged; afterwards it is time without the rate. */
static double judged_seconds(const struct sim *sim, const struct sim_job *job)
{
    double grace_ends_s = job->request->job.submitted_s + sim->options->settings.grace_s;

    if (job->active)
        return sim->now_s - job->updated_s;
    return fmax(0, sim->now_s - fmax(job->updated_s, grace_ends_s));
}

void sim_book_job(struct sim *sim, struct sim_job *job)
{
    double seconds = sim->now_s - job->updated_s;
    double judged_s = judged_seconds(sim, job);
    double rate = job->active ? job->rate : 0;
    bool met = rate >= judged_rate(job) * (1 - 1e-6);
    double done = rate * seconds;

    if (job->request->job.kind == JOB_INFERENCE)
        done = fmin(rate, job->demand) * seconds;
    else
        done = fmin(done, job->left);
    job->left -= done;
    job->result.counted_s += judged_s;
    job->result.violated_s += met ? 0 : judged_s;
    done = done / job->request->reference_rate / 3600 * job->request->job.devices;
    job->work_h += done;
    job->useful_h += met ? done : 0;
    job->updated_s = sim->now_s;
}

static void schedule_finish(struct sim *sim, struct sim_job *job)
{
    double at_s;

    job->stamp++;
    if (!job->active)
        return;
    if (job->request->job.kind == JOB_INFERENCE)
        at_s = job->ends_s;
    else if (job->rate > 0)
        at_s = sim->now_s + job->left / job->rate;
    else
        return;
    events_push(sim->events, (struct event){.at_s = fmax(at_s, sim->now_s),
                                            .kind = EVENT_FINISH,
                                            .subject = (int)(job - sim->jobs),
                                            .stamp = job->stamp});
}

static int active_members(struct sim *sim, const struct device *device,
                          struct truth_member *members, struct sim_job **jobs)
{
    const struct cluster *cluster = loop_cluster(sim->loop);
    int count = 0;

    for (int i = 0; i < device->job_count; i++) {
        struct sim_job *job = sim_job_of(sim, device->jobs[i]);

        if (!job->active)
            continue;
        jobs[count] = job;
        members[count++] = (struct truth_member){
            .request = job->request,
            .nodes = job->device_count > 1
                         ? cluster_nodes_spanned(cluster, job->devices, job->device_count)
                         : 1,
            .demand = job->demand,
        };
    }
    return count;
}

/* The slowest of a job's devices sets its rate. */
static double rate_over_devices(struct sim *sim, const struct sim_job *job)
{
    const struct cluster *cluster = loop_cluster(sim->loop);
    double least = INFINITY;

    for (int d = 0; d < job->device_count; d++) {
        const struct device *device = &cluster->devices[job->devices[d]];
        struct truth_member members[LOOP_MAX_SHARE];
        struct sim_job *jobs[LOOP_MAX_SHARE];
        int count = active_members(sim, device, members, jobs);
        struct truth_outcome outcome;

        truth_outcome(&sim->truth, device->type, device->cap_watts, members, count,
                      &outcome);
        for (int i = 0; i < count; i++)
            if (jobs[i] == job)
                least = fmin(least, outcome.rate[i]);
    }
    return isfinite(least) ? least : 0;
}

void sim_touch_device(struct sim *sim, int d)
{
    const struct device *device = &loop_cluster(sim->loop)->devices[d];
    struct truth_member members[LOOP_MAX_SHARE];
    struct sim_job *jobs[LOOP_MAX_SHARE];
    int count = active_members(sim, device, members, jobs);
    struct truth_outcome outcome;

    truth_outcome(&sim->truth, device->type, device->cap_watts, members, count, &outcome);
    meter_device(sim->meter, d, outcome.watts, sim->now_s);
    for (int i = 0; i < count; i++) {
        double rate = jobs[i]->device_count == 1 ? outcome.rate[i]
                                                 : rate_over_devices(sim, jobs[i]);

        sim_book_job(sim, jobs[i]);
        /* A rate that stays leaves the finish event standing: events are the cost here.
         */
        if (rate == jobs[i]->rate && jobs[i]->stamp > 0)
            continue;
        jobs[i]->rate = rate;
        schedule_finish(sim, jobs[i]);
    }
}

void sim_touch_job_devices(struct sim *sim, const struct sim_job *job)
{
    for (int i = 0; i < job->device_count; i++)
        sim_touch_device(sim, job->devices[i]);
}

void sim_touch_node(struct sim *sim, int n)
{
    meter_node(sim->meter, n, sim->now_s);
    recording_node(sim->recording, n, loop_cluster(sim->loop)->nodes[n].state,
                   sim->now_s);
}
