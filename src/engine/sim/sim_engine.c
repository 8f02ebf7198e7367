/* sim_engine.c - the operations of the simulated engine
 *
 * The daemon, or the driver of `corgi sim`, calls them as those of any engine.  What a
 * call changes in the world is sim_world.c's; what it tells waits in the news until
 * dispatch(). */
#include "engine/sim/sim_engine.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "engine/sim/cluster_file.h"
#include "engine/sim/sim_engine_private.h"
#include "loop/cluster.h"
#include "world/generate.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* How far true speeds stray from the data sheet: cooling, drivers, hosts. */
#define SHEET_JITTER    0.1
#define STREAM_FAILURES 12
#define STREAM_WORLD    77

/* However fast the world, the daemon is not woken more often. */
#define WAKE_MIN_S 0.005
#define WAKE_MAX_S 1.0

/* Of the wall: an end is known this long after it was told. */
#define PAST_KEPT_S 300.0
/* However many lives end in that time, these are kept: a store is not so far behind. */
#define PAST_MOST 4096

struct sim_engine_options sim_engine_defaults(void)
{
    return (struct sim_engine_options){
        .speed = 1,
        .seed = 1,
        .alone_sd = 0.08,
        .beside_sd = 0.05,
        .checkpoint_s = 1800,
        .repair_s = 4 * 3600,
    };
}

struct run *sim_engine_find(const struct sim_engine *e, uint64_t job)
{
    size_t at;

    return map_get(e->index, job, &at) ? e->runs.items[at] : NULL;
}

struct run *sim_engine_add(struct sim_engine *e, uint64_t job)
{
    struct run *run = mem_new(struct run);

    run->request.job.id = run->service = job;
    run->factor = run->speed = 1;
    run->ends_s = INFINITY;
    map_put(e->index, job, e->runs.count);
    vec_push(&e->runs, run);
    return run;
}

void sim_engine_forget(struct sim_engine *e, uint64_t job)
{
    size_t at;

    if (!map_get(e->index, job, &at))
        return;
    journal_note(e, "forget %llu", (unsigned long long)job);
    for (size_t i = 0; i < e->replicas.count; i++)
        if (e->replicas.items[i] == job)
            e->replicas.items[i--] = e->replicas.items[--e->replicas.count];
    free(e->runs.items[at]);
    map_remove(e->index, job);
    if (at == --e->runs.count)
        return;
    e->runs.items[at] = e->runs.items[e->runs.count];
    map_put(e->index, e->runs.items[at]->request.job.id, at);
}

struct engine_event *sim_engine_tell(struct sim_engine *e, enum engine_event_kind kind,
                                     const struct run *run, const char *text)
{
    struct occasion *o;

    vec_push(&e->news, (struct occasion){.event = {.kind = kind,
                                                   .at_s = e->now_s,
                                                   .job = run ? run->request.job.id : 0,
                                                   .attempt = run ? run->attempt : 0,
                                                   .steps = NAN,
                                                   .source = "simulated",
                                                   .confidence = 1}});
    o = &e->news.items[e->news.count - 1];
    str_copy(o->text, sizeof(o->text), text ? text : "");
    return &o->event;
}

void sim_engine_tell_end(struct sim_engine *e, const struct run *run, const char *text)
{
    struct engine_event *event = sim_engine_tell(e, ENGINE_ENDED, run, text);

    event->end = run->end;
    event->exit_status = run->end == ENGINE_END_FAILED ? run->exit_status : 0;
    event->steps = run->steps;
}

/* ---- time ------------------------------------------------------------------------- */

double sim_engine_now_s(const struct engine *engine)
{
    const struct sim_engine *e = engine->self;

    if (e->options.clock == SIM_CLOCK_STEPPED)
        return e->now_s;
    return e->origin_s + (clock_wall_s() - e->wall_s) * e->options.speed;
}

double sim_engine_next_s(const struct engine *engine)
{
    struct sim_engine *e = engine->self;

    return e->news.count > 0 ? e->now_s : fmax(e->now_s, sim_world_next_s(e));
}

