/* policy_preview.c - service/handle_preview.c takes a copy of the loop here and has a
 * thread of its own play it on: the world's tables are filled with the model's beliefs
 * (preview_world.c), the simulated engine plays, the loop decides, and conduct.c says
 * what an event means for it */
#include "service/policy_preview.h"

#include "base/clock.h"
#include "base/mem.h"
#include "engine/conduct.h"
#include "loop/cluster.h"
#include "service/preview_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A run takes at most so long; what it has reached by then is what is told. */
#define RUN_WALL_S 6.0

/* ---- the copy ------------------------------------------------------------------------
 */

/* Nodes that wake are awake, nobody sits anywhere: who runs is seated again. */
static struct cluster *empty_cluster(const struct cluster *now)
{
    struct cluster *c = cluster_dup(now);

    for (int n = 0; n < c->node_count; n++)
        if (c->nodes[n].state == NODE_WAKING)
            c->nodes[n].state = NODE_AWAKE;
    for (int d = 0; d < c->device_count; d++)
        c->devices[d].job_count = c->devices[d].leaving_count = 0;
    c->leaving_count = 0;
    return c;
}

struct policy_preview *policy_preview_create(const struct loop *loop,
                                             const struct loop_options *options,
                                             const struct learned_options *learned,
                                             const struct optimize_settings *proposed,
                                             double hours, double now_s, struct err *err)
{
    struct policy_preview *p = mem_new(struct policy_preview);
    struct preview_inside *in = p->inside = mem_new(struct preview_inside);
    const struct job_status *const *jobs = loop_jobs(loop, &in->count);

    p->runs[PREVIEW_PRESENT].settings = *loop_settings(loop);
    p->runs[PREVIEW_PROPOSED].settings = *proposed;
    p->from_s = now_s;
    p->until_s = now_s + hours * 3600;
    in->options = *options;
    in->learned = *learned;
    in->cluster = empty_cluster(loop_cluster(loop));
    in->jobs = mem_array(struct preview_job, in->count);
    for (size_t i = 0; i < in->count; i++) {
        in->jobs[i].was = *jobs[i];
        in->jobs[i].was.leaving = false;
        in->jobs[i].cls = -1;
    }
    if (loop_save(loop, &in->model, &in->model_bytes, err) == 0)
        return p;
    policy_preview_destroy(p);
    return NULL;
}

void policy_preview_destroy(struct policy_preview *p)
{
    if (!p)
        return;
    cluster_destroy(p->inside->cluster);
    world_destroy(p->inside->world);
    free(p->inside->speaker);
    free(p->inside->jobs);
    free(p->inside->model);
    free(p->inside);
    free(p);
}

/* ---- one run -------------------------------------------------------------------------
 */

struct play {
    struct policy_preview *preview;
    struct preview_run *run;
    struct loop *loop;
    struct engine engine;
    struct sim_watch watch;
    double *watts; /* (devices) */
    double now_s;
    struct preview_job *jobs; /* (inside->count) the run's own copy */
};

static struct preview_job *job_of(struct play *play, uint64_t id)
{
    for (size_t i = 0; i < play->preview->inside->count; i++)
        if (play->jobs[i].was.job.id == id)
            return &play->jobs[i];
    return NULL;
}

static void device_draws(void *ctx, int device, double watts)
{
    struct play *play = ctx;

    play->watts[device] = watts;
}

/* Their state is read when it is booked. */
static void ignore_job(void *ctx, uint64_t job)
{
    (void)ctx, (void)job;
}

static void ignore_node(void *ctx, int node)
{
    (void)ctx, (void)node;
}

static void start(struct play *play, struct preview_job *job, const int *devices,
                  int count)
{
    static const char *const nothing[] = {NULL};
    const struct engine_job attempt = {.job = &job->was.job,
                                       .attempt = ++job->attempt,
                                       .directory = "/",
                                       .argv = nothing,
                                       .env = nothing,
                                       .device_count = count,
                                       .devices = devices};
    const struct job_status *status = loop_job(play->loop, job->was.job.id);

    job->steps_before = status ? status->steps_done : 0;
    job->runs =
        play->engine.ops->start(play->engine.self, &attempt, &play->preview->err) == 0;
}

static void stop(struct play *play, struct preview_job *job)
{
    const struct engine *e = &play->engine;
    uint64_t id = job->was.job.id;

    job->runs = false; /* what it says from now on is of an attempt that is over */
    if (e->ops->stop(e->self, id, ENGINE_STOP_MOVE, NULL) != ENGINE_GONE)
        e->ops->stop(e->self, id, ENGINE_STOP_KILL, NULL);
}

