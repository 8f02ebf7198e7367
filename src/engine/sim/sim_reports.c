/* sim_reports.c - what probes and meters tell of the simulated world
 *
 * sim_world.c says when a job begins, changes its rate or ends, and hands on the events
 * that are due here; what comes out are MEASURED, DEMAND and POWER events for the daemon
 * or the simulation.  fill_measurement() alone decides what a probe sees. */
#include "engine/sim/sim_engine_private.h"

#include <math.h>

/* A demand that moved less than this is left: recomputing a device costs, and no probe
 * would see the difference. */
#define DEMAND_STEP 0.02
/* Of a service nobody asks anything of: no demand at all would mean all it can do. */
#define DEMAND_NONE    1e-9
#define DEMAND_COUNTED 1e-3 /* requests: fewer are none */

/* A job whose rate is steady is reported ever less often, up to this share of its age in
 * its place: the tenth hour tells little that the ninth did not.  Real probes look at
 * every window, so a rate that has moved by so much is reported at the usual pace. */
#define MEASURE_AGE_SHARE 0.1
#define RATE_STEADY       0.03

#define WATTS_NOISE_SD    0.02

/* Of what a probe sees of a service, in the log; and the busy share of one that batches.
 */
#define BUSY_NOISE_SD   0.03
#define HELD_NOISE_SD   0.1
#define MEDIAN_NOISE_SD 0.05
#define LATE_NOISE_SD   0.1
#define BUSY_BATCHING   0.97

static double aligned(const struct sim_engine *e, double at_s)
{
    double step_s = e->options.align_s;

    return step_s > 0 ? ceil(at_s / step_s - 1e-9) * step_s : at_s;
}

/* ---- demand ----------------------------------------------------------------------- */

double sim_reports_asked(const struct sim_engine *e, const struct run *run)
{
    const struct run *first = sim_engine_find(e, run->service);

    if (!first || !first->known) /* a replica has come later */
        first = run;
    return request_demand(&first->request, e->now_s);
}

static int active_replicas(const struct sim_engine *e, uint64_t service)
{
    const struct run *first = sim_engine_find(e, service);
    int count = first && first->state == RUN_ACTIVE;

    vec_each (uint64_t, job, &e->replicas) {
        const struct run *run = sim_engine_find(e, *job);

        count += run->state == RUN_ACTIVE && run->service == service;
    }
    return count;
}

/* Requests that come at random, counted: so many are expected. */
static double counted(const struct sim_engine *e, struct run *run, double expected)
{
    if (!(e->options.noise_sd > 0))
        return expected > DEMAND_COUNTED ? expected : 0;
    return fmax(0, round(expected + sqrt(expected) * rng_normal(&run->noise)));
}

/* So many were counted since it was last told. */
static void tell_demand(struct sim_engine *e, struct run *run, double demand)
{
    struct engine_event *event = sim_engine_tell(e, ENGINE_DEMAND, run, NULL);
    double seconds = e->options.demand_s;

    if (run->demand_told_s > 0)
        seconds = fmax(e->now_s - run->demand_told_s, 1);
    run->demand_told_s = e->now_s;
    event->measurement =
        (struct measurement){.job = event->job,
                             .at_s = e->now_s,
                             .window_s = seconds,
                             .rate = counted(e, run, demand * seconds) / seconds};
}

/* Requests are spread evenly over the replicas that run.  True: it has moved. */
static bool move_demand(struct sim_engine *e, struct run *run)
{
    int replicas = active_replicas(e, run->service);
    double demand =
        fmax(sim_reports_asked(e, run) / (replicas > 1 ? replicas : 1), DEMAND_NONE);

    if (run->demand > 0 && fabs(demand / run->demand - 1) < DEMAND_STEP)
        return false;
    sim_world_settle(e, run);
    run->demand = demand;
    if (run->state == RUN_ACTIVE) {
        sim_world_touch(e, run);
        sim_reports_rate(e, run);
    }
    return true;
}

