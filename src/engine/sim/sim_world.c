/* sim_world.c - how the simulated world goes on from event to event
 *
 * The operations of sim_engine.c seat and unseat jobs here and let the world advance;
 * here the events of the heap happen, rates and watts of the devices they touch follow
 * from truth.h, and what a daemon or a simulation hears of it goes to the news. */
#include "engine/sim/sim_engine_private.h"

#include "loop/cluster.h"

#include <math.h>
#include <string.h>

/* Rates that drift are recomputed this often. */
#define DRIFT_STEP_S 1800.0

/* ---- the future ------------------------------------------------------------------- */

static void push(struct sim_engine *e, enum event_kind kind, uint64_t subject,
                 double at_s)
{
    events_push(&e->events,
                (struct event){.at_s = at_s, .kind = kind, .subject = subject});
}

void sim_world_at(struct sim_engine *e, struct run *run, enum event_kind kind,
                  double at_s)
{
    run->stamp[kind] = ++e->stamps;
    events_push(&e->events, (struct event){.at_s = fmax(at_s, e->now_s),
                                           .kind = kind,
                                           .subject = run->request.job.id,
                                           .stamp = run->stamp[kind]});
}

static bool is_stale(const struct sim_engine *e, const struct event *event)
{
    const struct run *run;

    if (event->kind == EVENT_AWAKE || event->kind == EVENT_ASLEEP)
        return event->stamp != e->awake_stamp[event->subject];
    if (event->kind < EVENT_FINISH || event->kind > EVENT_MEASURE)
        return false;
    run = sim_engine_find(e, event->subject);
    return !run || run->stamp[event->kind] != event->stamp;
}

double sim_world_next_s(struct sim_engine *e)
{
    struct event stale;

    while (e->events.heap.count > 0) {
        if (!is_stale(e, &e->events.heap.items[0]))
            return e->events.heap.items[0].at_s;
        events_pop(&e->events, &stale);
    }
    return INFINITY;
}

/* ---- rates and watts -------------------------------------------------------------- */

double sim_world_done(const struct run *run, double at_s)
{
    double seconds = run->state == RUN_ACTIVE ? at_s - run->done_to : 0;

    if (run->request.job.kind == JOB_INFERENCE)
        return run->served + fmin(run->rate, run->demand) * seconds;
    return fmin(run->before + run->steps + run->rate * seconds,
                fmax(run->total, run->before + run->steps));
}

void sim_world_settle(struct sim_engine *e, struct run *run)
{
    double done = sim_world_done(run, e->now_s);

    if (e->options.watch)
        e->options.watch->job(e->options.watch->ctx, run->request.job.id);
    if (run->request.job.kind == JOB_INFERENCE)
        run->served = done;
    else
        run->steps = done - run->before;
    run->done_to = e->now_s;
}

static int nodes_of(const struct sim_engine *e, const struct run *run)
{
    return run->device_count > 1
               ? cluster_nodes_spanned(e->cluster, run->devices, run->device_count)
               : 1;
}

/* What runs on a device, and `besides`, which sits there and may be about to. */
static int members_of(const struct sim_engine *e, int device, const struct run *besides,
                      struct run **runs, struct truth_member *members)
{
    const struct device *d = &e->cluster->devices[device];
    int count = 0;

    for (int i = 0; i < d->job_count; i++) {
        struct run *run = sim_engine_find(e, d->jobs[i]);

        if (!run || (run->state != RUN_ACTIVE && run != besides))
            continue;
        runs[count] = run;
        members[count++] = (struct truth_member){
            .request = &run->request,
            .nodes = nodes_of(e, run),
            .demand = run->demand / run->factor}; /* as its class would be asked */
    }
    return count;
}

/* The slowest of a job's devices sets its rate. */
static double rate_over_devices(const struct sim_engine *e, const struct run *run)
{
    double least = INFINITY;

    for (int d = 0; d < run->device_count; d++) {
        const struct device *device = &e->cluster->devices[run->devices[d]];
        struct run *runs[LOOP_MAX_SHARE];
        struct truth_member members[LOOP_MAX_SHARE];
        int count = members_of(e, run->devices[d], NULL, runs, members);
        struct truth_outcome out;

        truth_outcome(&e->truth, device->type, device->cap_watts, members, count, &out);
        for (int i = 0; i < count; i++)
            if (runs[i] == run)
                least = fmin(least, out.rate[i]);
    }
    return isfinite(least) ? least : 0;
}

static double own_speed(const struct sim_engine *e, const struct run *run)
{
    return e->now_s - run->began_s >= run->speed_after_s - 1e-9 ? run->speed : 1;
}

