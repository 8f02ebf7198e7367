/* sim_engine.c - see sim_engine.h */
#include "engine/sim/sim_engine.h"

#include "base/clock.h"
#include "base/mem.h"
#include "engine/sim/sim_engine_private.h"
#include "loop/cluster.h"
#include "engine/sim/cluster_file.h"
#include "world/generate.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define SHEET_JITTER 0.1
#define ALONE_SD     0.08
#define BESIDE_SD    0.05
#define WORLD_STREAM 77

/* However fast the world, the daemon is not woken more often. */
#define WAKE_MIN_S 0.005
#define WAKE_MAX_S 1.0

/* Of the wall: an end is known this long after it was told. */
#define PAST_KEPT_S 300.0

struct run *sim_engine_find(struct sim_engine *e, uint64_t job)
{
    for (size_t i = 0; i < e->runs.count; i++)
        if (e->runs.items[i]->request.job.id == job)
            return e->runs.items[i];
    return NULL;
}

/* Ended, and started again: take it from the past. */
static struct run *bring_back(struct sim_engine *e, uint64_t job)
{
    for (size_t i = 0; i < e->past.count; i++) {
        struct run *run = e->past.items[i];

        if (run->request.job.id != job)
            continue;
        e->past.items[i] = e->past.items[--e->past.count];
        vec_push(&e->runs, run);
        return run;
    }
    return NULL;
}

double sim_engine_now_s(const struct engine *engine)
{
    const struct sim_engine *e = engine->self;

    return e->origin_s + (clock_wall_s() - e->wall_s) * e->options.speed;
}

static void set_timer(struct sim_engine *e)
{
    double wait_s =
        e->news.count > 0 ? 0 : (sim_engine_next_s(e) - e->now_s) / e->options.speed;
    struct itimerspec when = {0};

    wait_s = fmin(fmax(wait_s, WAKE_MIN_S), WAKE_MAX_S);
    when.it_value.tv_sec = (time_t)wait_s;
    when.it_value.tv_nsec = (long)((wait_s - floor(wait_s)) * 1e9);
    timerfd_settime(e->timer, 0, &when, NULL);
}

/* ---- making it -------------------------------------------------------------------- */

static int make_world(struct sim_engine *e, struct err *err)
{
    struct generate_options how = {
        .family_min = 8, .family_max = 10, .sheet_jitter = SHEET_JITTER, .scales = true};
    struct rng rng;

    if (e->options.cluster_file) {
        if (cluster_file_load(&e->cluster, e->options.cluster_file, err) < 0)
            return -1;
    } else {
        const char *name = e->options.cluster ? e->options.cluster : "demo";

        e->cluster = cluster_builtin(name);
        if (!e->cluster)
            return err_set(err, ERR_NOT_FOUND,
                           "no built-in cluster '%s'; take demo, standard or modern",
                           name);
    }
    how.gpu_count = e->cluster->type_count;
    how.gpus = e->cluster->types;
    rng_stream(&rng, e->options.seed, WORLD_STREAM);
    e->world = world_generate(&how, &rng);
    e->gpu_of_type = mem_array(int, (size_t)e->cluster->type_count);
    for (int t = 0; t < e->cluster->type_count; t++)
        e->gpu_of_type[t] = t;
    e->truth = (struct truth){.world = e->world,
                              .gpu_of_type = e->gpu_of_type,
                              .alone_sd = ALONE_SD,
                              .beside_sd = BESIDE_SD};
    return 0;
}

static void sim_destroy(void *self)
{
    struct sim_engine *e = self;

    if (!e)
        return;
    if (e->cluster && e->world)
        journal_steps(e, true);
    if (e->journal >= 0)
        close(e->journal);
    if (e->timer >= 0)
        close(e->timer);
    for (size_t i = 0; i < e->runs.count; i++)
        free(e->runs.items[i]);
    for (size_t i = 0; i < e->past.count; i++)
        free(e->past.items[i]);
    vec_free(&e->runs);
    vec_free(&e->past);
    vec_free(&e->news);
    world_destroy(e->world);
    cluster_destroy(e->cluster);
    free(e->gpu_of_type);
    free(e->watts);
    free(e->joules);
    free(e->joules_to);
    free(e->told_to);
    free(e);
}