static void set_timer(struct sim_engine *e)
{
    bool stepped = e->options.clock == SIM_CLOCK_STEPPED;
    struct itimerspec when = {0};
    double wait_s;

    if (e->timer < 0)
        return;
    wait_s = e->news.count > 0 ? 0 : sim_world_next_s(e) - e->now_s;
    if (stepped && wait_s > 0) { /* nothing more now: the timer rests */
        timerfd_settime(e->timer, 0, &when, NULL);
        return;
    }
    wait_s =
        stepped ? 1e-9 : fmin(fmax(wait_s / e->options.speed, WAKE_MIN_S), WAKE_MAX_S);
    when.it_value.tv_sec = (time_t)wait_s;
    when.it_value.tv_nsec = (long)((wait_s - floor(wait_s)) * 1e9);
    timerfd_settime(e->timer, 0, &when, NULL);
}

/* ---- making it -------------------------------------------------------------------- */

struct world *sim_engine_world(const struct gpu_sheet *types, int count, uint64_t seed,
                               uint64_t stream)
{
    const struct generate_options how = {.gpu_count = count,
                                         .gpus = types,
                                         .family_min = 8,
                                         .family_max = 10,
                                         .sheet_jitter = SHEET_JITTER,
                                         .scales = true};
    struct rng rng;

    rng_stream(&rng, seed, stream);
    return world_generate(&how, &rng);
}

static int make_cluster(struct sim_engine *e, struct err *err)
{
    const char *name = e->options.cluster ? e->options.cluster : "demo";

    if (e->options.cluster_file)
        return cluster_file_load(&e->cluster, e->options.cluster_file, err);
    e->cluster = e->options.drawn ? cluster_dup(e->options.drawn) : cluster_builtin(name);
    if (!e->cluster)
        return err_set(err, ERR_NOT_FOUND,
                       "no built-in cluster '%s'; take demo, standard or modern", name);
    return 0;
}

static int make_world(struct sim_engine *e, struct err *err)
{
    if (make_cluster(e, err) < 0)
        return -1;
    e->truth = (struct truth){.world = e->options.world,
                              .gpu_of_type = e->options.gpu_of_type,
                              .alone_sd = e->options.alone_sd,
                              .beside_sd = e->options.beside_sd,
                              .beside_free = e->options.beside_free,
                              .gang_interference = e->options.gang_interference,
                              .cap_steepness = e->options.cap_steepness,
                              .drawn_power = e->options.drawn_power,
                              .drift = e->options.drift};
    if (!e->options.world)
        e->truth.world = e->made = sim_engine_world(
            e->cluster->types, e->cluster->type_count, e->options.seed, STREAM_WORLD);
    return 0;
}

static void sim_destroy(void *self)
{
    struct sim_engine *e = self;

    if (!e)
        return;
    if (e->devices)
        journal_steps(e, true);
    if (e->journal >= 0)
        close(e->journal);
    if (e->timer >= 0)
        close(e->timer);
    for (size_t i = 0; i < e->runs.count; i++)
        free(e->runs.items[i]);
    vec_free(&e->runs);
    vec_free(&e->replicas);
    vec_free(&e->past);
    vec_free(&e->news);
    map_destroy(e->index);
    map_destroy(e->entered);
    vec_free(&e->events.heap);
    world_destroy(e->made);
    cluster_destroy(e->cluster);
    free(e->awake_stamp);
    free(e->devices);
    free(e);
}

static void set_clocks(struct sim_engine *e)
{
    e->devices = mem_array(struct sim_device, (size_t)e->cluster->device_count);
    e->awake_stamp = mem_array(uint64_t, (size_t)e->cluster->node_count);
    e->origin_s = e->now_s;
    for (int n = 0; n < e->cluster->node_count; n++)
        e->cluster->nodes[n].since_s = e->cluster->nodes[n].idle_since_s = e->now_s;
    for (size_t i = 0; i < e->runs.count; i++)
        e->runs.items[i]->done_to = e->now_s;
    for (int d = 0; d < e->cluster->device_count; d++) {
        const struct device *device = &e->cluster->devices[d];
        bool asleep = e->cluster->nodes[device->node].state == NODE_ASLEEP;

        e->devices[d] = (struct sim_device){
            .watts = asleep ? 0 : e->cluster->types[device->type].idle_watts,
            .joules_to = e->now_s,
            .told_to = e->now_s,
            .changed_s = e->now_s,
        };
    }
}