/* Requests for a service that was stopped are still counted by whoever takes them. */
static bool is_missed(const struct sim_engine *e, const struct run *run)
{
    return run->state == RUN_STOPPED && run->service == run->request.job.id &&
           active_replicas(e, run->service) == 0;
}

void sim_reports_demand(struct sim_engine *e, struct run *run)
{
    bool moved = move_demand(e, run);

    /* How many replicas there are is decided by every report, as real probes make them.
     */
    if ((moved || !e->options.thin || request_scales(&run->request)) &&
        (run->state == RUN_ACTIVE || is_missed(e, run)))
        tell_demand(e, run, run->demand);
    sim_world_at(e, run, EVENT_DEMAND, aligned(e, e->now_s + e->options.demand_s));
}

void sim_reports_replicas(struct sim_engine *e, const struct run *run)
{
    struct run *first = sim_engine_find(e, run->service);

    if (first && first->state == RUN_ACTIVE)
        move_demand(e, first);
    vec_each (uint64_t, job, &e->replicas) {
        struct run *other = sim_engine_find(e, *job);

        if (other->state == RUN_ACTIVE && other->service == run->service)
            move_demand(e, other);
    }
}

/* ---- measurements ----------------------------------------------------------------- */

static double changed_s(const struct sim_engine *e, const struct run *run)
{
    double newest_s = -INFINITY;

    for (int i = 0; i < run->device_count; i++)
        newest_s = fmax(newest_s, e->devices[run->devices[i]].changed_s);
    return newest_s;
}

/* What a probe of it counts. */
static double done_rate(const struct run *run)
{
    return run->request.job.kind == JOB_INFERENCE ? fmin(run->rate, run->demand)
                                                  : run->rate;
}

/* A service that has too many requests, or answers too late: its probe sees it at once.
 */
static bool is_overloaded(const struct run *run)
{
    double limit_s = run->request.job.need.latency_s;

    if (run->request.job.kind != JOB_INFERENCE)
        return false;
    return run->demand > run->rate ||
           (limit_s > 0 &&
            request_latency(&run->request, run->rate, run->demand).late_s > limit_s);
}

/* When the next window of a running job ends. */
static double due_s(const struct sim_engine *e, const struct run *run)
{
    double rate = done_rate(run);
    bool steady = fabs(rate - run->measured_rate) <= RATE_STEADY * rate;
    double pause_s = e->options.measure_s, next_s;

    if (!e->options.thin)
        return aligned(e, run->measured_s + pause_s);
    if (is_overloaded(run))
        pause_s = e->options.window_s;
    else if (steady)
        pause_s = fmax(pause_s, MEASURE_AGE_SHARE * (run->measured_s - run->began_s));
    next_s = run->measured_s <= run->began_s ? run->began_s + e->options.window_s
                                             : run->measured_s + pause_s;
    return aligned(e, fmax(next_s, changed_s(e, run) + e->options.window_s));
}

static void plan_measure(struct sim_engine *e, struct run *run)
{
    run->measure_at_s = fmax(due_s(e, run), aligned(e, e->now_s));
    sim_world_at(e, run, EVENT_MEASURE, run->measure_at_s);
}

static double noisy(const struct sim_engine *e, struct run *run, double value, double sd)
{
    return e->options.noise_sd > 0 ? value * exp(sd * rng_normal(&run->noise)) : value;
}

/* Devices of a server that batches work for it all the time. */
static double busy_share(const struct sim_engine *e, struct run *run, double answered)
{
    double share = request_batches(&run->request) ? BUSY_BATCHING : answered / run->rate;

    return fmin(1, noisy(e, run, share, BUSY_NOISE_SD));
}

/* What comes out of a service, how late, and how busy that kept its devices: what it
 * could do, nobody sees.  Answers of one that is asked for more come ever later; a window
 * sees so much of that. */