static void plan_finish(struct sim_engine *e, struct run *run)
{
    double left = run->total - run->before - run->steps;

    if (run->request.job.kind == JOB_INFERENCE) {
        if (run->stamp[EVENT_FINISH] == 0 && isfinite(run->ends_s))
            sim_world_at(e, run, EVENT_FINISH, run->ends_s);
    } else if (left <= 0 || run->rate > 0) {
        sim_world_at(e, run, EVENT_FINISH,
                     left <= 0 ? e->now_s : e->now_s + left / run->rate);
    } else {
        run->stamp[EVENT_FINISH] = 0;
    }
}

/* A rate that stays leaves the finish event standing: events are the cost here. */
static void set_rate(struct sim_engine *e, struct run *run, double rate)
{
    rate *= run->factor * own_speed(e, run);
    if (rate == run->rate && run->stamp[EVENT_FINISH] > 0)
        return;
    sim_world_settle(e, run);
    run->rate = rate;
    plan_finish(e, run);
    sim_reports_rate(e, run);
}

static bool has_power(const struct sim_engine *e, int device)
{
    enum node_state state = e->cluster->nodes[e->cluster->devices[device].node].state;

    return state == NODE_AWAKE || state == NODE_WAKING;
}

static void watch_device(struct sim_engine *e, int device)
{
    if (e->options.watch)
        e->options.watch->device(e->options.watch->ctx, device, e->devices[device].watts);
}

/* Draw and rates of all that runs there.  A node asleep draws what is its own, no
 * device's. */
static void touch_device(struct sim_engine *e, int device)
{
    const struct device *d = &e->cluster->devices[device];
    struct run *runs[LOOP_MAX_SHARE];
    struct truth_member members[LOOP_MAX_SHARE];
    int count = members_of(e, device, NULL, runs, members);
    struct truth_outcome out;

    truth_outcome(&e->truth, d->type, d->cap_watts, members, count, &out);
    sim_reports_watts(e, device, has_power(e, device) ? out.watts : 0);
    watch_device(e, device);
    for (int i = 0; i < count; i++)
        set_rate(e, runs[i],
                 runs[i]->device_count == 1 ? out.rate[i]
                                            : rate_over_devices(e, runs[i]));
}

void sim_world_touch(struct sim_engine *e, const struct run *run)
{
    for (int i = 0; i < run->device_count; i++)
        touch_device(e, run->devices[i]);
}

/* ---- jobs come and go ------------------------------------------------------------- */

void sim_world_seat(struct sim_engine *e, struct run *run, const int *devices, int count)
{
    sim_world_settle(e, run);
    run->state = RUN_STARTING;
    run->rate = 0;
    run->device_count = count;
    memcpy(run->devices, devices, (size_t)count * sizeof(int));
    rng_init(&run->noise, rng_mix(rng_mix(e->options.seed, run->request.job.id),
                                  (uint64_t)run->attempt));
    for (int i = 0; i < count; i++) {
        cluster_seat(e->cluster, devices[i], run->request.job.id);
        e->devices[devices[i]].changed_s = e->now_s;
        watch_device(e, devices[i]);
    }
    sim_world_at(e, run, EVENT_READY, run->ready_s);
}

static void leave(struct sim_engine *e, const struct run *run)
{
    for (int i = 0; i < run->device_count; i++) {
        cluster_leave(e->cluster, run->devices[i], run->request.job.id, e->now_s);
        e->devices[run->devices[i]].changed_s = e->now_s;
    }
}

void sim_world_end(struct sim_engine *e, struct run *run, enum engine_end end,
                   enum run_state state, const char *text)
{
    sim_world_settle(e, run);
    sim_reports_power(e, run->devices, run->device_count);
    leave(e, run);
    run->state = state;
    run->end = end;
    run->rate = 0;
    memset(run->stamp, 0, sizeof(run->stamp));
    journal_end(e, run);
    sim_world_touch(e, run);
    sim_reports_end(e, run);
    sim_engine_tell_end(e, run, text);
}

/* Does what runs on each of its devices leave room for it too?  A gang may run on one
 * node and not spread over several. */
static bool fits(const struct sim_engine *e, const struct run *run)
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
    double ready_s = run->ready_s;

    for (int i = 0; i < run->device_count; i++) {
        const struct node *n =
            &e->cluster->nodes[e->cluster->devices[run->devices[i]].node];

        if (n->state == NODE_WAKING)
            ready_s = fmax(ready_s, n->since_s + n->wake_s);
    }
    return ready_s;
}