/* ---- operations ------------------------------------------------------------------- */

static int sim_cluster(void *self, struct cluster **cluster, struct err *err)
{
    struct sim_engine *e = self;

    (void)err;
    *cluster = cluster_dup(e->cluster);
    return 0;
}

static int sim_fd(void *self)
{
    struct sim_engine *e = self;

    if (e->timer < 0)
        e->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    set_timer(e);
    return e->timer;
}

/* The sink may call back into the engine, which adds news: they are told too. */
static void tell_all(struct sim_engine *e)
{
    for (size_t i = 0; i < e->news.count; i++) {
        struct occasion o = e->news.items[i];

        o.event.text = o.text[0] ? o.text : NULL;
        if (o.event.kind == ENGINE_ENDED)
            vec_push(&e->past, (struct ended){o.event.job, clock_wall_s()});
        if (e->sink.event)
            e->sink.event(e->sink.ctx, &o.event);
    }
    vec_clear(&e->news);
}

/* What has ended is forgotten when a daemon has had time enough to store it, or so many
 * have ended since; without a journal no daemon comes back for it. */
static void put_away(struct sim_engine *e)
{
    double kept_s = e->journal >= 0 ? PAST_KEPT_S : 0, wall_s = clock_wall_s();
    size_t old = 0;

    for (; old < e->past.count && (wall_s - e->past.items[old].told_s >= kept_s ||
                                   e->past.count - old > PAST_MOST);
         old++) {
        const struct run *run = sim_engine_find(e, e->past.items[old].job);

        if (run && run->state == RUN_ENDED) /* else it runs again */
            sim_engine_forget(e, e->past.items[old].job);
    }
    if (old == 0)
        return;
    e->past.count -= old;
    memmove(e->past.items, e->past.items + old, e->past.count * sizeof(struct ended));
}

static void sim_dispatch(void *self, double now_s)
{
    struct sim_engine *e = self;
    uint64_t expirations;

    if (e->timer >= 0 && read(e->timer, &expirations, sizeof(expirations)) < 0 &&
        errno != EAGAIN)
        return;
    do {
        sim_world_advance(e, now_s);
        tell_all(e);
    } while (now_s > e->now_s);
    if (e->past.count > 0)
        put_away(e);
    journal_steps(e, false);
    set_timer(e);
}

static int check_devices(const struct sim_engine *e, const struct engine_job *job,
                         struct err *err)
{
    if (job->device_count < 1 || job->device_count > LOOP_MAX_GANG)
        return err_set(err, ERR_INVALID, "a job runs on 1 to %d devices", LOOP_MAX_GANG);
    for (int i = 0; i < job->device_count; i++) {
        int d = job->devices[i];

        if (d < 0 || d >= e->cluster->device_count)
            return err_set(err, ERR_INVALID, "there is no device %d", d);
        if (e->cluster->devices[d].job_count == LOOP_MAX_SHARE)
            return err_set(err, ERR_LIMIT, "device %d has %d jobs already", d,
                           LOOP_MAX_SHARE);
    }
    return 0;
}

void sim_engine_expect(const struct engine *engine, const struct sim_request *request)
{
    struct sim_engine *e = engine->self;

    sim_engine_give(e, sim_engine_add(e, request->job.id), request);
}

/* ---- the queue, which only engines as Slurm have ---- */

static int sim_enter(void *self, const struct engine_job *job, struct err *err)
{
    struct sim_engine *e = self;
    char name[40];

    (void)err;
    if (!e->options.queue)
        return 0;
    map_put(e->entered, job->job->id, 1);
    snprintf(name, sizeof(name), "sim-%llu", (unsigned long long)job->job->id);
    sim_engine_tell(e, ENGINE_ENTERED, NULL, name)->job = job->job->id;
    set_timer(e);
    return 0;
}

