/* sim_world.c - how the world goes on from event to event, see state.h */
#include "engine/sim/sim_engine_private.h"

#include "base/str.h"
#include "loop/cluster.h"
#include "model/queueing.h"

#include <math.h>
#include <string.h>

/* A change of speed asked for by the environment is looked at this often. */
#define LOOK_S 10.0

struct engine_event *sim_engine_tell(struct sim_engine *e, enum engine_event_kind kind,
                                     const char *text)
{
    struct occasion *o;

    vec_push(&e->news, (struct occasion){.event = {.kind = kind,
                                                   .at_s = e->now_s,
                                                   .steps = NAN,
                                                   .source = "simulated",
                                                   .confidence = 1}});
    o = &e->news.items[e->news.count - 1];
    str_copy(o->text, sizeof(o->text), text ? text : "");
    return &o->event;
}

static bool sits_on(const struct run *run, int device)
{
    for (int i = 0; i < run->device_count; i++)
        if (run->devices[i] == device)
            return true;
    return false;
}

/* Requests/s asked of the whole service now. */
static double asked_of(const struct sim_engine *e, const struct run *run)
{
    const struct run *first = run;
    double rate = 0, since_s;

    for (size_t i = 0; i < e->runs.count; i++) /* a replica has come later */
        if (e->runs.items[i]->request.job.id == run->service && e->runs.items[i]->known)
            first = e->runs.items[i];
    if (first->demand_steps == 0)
        return request_demand(&first->request, e->now_s);
    since_s = e->now_s - first->request.job.submitted_s;
    for (int i = 0; i < first->demand_steps; i++)
        if (since_s >= first->demand[i].after_s)
            rate = first->demand[i].rate;
    return rate;
}

static int active_replicas(const struct sim_engine *e, uint64_t service)
{
    int count = 0;

    for (size_t i = 0; i < e->runs.count; i++)
        count += e->runs.items[i]->state == RUN_ACTIVE && e->runs.items[i]->known &&
                 e->runs.items[i]->service == service;
    return count;
}

/* Requests are spread evenly over the replicas that run. */
static double demand_of(const struct sim_engine *e, const struct run *run)
{
    int replicas = active_replicas(e, run->service);

    if (run->request.job.kind != JOB_INFERENCE)
        return 0;
    /* None at all would mean: all it can do. */
    return fmax(asked_of(e, run), 1e-9) / (replicas > 1 ? replicas : 1);
}

/* What is active on a device, and at which rates. */
static int members_of(const struct sim_engine *e, int device, const struct run *besides,
                      struct run **runs, struct truth_member *members)
{
    int count = 0;

    for (size_t i = 0; i < e->runs.count && count < LOOP_MAX_SHARE; i++) {
        struct run *run = e->runs.items[i];

        if (run->state != RUN_ACTIVE && (!besides || run != besides))
            continue;
        if (!sits_on(run, device))
            continue;
        runs[count] = run;
        members[count++] = (struct truth_member){
            .request = &run->request,
            .nodes = cluster_nodes_spanned(e->cluster, run->devices, run->device_count),
            .demand = demand_of(e, run)};
    }
    return count;
}

static double own_speed(const struct sim_engine *e, const struct run *run)
{
    return e->now_s - run->began_s >= run->speed_after_s ? run->speed : 1;
}

static void book_run(struct sim_engine *e, struct run *run)
{
    if (run->state == RUN_ACTIVE && run->request.job.kind == JOB_TRAINING)
        run->steps += run->rate * (e->now_s - run->done_to);
    run->done_to = e->now_s;
}

static void book_device(struct sim_engine *e, int device)
{
    e->joules[device] += e->watts[device] * (e->now_s - e->joules_to[device]);
    e->joules_to[device] = e->now_s;
}

/* The slowest device sets the pace of a gang. */
static void set_rate(struct sim_engine *e, struct run *run)
{
    double rate = INFINITY;

    book_run(e, run);
    for (int i = 0; i < run->device_count; i++) {
        const struct device *d = &e->cluster->devices[run->devices[i]];
        struct run *runs[LOOP_MAX_SHARE];
        struct truth_member members[LOOP_MAX_SHARE];
        struct truth_outcome out;
        int count = members_of(e, run->devices[i], run, runs, members);

        truth_outcome(&e->truth, d->type, d->cap_watts, members, count, &out);
        for (int k = 0; k < count; k++)
            if (runs[k] == run)
                rate = fmin(rate, out.fits ? out.rate[k] : 0);
    }
    run->rate = isfinite(rate) ? rate * run->factor * own_speed(e, run) : 0;
}

