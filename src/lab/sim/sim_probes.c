/* sim_probes.c - demands move and probes report, once a tick; see state.h */
#include "lab/sim/sim_private.h"

#include <math.h>

/* A demand that moved less than this is left: recomputing a device costs, and no probe
 * would see the difference. */
#define DEMAND_STEP 0.02

/* A job whose rate is steady is reported ever less often, up to this share of its age in
 * its place: the tenth hour tells little that the ninth did not.  Real probes look at
 * every window, so a rate that has moved by so much is reported at the usual pace. */
#define MEASURE_AGE_SHARE 0.1
#define RATE_STEADY       0.03

/* Rates that drift are recomputed this often. */
#define DRIFT_STEP_S 1800.0

static void move_demand(struct sim *sim, struct sim_job *job)
{
    double demand = request_demand(job->request, sim->now_s);

    if (job->demand > 0 && fabs(demand / job->demand - 1) < DEMAND_STEP)
        return;
    sim_book_job(sim, job);
    job->demand = demand;
    sim_want_round(sim, sim->now_s + sim->options->round_s);
    loop_set_demand(sim->loop, job->request->job.id, demand, NULL);
    if (loop_falls_short(sim->loop, job->request->job.id, sim->now_s))
        sim_news(sim);
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

static void note_sight(struct sim *sim, double abs_log_error)
{
    recording_sight(sim->recording, sim->now_s, abs_log_error);
    quarters_sight(&sim->quarters, abs_log_error);
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
    long first_sights;

    first_sights = loop_score(sim->loop)->first_sights;
    /* Refused when a neighbour came or went within the window: the next one will do. */
    if (loop_measure(sim->loop, &m, NULL) < 0)
        return;
    if (loop_score(sim->loop)->first_sights > first_sights)
        note_sight(sim, loop_score(sim->loop)->first_newest);
    job->measured_s = sim->now_s;
    job->measured_rate = job->rate;
    if (loop_falls_short(sim->loop, m.job, sim->now_s))
        sim_news(sim);
    sim_want_round(sim, sim->now_s + sim->options->round_s);
}

/* When the next window of a running job ends. */
static double due_s(const struct sim *sim, const struct sim_job *job)
{
    double settled_s = fmax(job->ready_s, job->placed_s);
    bool steady = fabs(job->rate - job->measured_rate) <= RATE_STEADY * job->rate;
    double pause_s = sim->options->measure_s;

    if (steady)
        pause_s = fmax(pause_s, MEASURE_AGE_SHARE * (job->measured_s - settled_s));
    if (job->measured_s <= settled_s)
        return settled_s + sim->options->tick_s;
    return job->measured_s + pause_s;
}

static void report_progress(struct sim *sim, const struct sim_job *job)
{
    double ahead = job->rate * (sim->now_s - job->updated_s);

    loop_set_progress(sim->loop, job->request->job.id,
                      job->request->steps - fmax(0, job->left - ahead), NULL);
}

/* Rates drift in steps: devices are recomputed now and then, not all the time. */
static void let_rates_drift(struct sim *sim)
{
    if (!(sim->truth.drift > 0) || sim->now_s - sim->truth.drift_at_s < DRIFT_STEP_S)
        return;
    sim->truth.drift_at_s = sim->now_s;
    for (int d = 0; d < sim->setup->cluster->device_count; d++)
        sim_touch_device(sim, d);
}

double sim_tick(struct sim *sim)
{
    size_t count;
    const struct job_status *const *jobs = loop_jobs(sim->loop, &count);
    double next_s = INFINITY;

    let_rates_drift(sim);
    for (size_t i = 0; i < count; i++) {
        struct sim_job *job = sim_job_of(sim, jobs[i]->job.id);
        bool service = job->request->job.kind == JOB_INFERENCE;

        if (service)
            move_demand(sim, job);
        if (job->active && due_s(sim, job) <= sim->now_s) {
            report(sim, job);
            if (!service)
                report_progress(sim, job);
        }
        if (service)
            next_s = sim->now_s;
        else if (job->active)
            next_s = fmin(next_s, due_s(sim, job));
    }
    /* A window that was refused is tried again at the next tick, never at once. */
    return fmax(next_s, sim->now_s + sim->options->tick_s);
}