static int sim_leave(void *self, uint64_t job, struct err *err)
{
    struct sim_engine *e = self;

    (void)err;
    map_remove(e->entered, job);
    return 0;
}

static bool was_handed_in(const struct sim_engine *e, uint64_t job)
{
    size_t any;

    return !e->options.queue || map_get(e->entered, job, &any);
}

static int sim_start(void *self, const struct engine_job *job, struct err *err)
{
    struct sim_engine *e = self;
    struct run *run = sim_engine_find(e, job->job->id);

    if (check_devices(e, job, err) < 0)
        return -1;
    if (!was_handed_in(e, job->job->id))
        return err_set(err, ERR_NOT_FOUND, "job %llu was not handed in",
                       (unsigned long long)job->job->id);
    if (run && (run->state == RUN_STARTING || run->state == RUN_ACTIVE))
        return err_set(err, ERR_EXISTS, "job %llu runs already",
                       (unsigned long long)job->job->id);
    if (!run)
        run = sim_engine_add(e, job->job->id);
    run->before += run->steps; /* of earlier attempts: its checkpoint */
    run->steps = run->written = 0;
    if (!run->given)
        sim_engine_describe(e, run, job);
    run->attempt = job->attempt;
    run->leave_to = RUN_EXPECTED;
    run->ready_s = e->now_s + (run->started ? e->options.restore_s : 0);
    run->started = true;
    sim_world_seat(e, run, job->devices, job->device_count);
    journal_start(e, run);
    set_timer(e);
    return 0;
}

static int sim_stop(void *self, uint64_t job, enum engine_stop how, struct err *err)
{
    struct sim_engine *e = self;
    struct run *run = sim_engine_find(e, job);
    int gone = 0;

    if (run && how != ENGINE_STOP_MOVE &&
        (run->state == RUN_EXPECTED || run->state == RUN_STOPPED)) {
        sim_engine_forget(e, job);
        return ENGINE_GONE;
    }
    if (!run || (run->state != RUN_STARTING && run->state != RUN_ACTIVE))
        return err_set(err, ERR_NOT_FOUND, "job %llu does not run here",
                       (unsigned long long)job);
    if (how != ENGINE_STOP_KILL || run->leave_to == RUN_EXPECTED)
        run->leave_to = how == ENGINE_STOP_MOVE ? RUN_STOPPED : RUN_ENDED;
    if (how != ENGINE_STOP_KILL && run->leave_s > 0) {
        if (run->stamp[EVENT_LEFT] == 0)
            sim_world_at(e, run, EVENT_LEFT, e->now_s + run->leave_s);
    } else {
        sim_world_end(e, run, ENGINE_END_STOPPED, run->leave_to, NULL);
        gone = ENGINE_GONE;
    }
    set_timer(e);
    return gone;
}

static int sim_cap(void *self, int device, double watts, struct err *err)
{
    struct sim_engine *e = self;

    if (device < 0 || device >= e->cluster->device_count)
        return err_set(err, ERR_NOT_FOUND, "there is no device %d", device);
    sim_world_cap(e, device, watts);
    set_timer(e);
    return 0;
}

static int set_node(struct sim_engine *e, int n, enum node_state state, struct err *err)
{
    if (n < 0 || n >= e->cluster->node_count)
        return err_set(err, ERR_NOT_FOUND, "there is no node %d", n);
    if (e->cluster->nodes[n].state == NODE_DOWN)
        return err_set(err, ERR_INVALID, "%s is down", e->cluster->nodes[n].name);
    sim_world_node(e, n, state);
    set_timer(e);
    return 0;
}

static int sim_wake(void *self, int node, struct err *err)
{
    return set_node(self, node, NODE_WAKING, err);
}

static int sim_sleep(void *self, int node, struct err *err)
{
    const struct sim_engine *e = self;
    bool falls = e->options.sleep_s > 0;
    int rc = set_node(self, node, falls ? NODE_FALLING : NODE_ASLEEP, err);

    return rc == 0 && falls ? ENGINE_FALLING : rc;
}