static void execute(struct play *play, const struct action *actions, size_t count)
{
    for (const struct action *a = actions; a < actions + count; a++) {
        struct preview_job *job = a->job ? job_of(play, a->job) : NULL;

        if (!job) {
            conduct_order(play->loop, &play->engine, a, play->now_s, NULL);
            continue;
        }
        if (a->kind != ACTION_START)
            stop(play, job);
        if (a->kind != ACTION_STOP)
            start(play, job, a->devices, a->device_count);
        play->run->moves += a->kind == ACTION_MOVE;
        play->run->started += a->kind == ACTION_START;
    }
}

static void on_measured(struct play *play, const struct preview_job *job,
                        const struct engine_event *e)
{
    const struct conduct_window window = {.measurement = e->measurement,
                                          .now_s = play->now_s,
                                          .steps = e->steps,
                                          .steps_before = job->steps_before};
    struct loop_observed seen = {0};

    conduct_measured(play->loop, &window, &seen, NULL);
}

static void on_ended(struct play *play, struct preview_job *job,
                     const struct engine_event *e)
{
    uint64_t id = job->was.job.id;
    enum conduct_fate fate;

    conduct_progress(play->loop, id, job->steps_before, e->steps);
    if (!job->runs || e->attempt != job->attempt)
        return;
    job->runs = false;
    fate = conduct_ended(play->loop, id, e->end, &job->tries, play->now_s, NULL);
    if (fate == CONDUCT_AGAIN) {
        loop_requeue(play->loop, id, play->now_s, NULL);
        return;
    }
    play->run->done += fate == CONDUCT_DONE;
    loop_end_job(play->loop, id, play->now_s, NULL);
}

static void hear(void *ctx, const struct engine_event *e)
{
    struct play *play = ctx;
    struct preview_job *job = e->job ? job_of(play, e->job) : NULL;

    if (e->kind == ENGINE_ENDED && job)
        on_ended(play, job, e);
    else if (e->kind == ENGINE_MEASURED && job && job->runs && e->attempt == job->attempt)
        on_measured(play, job, e);
    else if (e->kind == ENGINE_DEMAND && job && job->runs)
        conduct_demand(play->loop, e->job, e->measurement.rate, play->now_s);
    else if (e->kind == ENGINE_NODE_AWAKE || e->kind == ENGINE_NODE_DOWN ||
             e->kind == ENGINE_NODE_UP)
        conduct_node(play->loop, e, play->now_s);
}

/* Everything that draws: hosts and devices awake, what sleeps. */
static double cluster_watts(const struct play *play)
{
    const struct cluster *c = sim_inspect_cluster(&play->engine);
    double watts = 0;

    for (int n = 0; n < c->node_count; n++) {
        const struct node *node = &c->nodes[n];

        if (node->state == NODE_DOWN)
            continue;
        watts += node->state == NODE_ASLEEP ? node->sleep_watts : node->host_watts;
        for (int i = 0; node->state == NODE_AWAKE && i < node->device_count; i++)
            watts += play->watts[node->first_device + i];
    }
    return watts;
}

/* From now until then nothing changes: book it. */
static void book(struct play *play, double until_s)
{
    struct preview_run *run = play->run;
    double span_s = until_s - play->now_s, watts = cluster_watts(play);

    run->joules += watts * span_s;
    run->peak_watts = fmax(run->peak_watts, watts);
    for (size_t i = 0; i < play->preview->inside->count; i++) {
        const struct job_status *status = loop_job(play->loop, play->jobs[i].was.job.id);
        struct sim_inspect_job real;

        if (!status)
            continue;
        if (status->state == JOB_WAITING && !status->held)
            run->waited_s += span_s;
        if (status->state != JOB_RUNNING || !(status->required_rate > 0) ||
            status->job.unpromised ||
            !sim_inspect_job(&play->engine, status->job.id, play->now_s, &real))
            continue;
        run->promised_s += span_s;
        run->kept_s +=
            real.active && real.rate >= 0.999 * status->required_rate ? span_s : 0;
    }
}

static int make_loop(struct play *play, struct err *err)
{
    const struct preview_inside *in = play->preview->inside;
    struct loop_options options = in->options;
    struct model model =
        learned_create(in->cluster->types, in->cluster->type_count, &in->learned);

    options.settings = play->run->settings;
    play->loop =
        loop_create_take(&options, cluster_dup(in->cluster), model, &corgi_planner_ops);
    if (loop_load(play->loop, in->model, in->model_bytes, err) < 0)
        return -1;
    for (size_t i = 0; i < in->count; i++)
        if (loop_restore(play->loop, &in->jobs[i].was, err) < 0)
            return -1;
    return 0;
}