static bool nodes_are_up(const struct sim_engine *e, const struct run *run)
{
    for (int i = 0; i < run->device_count; i++)
        if (!has_power(e, run->devices[i]))
            return false;
    return true;
}

static void begin(struct sim_engine *e, struct run *run)
{
    run->ready_s = nodes_ready_s(e, run);
    if (run->ready_s > e->now_s) {
        sim_world_at(e, run, EVENT_READY, run->ready_s);
        return;
    }
    if (!nodes_are_up(e, run)) {
        sim_world_end(e, run, ENGINE_END_LOST, RUN_STOPPED, "its node is not awake");
        return;
    }
    if (!fits(e, run)) {
        sim_world_end(
            e, run, ENGINE_END_OUT_OF_MEMORY, RUN_STOPPED,
            "the simulated device has too little memory for all that runs there");
        return;
    }
    sim_world_settle(e, run);
    sim_reports_power(e, run->devices, run->device_count);
    run->state = RUN_ACTIVE;
    run->began_s = e->now_s;
    run->stamp[EVENT_READY] = 0;
    if (run->request.job.kind == JOB_INFERENCE && run->request.serve_s > 0 &&
        isinf(run->ends_s))
        run->ends_s = e->now_s + run->request.serve_s;
    for (int i = 0; i < run->device_count; i++)
        e->devices[run->devices[i]].changed_s = e->now_s;
    sim_reports_begin(e, run);
    sim_world_touch(e, run);
    if (run->speed != 1 && run->speed_after_s > 0)
        sim_world_at(e, run, EVENT_SPEED, e->now_s + run->speed_after_s);
    sim_engine_tell(e, ENGINE_STARTED, run, NULL);
}

/* ---- caps and nodes --------------------------------------------------------------- */

void sim_world_cap(struct sim_engine *e, int device, double watts)
{
    e->cluster->devices[device].cap_watts = watts;
    e->devices[device].changed_s = e->now_s;
    journal_note(e, JOURNAL_CAP, device, watts);
    touch_device(e, device);
}

static void node_later(struct sim_engine *e, int n, enum event_kind kind, double in_s)
{
    e->awake_stamp[n] = ++e->stamps;
    events_push(&e->events, (struct event){.at_s = e->now_s + in_s,
                                           .kind = kind,
                                           .subject = (uint64_t)n,
                                           .stamp = e->awake_stamp[n]});
}

void sim_world_node(struct sim_engine *e, int n, enum node_state state)
{
    struct node *node = &e->cluster->nodes[n];

    node->state = state;
    node->since_s = e->now_s;
    e->awake_stamp[n] = 0;
    journal_note(e, JOURNAL_NODE, n, state == NODE_ASLEEP || state == NODE_FALLING);
    for (int i = 0; i < node->device_count; i++)
        touch_device(e, node->first_device + i);
    if (e->options.watch)
        e->options.watch->node(e->options.watch->ctx, n);
    if (state == NODE_WAKING)
        node_later(e, n, EVENT_AWAKE, node->wake_s);
    if (state == NODE_FALLING)
        node_later(e, n, EVENT_ASLEEP, e->options.sleep_s);
}

/* Work since the last checkpoint is done again, and counts once. */
static void lose_work(struct sim_engine *e, struct run *run)
{
    double since_s = e->now_s - run->began_s, lost;

    if (run->state != RUN_ACTIVE || run->request.job.kind != JOB_TRAINING)
        return;
    sim_world_settle(e, run);
    if (e->options.checkpoint_s > 0)
        since_s = fmod(since_s, e->options.checkpoint_s);
    lost = fmin(run->rate * since_s, run->before + run->steps);
    run->began_s = e->now_s; /* a gang on this node is met again */
    run->steps -= lost;
    if (run->steps >= 0)
        return;
    run->before += run->steps;
    run->steps = 0;
}

static void plan_failure(struct sim_engine *e, int node)
{
    if (e->options.node_mtbf_s > 0)
        push(e, EVENT_NODE_FAILS, (uint64_t)node,
             e->now_s + rng_exponential(&e->failures, e->options.node_mtbf_s));
}