static void see_service(struct sim_engine *e, struct run *run, struct measurement *m)
{
    double rate = fmax(run->rate, 1e-6), most_s = e->options.measure_s;
    double asked = counted(e, run, run->demand * m->window_s) / m->window_s;
    struct request_latency late = request_latency(&run->request, rate, run->demand);
    double waiting = fmax(0, run->demand - rate) * m->window_s / 2 + run->device_count;

    m->rate = fmin(asked, rate);
    m->held = noisy(e, run, isfinite(late.held) ? late.held : waiting, HELD_NOISE_SD);
    if (!(m->rate > 0))
        return;
    m->busy = busy_share(e, run, m->rate);
    m->median_s = noisy(e, run, fmin(late.median_s, most_s / 2), MEDIAN_NOISE_SD);
    m->latency_s = noisy(e, run, fmin(late.late_s, most_s), LATE_NOISE_SD);
}

/* All a probe sees of a job in the window that ends now. */
static void fill_measurement(struct sim_engine *e, struct run *run,
                             struct engine_event *event)
{
    double window_s = e->now_s - run->measured_s;
    struct measurement *m = &event->measurement;

    event->steps = run->steps;
    *m = (struct measurement){
        .job = run->request.job.id,
        .at_s = e->now_s,
        .window_s = e->options.thin ? fmin(window_s, e->options.window_s) : window_s,
        .rate = noisy(e, run, fmax(run->rate, 1e-6), e->options.noise_sd),
    };
    m->device_watts =
        fmax(noisy(e, run, e->devices[run->devices[0]].watts, WATTS_NOISE_SD), 1);
    if (run->request.job.kind == JOB_INFERENCE)
        see_service(e, run, m);
}

void sim_reports_measure(struct sim_engine *e, struct run *run)
{
    struct engine_event *event;

    if (due_s(e, run) > e->now_s + 1e-6) { /* a neighbour has come or gone meanwhile */
        plan_measure(e, run);
        return;
    }
    sim_world_settle(e, run);
    event = sim_engine_tell(e, ENGINE_MEASURED, run, NULL);
    fill_measurement(e, run, event);
    run->measured_s = e->now_s;
    run->measured_rate = done_rate(run);
    plan_measure(e, run);
}

void sim_reports_rate(struct sim_engine *e, struct run *run)
{
    if (e->options.thin && run->state == RUN_ACTIVE && due_s(e, run) < run->measure_at_s)
        plan_measure(e, run);
}

void sim_reports_begin(struct sim_engine *e, struct run *run)
{
    run->measured_s = e->now_s;
    run->measured_rate = 0;
    if (run->request.job.kind == JOB_INFERENCE) {
        sim_reports_replicas(e, run);
        if (run->stamp[EVENT_DEMAND] == 0)
            sim_world_at(e, run, EVENT_DEMAND,
                         aligned(e, e->now_s + e->options.demand_s));
    }
    plan_measure(e, run);
}

void sim_reports_end(struct sim_engine *e, struct run *run)
{
    if (run->request.job.kind != JOB_INFERENCE)
        return;
    sim_reports_replicas(e, run);
    if (run->state == RUN_STOPPED && run->known)
        sim_world_at(e, run, EVENT_DEMAND, aligned(e, e->now_s + e->options.demand_s));
}

/* ---- power ------------------------------------------------------------------------ */

static void book(const struct sim_engine *e, struct sim_device *d)
{
    d->joules += d->watts * (e->now_s - d->joules_to);
    d->joules_to = e->now_s;
}

void sim_reports_watts(struct sim_engine *e, int device, double watts)
{
    book(e, &e->devices[device]);
    e->devices[device].watts = watts;
}

/* Up to now, before who runs there changes: each gets what was drawn in its time. */
void sim_reports_power(struct sim_engine *e, const int *devices, int count)
{
    for (int i = 0; i < count && e->options.power_s > 0; i++) {
        struct sim_device *d = &e->devices[devices[i]];
        double window_s = e->now_s - d->told_to;
        struct engine_event *event;

        book(e, d);
        if (!(window_s > 0))
            continue;
        event = sim_engine_tell(e, ENGINE_POWER, NULL, NULL);
        event->device = devices[i];
        event->watts = d->joules / window_s;
        event->joules = d->joules;
        event->modelled = true;
        d->joules = 0;
        d->told_to = e->now_s;
    }
}