static int sim_adopt(void *self, const struct engine_job *job, struct err *err)
{
    struct sim_engine *e = self;
    struct run *run = sim_engine_find(e, job->job->id);

    if (!run || run->attempt != job->attempt ||
        (run->state == RUN_STOPPED && run->end == ENGINE_END_STOPPED))
        return err_set(err, ERR_NOT_FOUND, "job %llu, attempt %d, does not run here",
                       (unsigned long long)job->job->id, job->attempt);
    sim_engine_describe(e, run, job);
    if (run->state == RUN_ENDED || run->state == RUN_STOPPED) {
        sim_engine_tell_end(e, run, NULL);
    } else { /* it begins as soon as the world goes on */
        run->ready_s = fmax(run->ready_s, e->now_s);
        sim_world_seat(e, run, run->devices, run->device_count);
    }
    set_timer(e);
    return 0;
}

/* A job that waits keeps its checkpoint; what ran or has ended and nobody named goes. */
static void sim_adopted(void *self)
{
    struct sim_engine *e = self;

    for (size_t i = 0; i < e->runs.count;) {
        struct run *run = e->runs.items[i];

        if (run->known || run->state == RUN_STOPPED) {
            i++;
        } else if (run->state == RUN_ENDED) {
            sim_engine_forget(e, run->request.job.id);
        } else {
            run->state = RUN_STOPPED;
            run->end = ENGINE_END_STOPPED;
            journal_end(e, run);
            i++;
        }
    }
    set_timer(e);
}

static uint64_t sim_last_job(void *self)
{
    const struct sim_engine *e = self;

    return e->last_job;
}

static const struct engine_ops sim_ops = {
    .name = "sim",
    .cluster = sim_cluster,
    .fd = sim_fd,
    .dispatch = sim_dispatch,
    .enter = sim_enter,
    .leave = sim_leave,
    .start = sim_start,
    .stop = sim_stop,
    .cap = sim_cap,
    .wake = sim_wake,
    .sleep = sim_sleep,
    .last_job = sim_last_job,
    .adopt = sim_adopt,
    .adopted = sim_adopted,
    .destroy = sim_destroy,
};

int sim_engine_create(struct engine *engine, const struct sim_engine_options *options,
                      struct engine_sink sink, struct err *err)
{
    struct sim_engine *e = mem_new(struct sim_engine);

    e->options = *options;
    e->sink = sink;
    e->now_s = options->start_s;
    e->wall_s = clock_wall_s();
    e->journal = e->timer = -1;
    e->index = map_create();
    e->entered = map_create();
    rng_stream(&e->failures, options->seed, STREAM_FAILURES);
    if (make_world(e, err) < 0 || journal_open(e, err) < 0) {
        sim_destroy(e);
        return -1;
    }
    set_clocks(e);
    sim_world_begin(e);
    *engine = (struct engine){&sim_ops, e};
    return 0;
}

/* ---- what really is --------------------------------------------------------------- */

bool sim_inspect_job(const struct engine *engine, uint64_t job, double at_s,
                     struct sim_inspect_job *out)
{
    const struct sim_engine *e = engine->self;
    const struct run *run = sim_engine_find(e, job);
    bool seated;

    if (!run || !run->known || run->state == RUN_ENDED)
        return false;
    seated = run->state == RUN_STARTING || run->state == RUN_ACTIVE;
    *out = (struct sim_inspect_job){
        .request = &run->request,
        .seated = seated,
        .active = run->state == RUN_ACTIVE,
        .ready_s = run->ready_s,
        .rate = run->rate,
        .demand = run->demand,
        .done = sim_world_done(run, at_s),
        .ends_s = run->ends_s,
        .device_count = seated ? run->device_count : 0,
        .devices = run->devices,
    };
    if (run->state == RUN_EXPECTED && run->request.job.kind == JOB_INFERENCE)
        out->demand = sim_reports_asked(e, run);
    return true;
}

const struct cluster *sim_inspect_cluster(const struct engine *engine)
{
    return ((const struct sim_engine *)engine->self)->cluster;
}

const struct truth *sim_inspect_truth(const struct engine *engine)
{
    return &((const struct sim_engine *)engine->self)->truth;
}