static int make_engine(struct play *play, struct err *err)
{
    const struct preview_inside *in = play->preview->inside;
    struct sim_engine_options options = sim_engine_defaults();

    play->watch = (struct sim_watch){
        .ctx = play, .job = ignore_job, .device = device_draws, .node = ignore_node};
    options.drawn = in->cluster;
    options.world = in->world;
    options.watch = &play->watch;
    options.clock = SIM_CLOCK_STEPPED;
    options.start_s = play->preview->from_s;
    options.alone_sd = options.beside_sd = options.drift = options.noise_sd = 0;
    options.node_mtbf_s = 0;
    options.measure_s = options.demand_s = 60;
    options.power_s = 0;
    options.restore_s = play->run->settings.move_s;
    options.thin = true;
    options.window_s = options.align_s = 60;
    if (sim_engine_create(&play->engine, &options, (struct engine_sink){hear, play},
                          err) < 0)
        return -1;
    for (size_t i = 0; i < in->count; i++)
        sim_engine_expect(&play->engine, &in->jobs[i].request);
    for (size_t i = 0; i < in->count; i++)
        if (play->jobs[i].was.state == JOB_RUNNING)
            start(play, &play->jobs[i], play->jobs[i].was.devices,
                  play->jobs[i].was.device_count);
    return play->preview->err.code == ERR_NONE ? 0 : -1;
}

static int go_on(struct play *play, double began_s, double *until_s, struct err *err)
{
    double limit_s = *until_s, at_s;

    for (;;) {
        at_s = fmin(sim_engine_next_s(&play->engine),
                    fmax(play->now_s, loop_round_due_s(play->loop)));
        if (clock_wall_s() - began_s > RUN_WALL_S)
            limit_s = *until_s = fmin(*until_s, at_s);
        book(play, fmin(at_s, limit_s));
        play->now_s = fmin(at_s, limit_s);
        if (at_s >= limit_s)
            return 0;
        play->engine.ops->dispatch(play->engine.self, play->now_s);
        if (loop_round_due_s(play->loop) <= play->now_s) {
            struct round_result result;

            if (loop_round(play->loop, play->now_s, &result, err) < 0)
                return -1;
            execute(play, result.actions, result.action_count);
        }
    }
}

/* With the settings of this run, as far as until_s, which becomes earlier when that would
 * take too long. */
static int play_on(struct policy_preview *p, struct preview_run *run)
{
    struct preview_inside *in = p->inside;
    struct play play = {.preview = p, .run = run, .now_s = p->from_s};
    double began_s = clock_wall_s();
    int rc;

    play.watts = mem_zeroed((size_t)in->cluster->device_count, sizeof(*play.watts));
    for (int d = 0; d < in->cluster->device_count; d++)
        play.watts[d] = in->cluster->types[in->cluster->devices[d].type].idle_watts;
    play.jobs = mem_array(struct preview_job, in->count);
    memcpy(play.jobs, in->jobs, in->count * sizeof(*play.jobs));
    rc = make_loop(&play, &p->err);
    if (rc == 0 && !in->world) {
        preview_world(in, loop_model(play.loop));
        memcpy(play.jobs, in->jobs, in->count * sizeof(*play.jobs));
    }
    if (rc == 0)
        rc = make_engine(&play, &p->err);
    if (rc == 0)
        rc = go_on(&play, began_s, &p->until_s, &p->err);
    for (size_t i = 0; rc == 0 && i < in->count; i++) {
        const struct job_status *status = loop_job(play.loop, play.jobs[i].was.job.id);

        run->waiting += status && status->state == JOB_WAITING;
    }
    if (play.engine.self)
        play.engine.ops->destroy(play.engine.self);
    loop_destroy(play.loop);
    free(play.watts);
    free(play.jobs);
    return rc;
}

void policy_preview_run(struct policy_preview *p)
{
    p->left_out = preview_kinds(p->inside);
    p->jobs = (int)p->inside->count;
    for (int i = 0; i < PREVIEW_RUNS && p->err.code == ERR_NONE; i++)
        if (play_on(p, &p->runs[i]) < 0 && p->err.code == ERR_NONE)
            err_set(&p->err, ERR_SYSTEM, "the present could not be played on");
}