static void set_clocks(struct sim_engine *e)
{
    size_t devices = (size_t)e->cluster->device_count;

    e->watts = mem_array(double, devices);
    e->joules = mem_array(double, devices);
    e->joules_to = mem_array(double, devices);
    e->told_to = mem_array(double, devices);
    e->origin_s = e->power_s = e->now_s;
    e->wall_s = clock_wall_s();
    for (int n = 0; n < e->cluster->node_count; n++)
        e->cluster->nodes[n].since_s = e->cluster->nodes[n].idle_since_s = e->now_s;
    for (size_t i = 0; i < e->runs.count; i++)
        e->runs.items[i]->done_to = e->runs.items[i]->measured_s = e->now_s;
    for (int d = 0; d < e->cluster->device_count; d++) {
        e->joules_to[d] = e->told_to[d] = e->now_s;
        e->watts[d] = e->cluster->types[e->cluster->devices[d].type].idle_watts;
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
    return ((struct sim_engine *)self)->timer;
}

/* The sink may call back into the engine: news are taken out first. */
static void tell_all(struct sim_engine *e)
{
    for (size_t i = 0; i < e->news.count; i++) {
        struct occasion o = e->news.items[i];

        o.event.text = o.text[0] ? o.text : NULL;
        if (e->sink.event)
            e->sink.event(e->sink.ctx, &o.event);
    }
    vec_clear(&e->news);
}

/* What has ended leaves the list that is looked through all the time, and is forgotten
 * when a daemon has had time enough to store it. */
static void put_away(struct sim_engine *e)
{
    double wall_s = clock_wall_s();

    for (size_t i = 0; i < e->runs.count;) {
        struct run *run = e->runs.items[i];

        if (run->state != RUN_ENDED) {
            i++;
            continue;
        }
        run->told_s = wall_s;
        vec_push(&e->past, run);
        e->runs.items[i] = e->runs.items[--e->runs.count];
    }
    for (size_t i = 0; i < e->past.count;) {
        if (wall_s - e->past.items[i]->told_s < PAST_KEPT_S) {
            i++;
            continue;
        }
        journal_forget(e, e->past.items[i]->request.job.id);
        free(e->past.items[i]);
        e->past.items[i] = e->past.items[--e->past.count];
    }
}

static void sim_dispatch(void *self, double now_s)
{
    struct sim_engine *e = self;
    uint64_t expirations;

    if (read(e->timer, &expirations, sizeof(expirations)) < 0 && errno != EAGAIN)
        return;
    while (now_s > e->now_s) {
        sim_engine_advance(e, now_s);
        tell_all(e);
    }
    tell_all(e);
    put_away(e);
    journal_steps(e, false);
    set_timer(e);
}

static int check_devices(const struct sim_engine *e, const struct engine_job *job,
                         struct err *err)
{
    if (job->device_count < 1 || job->device_count > LOOP_MAX_GANG)
        return err_set(err, ERR_INVALID, "a job runs on 1 to %d devices", LOOP_MAX_GANG);
    for (int i = 0; i < job->device_count; i++)
        if (job->devices[i] < 0 || job->devices[i] >= e->cluster->device_count)
            return err_set(err, ERR_INVALID, "there is no device %d", job->devices[i]);
    return 0;
}

/* Steps of earlier attempts are its checkpoint. */
static void carry_over(struct run *run)
{
    run->before += run->steps;
    run->steps = 0;
    run->written = 0;
}

static int sim_start(void *self, const struct engine_job *job, struct err *err)
{
    struct sim_engine *e = self;
    struct run *run = sim_engine_find(e, job->job->id);
    double ends_s;
    bool again;

    if (check_devices(e, job, err) < 0)
        return -1;
    if (!run)
        run = bring_back(e, job->job->id);
    again = run != NULL;
    ends_s = run ? run->ends_s : INFINITY;
    if (run && run->state < RUN_STOPPED)
        return err_set(err, ERR_EXISTS, "job %llu runs already",
                       (unsigned long long)job->job->id);
    if (!run) {
        run = mem_new(struct run);
        vec_push(&e->runs, run);
    }
    carry_over(run);
    sim_engine_describe(e, run, job);
    run->ends_s = ends_s;
    run->attempt = job->attempt;
    run->state = RUN_STARTING;
    run->rate = 0;
    run->ready_s = e->now_s + (again ? e->options.restore_s : 0);
    run->device_count = job->device_count;
    memcpy(run->devices, job->devices, (size_t)job->device_count * sizeof(int));
    journal_start(e, run);
    set_timer(e);
    return 0;
}

static int sim_stop(void *self, uint64_t job, enum engine_stop how, struct err *err)
{
    struct sim_engine *e = self;
    struct run *run = sim_engine_find(e, job);
    struct engine_event *event;
    bool ran;

    if (!run || run->state >= RUN_STOPPED)
        return err_set(err, ERR_NOT_FOUND, "job %llu does not run here",
                       (unsigned long long)job);
    sim_engine_tell_power(e, run->devices, run->device_count);
    ran = run->state == RUN_ACTIVE;
    if (ran && run->request.job.kind == JOB_TRAINING)
        run->steps += run->rate * (e->now_s - run->done_to);
    run->done_to = e->now_s;
    run->state = how == ENGINE_STOP_MOVE ? RUN_STOPPED : RUN_ENDED;
    run->end = ENGINE_END_STOPPED;
    journal_end(e, run);
    sim_engine_touch(e, run->devices, run->device_count);
    event = sim_engine_tell(e, ENGINE_ENDED, NULL);
    event->job = job;
    event->attempt = run->attempt;
    event->end = ENGINE_END_STOPPED;
    event->steps = run->steps;
    set_timer(e);
    return 0;
}

static int sim_cap(void *self, int device, double watts, struct err *err)
{
    struct sim_engine *e = self;

    if (device < 0 || device >= e->cluster->device_count)
        return err_set(err, ERR_NOT_FOUND, "there is no device %d", device);
    e->cluster->devices[device].cap_watts = watts;
    journal_cap(e, device);
    sim_engine_touch(e, &device, 1);
    return 0;
}

static int set_node(struct sim_engine *e, int n, enum node_state state, struct err *err)
{
    struct node *node;

    if (n < 0 || n >= e->cluster->node_count)
        return err_set(err, ERR_NOT_FOUND, "there is no node %d", n);
    node = &e->cluster->nodes[n];
    node->state = state;
    node->since_s = e->now_s;
    journal_node(e, n);
    for (int i = 0; i < node->device_count; i++) {
        int device = node->first_device + i;

        sim_engine_touch(e, &device, 1);
    }
    set_timer(e);
    return 0;
}

static int sim_wake(void *self, int node, struct err *err)
{
    return set_node(self, node, NODE_WAKING, err);
}

static int sim_sleep(void *self, int node, struct err *err)
{
    return set_node(self, node, NODE_ASLEEP, err);
}

static void tell_end_again(struct sim_engine *e, const struct run *run)
{
    struct engine_event *event = sim_engine_tell(e, ENGINE_ENDED, NULL);

    event->job = run->request.job.id;
    event->attempt = run->attempt;
    event->end = run->end;
    event->exit_status = run->end == ENGINE_END_FAILED ? run->exit_status : 0;
    event->steps = run->steps;
}

static int sim_adopt(void *self, const struct engine_job *job, struct err *err)
{
    struct sim_engine *e = self;
    struct run *run = sim_engine_find(e, job->job->id);
    double ends_s;

    if (!run || run->attempt != job->attempt || run->state == RUN_STOPPED)
        return err_set(err, ERR_NOT_FOUND, "job %llu, attempt %d, does not run here",
                       (unsigned long long)job->job->id, job->attempt);
    ends_s = run->ends_s;
    sim_engine_describe(e, run, job);
    run->ends_s = ends_s;
    if (run->state == RUN_ENDED) {
        tell_end_again(e, run);
        return 0;
    }
    run->state = RUN_STARTING; /* it begins as soon as the world goes on */
    run->ready_s = fmax(run->ready_s, e->now_s);
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
            continue;
        }
        if (run->state == RUN_ENDED) {
            journal_forget(e, run->request.job.id);
            free(run);
            e->runs.items[i] = e->runs.items[--e->runs.count];
            continue;
        }
        run->state = RUN_STOPPED;
        run->end = ENGINE_END_STOPPED;
        journal_end(e, run);
        i++;
    }
    set_timer(e);
}

static const struct engine_ops sim_ops = {
    .name = "sim",
    .cluster = sim_cluster,
    .fd = sim_fd,
    .dispatch = sim_dispatch,
    .start = sim_start,
    .stop = sim_stop,
    .cap = sim_cap,
    .wake = sim_wake,
    .sleep = sim_sleep,
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
    e->journal = -1;
    rng_stream(&e->noise, options->seed, WORLD_STREAM + 1);
    e->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (e->timer < 0) {
        err_sys(err, "cannot make a timer");
        goto failed;
    }
    if (make_world(e, err) < 0 || journal_open(e, err) < 0)
        goto failed;
    set_clocks(e);
    set_timer(e);
    *engine = (struct engine){&sim_ops, e};
    return 0;
failed:
    sim_destroy(e);
    return -1;
}