static double device_watts(struct sim_engine *e, int device)
{
    const struct device *d = &e->cluster->devices[device];
    struct run *runs[LOOP_MAX_SHARE];
    struct truth_member members[LOOP_MAX_SHARE];
    struct truth_outcome out;
    int count;

    if (e->cluster->nodes[d->node].state == NODE_ASLEEP)
        return 0; /* the node's sleep draw is the host's */
    count = members_of(e, device, NULL, runs, members);
    truth_outcome(&e->truth, d->type, d->cap_watts, members, count, &out);
    return out.watts;
}

void sim_engine_touch(struct sim_engine *e, const int *devices, int count)
{
    for (int i = 0; i < count; i++) {
        book_device(e, devices[i]);
        e->watts[devices[i]] = device_watts(e, devices[i]);
        for (size_t r = 0; r < e->runs.count; r++)
            if (e->runs.items[r]->state == RUN_ACTIVE &&
                sits_on(e->runs.items[r], devices[i]))
                set_rate(e, e->runs.items[r]);
    }
}

static double finish_s(const struct run *run)
{
    double left = run->total - run->before - run->steps;

    if (run->request.job.kind == JOB_INFERENCE)
        return run->ends_s;
    if (left <= 0)
        return run->done_to;
    return run->rate > 0 ? run->done_to + left / run->rate : INFINITY;
}

/* A service that was stopped: whoever takes its requests still counts them. */
static bool is_missed(const struct sim_engine *e, const struct run *run)
{
    return run->state == RUN_STOPPED && run->known &&
           run->request.job.kind == JOB_INFERENCE &&
           run->service == run->request.job.id && active_replicas(e, run->service) == 0;
}

static double next_of(const struct sim_engine *e, const struct run *run)
{
    if (is_missed(e, run))
        return run->measured_s + e->options.measure_s;
    if (run->state == RUN_STARTING)
        return run->known ? run->ready_s : INFINITY;
    if (run->state != RUN_ACTIVE || !run->known)
        return INFINITY;
    return fmin(finish_s(run), run->measured_s + e->options.measure_s);
}

double sim_engine_next_s(const struct sim_engine *e)
{
    double next = e->power_s + e->options.power_s;

    for (size_t i = 0; i < e->runs.count; i++)
        next = fmin(next, next_of(e, e->runs.items[i]));
    for (int n = 0; n < e->cluster->node_count; n++)
        if (e->cluster->nodes[n].state == NODE_WAKING)
            next = fmin(next, e->cluster->nodes[n].since_s + e->cluster->nodes[n].wake_s);
    return next;
}

/* Up to now, before who runs there changes: each gets what was drawn in its time. */
static void tell_device(struct sim_engine *e, int device)
{
    double window_s = e->now_s - e->told_to[device];
    struct engine_event *event;

    book_device(e, device);
    if (!(window_s > 0))
        return;
    event = sim_engine_tell(e, ENGINE_POWER, NULL);
    event->device = device;
    event->watts = e->joules[device] / window_s;
    event->joules = e->joules[device];
    event->modelled = true;
    e->joules[device] = 0;
    e->told_to[device] = e->now_s;
}

void sim_engine_tell_power(struct sim_engine *e, const int *devices, int count)
{
    for (int i = 0; i < count; i++)
        tell_device(e, devices[i]);
}

/* ---- what happens ----------------------------------------------------------------- */

static void end_run(struct sim_engine *e, struct run *run, enum engine_end end,
                    const char *text)
{
    struct engine_event *event;

    book_run(e, run);
    sim_engine_tell_power(e, run->devices, run->device_count);
    run->state = RUN_ENDED;
    run->end = end;
    journal_end(e, run);
    sim_engine_touch(e, run->devices, run->device_count);
    event = sim_engine_tell(e, ENGINE_ENDED, text);
    event->job = run->request.job.id;
    event->attempt = run->attempt;
    event->end = end;
    event->exit_status = end == ENGINE_END_FAILED ? run->exit_status : 0;
    event->steps = run->steps;
}

static bool fits(struct sim_engine *e, struct run *run)
{
    for (int i = 0; i < run->device_count; i++) {
        struct run *runs[LOOP_MAX_SHARE];
        struct truth_member members[LOOP_MAX_SHARE];
        struct truth_outcome out;
        int count = members_of(e, run->devices[i], run, runs, members);

        truth_outcome(&e->truth, e->cluster->devices[run->devices[i]].type, 0, members,
                      count, &out);
        if (!out.fits)
            return false;
    }
    return true;
}

static double nodes_ready_s(const struct sim_engine *e, const struct run *run)
{
    double ready = run->ready_s;

    for (int i = 0; i < run->device_count; i++) {
        const struct node *n =
            &e->cluster->nodes[e->cluster->devices[run->devices[i]].node];

        if (n->state == NODE_WAKING)
            ready = fmax(ready, n->since_s + n->wake_s);
    }
    return ready;
}