static void node_fails(struct sim_engine *e, int n)
{
    const struct node *node = &e->cluster->nodes[n];
    const struct device *first = &e->cluster->devices[node->first_device];
    const struct device *last = first + node->device_count;
    vec_of(struct run *) victims = {0};

    for (const struct device *d = first; d < last; d++)
        for (int i = 0; i < d->job_count; i++)
            vec_push(&victims, sim_engine_find(e, d->jobs[i]));
    for (size_t i = 0; i < victims.count;
         i++) /* all, before one's end speeds up others */
        lose_work(e, victims.items[i]);
    for (size_t i = 0; i < victims.count; i++)
        if (victims.items[i]->state != RUN_STOPPED) /* a gang is met more than once */
            sim_world_end(e, victims.items[i], ENGINE_END_LOST, RUN_STOPPED,
                          "its node has failed");
    vec_free(&victims);
    sim_world_node(e, n, NODE_DOWN);
    sim_engine_tell(e, ENGINE_NODE_DOWN, NULL, "it has failed")->node = n;
    push(e, EVENT_NODE_UP, (uint64_t)n, e->now_s + e->options.repair_s);
}

static void node_is_up(struct sim_engine *e, int n, enum engine_event_kind told)
{
    sim_world_node(e, n, NODE_AWAKE);
    sim_engine_tell(e, told, NULL, NULL)->node = n;
}

/* ---- events ----------------------------------------------------------------------- */

static void let_rates_drift(struct sim_engine *e)
{
    e->truth.drift_at_s = e->now_s;
    for (int d = 0; d < e->cluster->device_count; d++)
        touch_device(e, d);
    push(e, EVENT_DRIFT, 0, e->now_s + DRIFT_STEP_S);
}

static void tell_power(struct sim_engine *e)
{
    for (int d = 0; d < e->cluster->device_count; d++)
        sim_reports_power(e, &d, 1);
    push(e, EVENT_POWER, 0, e->now_s + e->options.power_s);
}

static void happen_run(struct sim_engine *e, struct run *run, enum event_kind kind)
{
    switch (kind) {
    case EVENT_READY:
        begin(e, run);
        break;
    case EVENT_FINISH:
        sim_world_end(e, run, run->exit_status ? ENGINE_END_FAILED : ENGINE_END_DONE,
                      RUN_ENDED,
                      run->exit_status ? "as its environment asked for" : NULL);
        break;
    case EVENT_LEFT:
        sim_world_end(e, run, ENGINE_END_STOPPED, run->leave_to, NULL);
        break;
    case EVENT_MEASURE:
        sim_reports_measure(e, run);
        break;
    case EVENT_DEMAND:
        sim_reports_demand(e, run);
        break;
    default: /* EVENT_SPEED */
        sim_world_touch(e, run);
    }
}

static void happen(struct sim_engine *e, const struct event *event)
{
    int n = (int)event->subject;

    switch (event->kind) {
    case EVENT_AWAKE:
        node_is_up(e, n, ENGINE_NODE_AWAKE);
        break;
    case EVENT_ASLEEP:
        sim_world_node(e, n, NODE_ASLEEP);
        sim_engine_tell(e, ENGINE_NODE_ASLEEP, NULL, NULL)->node = n;
        break;
    case EVENT_NODE_FAILS:
        if (e->cluster->nodes[n].state == NODE_AWAKE)
            node_fails(e, n);
        plan_failure(e, n);
        break;
    case EVENT_NODE_UP:
        node_is_up(e, n, ENGINE_NODE_UP);
        break;
    case EVENT_POWER:
        tell_power(e);
        break;
    case EVENT_DRIFT:
        let_rates_drift(e);
        break;
    default:
        happen_run(e, sim_engine_find(e, event->subject), event->kind);
    }
}

void sim_world_advance(struct sim_engine *e, double to_s)
{
    struct event event;

    while (sim_world_next_s(e) <= to_s) {
        if (e->news.count >= SIM_ENGINE_NEWS)
            return;
        events_pop(&e->events, &event);
        e->now_s = fmax(e->now_s, event.at_s);
        happen(e, &event);
    }
    e->now_s = fmax(e->now_s, to_s);
}

static bool comes_late(const struct sim_engine *e, int n)
{
    const struct node *node = &e->cluster->nodes[n];

    return e->options.late_s > e->now_s &&
           e->cluster->devices[node->first_device].type == e->options.late_type;
}

void sim_world_begin(struct sim_engine *e)
{
    for (int n = 0; n < e->cluster->node_count; n++) {
        plan_failure(e, n);
        if (comes_late(e, n)) {
            e->cluster->nodes[n].state = NODE_DOWN;
            push(e, EVENT_NODE_UP, (uint64_t)n, e->options.late_s);
        }
    }
    if (e->options.power_s > 0)
        push(e, EVENT_POWER, 0, e->now_s + e->options.power_s);
    if (e->options.drift > 0)
        push(e, EVENT_DRIFT, 0, e->now_s + DRIFT_STEP_S);
}