static void begin_run(struct sim_engine *e, struct run *run)
{
    struct engine_event *event;

    run->ready_s = nodes_ready_s(e, run);
    if (run->ready_s > e->now_s)
        return;
    if (!fits(e, run)) {
        end_run(e, run, ENGINE_END_OUT_OF_MEMORY,
                "the simulated device has too little memory for all that runs there");
        return;
    }
    sim_engine_tell_power(e, run->devices, run->device_count);
    run->state = RUN_ACTIVE;
    run->began_s = run->done_to = run->measured_s = e->now_s;
    if (run->request.job.kind == JOB_INFERENCE && run->request.job.duration_s > 0 &&
        isinf(run->ends_s))
        run->ends_s = e->now_s + run->request.job.duration_s;
    sim_engine_touch(e, run->devices, run->device_count);
    event = sim_engine_tell(e, ENGINE_STARTED, NULL);
    event->job = run->request.job.id;
    event->attempt = run->attempt;
}

static void tell_demand(struct sim_engine *e, const struct run *run, double demand)
{
    struct engine_event *event = sim_engine_tell(e, ENGINE_DEMAND, NULL);

    event->job = run->request.job.id;
    event->attempt = run->attempt;
    event->measurement =
        (struct measurement){.job = event->job, .at_s = e->now_s, .rate = demand};
}

/* Answers of a service that is asked for more than it can do come ever later; a window
 * sees so much of that. */
static double latency_of(const struct sim_engine *e, const struct run *run, double demand,
                         double noise)
{
    double latency_s =
        queueing_latency_s(fmax(run->rate, 1e-6), run->device_count, demand) / noise;

    return fmin(latency_s, e->options.measure_s);
}

static void measure_run(struct sim_engine *e, struct run *run)
{
    struct engine_event *event;
    double noise = exp(e->options.noise_sd * rng_normal(&e->noise));
    bool service = run->request.job.kind == JOB_INFERENCE;
    double demand = demand_of(e, run);

    if (service || run->speed != 1)
        sim_engine_touch(e, run->devices, run->device_count);
    book_run(e, run);
    event = sim_engine_tell(e, ENGINE_MEASURED, NULL);
    event->job = run->request.job.id;
    event->attempt = run->attempt;
    event->steps = run->steps;
    event->measurement = (struct measurement){
        .job = run->request.job.id,
        .at_s = e->now_s,
        .window_s = e->now_s - run->measured_s,
        .rate = fmax(run->rate, 1e-6) * noise,
        .device_watts = fmax(e->watts[run->devices[0]], 1),
    };
    run->measured_s = e->now_s;
    if (!service)
        return;
    if (demand > 1e-6)
        event->latency_s = latency_of(e, run, demand, noise);
    tell_demand(e, run, demand > 1e-6 ? demand : 0);
}

/* Nobody serves it: all that is asked for. */
static void measure_missed(struct sim_engine *e, struct run *run)
{
    run->measured_s = e->now_s;
    tell_demand(e, run, asked_of(e, run));
}

static void happen_run(struct sim_engine *e, struct run *run)
{
    if (next_of(e, run) > e->now_s + 1e-9)
        return;
    if (run->state == RUN_STARTING)
        begin_run(e, run);
    else if (run->state == RUN_STOPPED)
        measure_missed(e, run);
    else if (finish_s(run) <= e->now_s + 1e-9)
        end_run(e, run, run->exit_status ? ENGINE_END_FAILED : ENGINE_END_DONE,
                run->exit_status ? "as its environment asked for" : NULL);
    else
        measure_run(e, run);
}

static void tell_power(struct sim_engine *e)
{
    for (int d = 0; d < e->cluster->device_count; d++)
        tell_device(e, d);
    e->power_s = e->now_s;
}

static void wake_nodes(struct sim_engine *e)
{
    for (int n = 0; n < e->cluster->node_count; n++) {
        struct node *node = &e->cluster->nodes[n];

        if (node->state != NODE_WAKING || node->since_s + node->wake_s > e->now_s + 1e-9)
            continue;
        node->state = NODE_AWAKE;
        node->since_s = e->now_s;
        journal_node(e, n);
        for (int i = 0; i < node->device_count; i++) {
            int device = node->first_device + i;

            sim_engine_touch(e, &device, 1);
        }
        sim_engine_tell(e, ENGINE_NODE_AWAKE, NULL)->node = n;
    }
}

void sim_engine_advance(struct sim_engine *e, double to_s)
{
    for (;;) {
        double next = sim_engine_next_s(e);

        if (e->news.count >= SIM_ENGINE_NEWS)
            return;
        if (next > to_s)
            break;
        e->now_s = fmax(e->now_s, next);
        wake_nodes(e);
        for (size_t i = 0; i < e->runs.count; i++)
            happen_run(e, e->runs.items[i]);
        if (e->power_s + e->options.power_s <= e->now_s + 1e-9)
            tell_power(e);
    }
    e->now_s = fmax(e->now_s, to_s);
}
