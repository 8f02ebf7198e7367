/* sim_actions.c - between the loop and the simulated engine
 *
 * sim_run.c hands over the actions of a round, which become calls of the engine, and the
 * engine's events, which become calls of the loop. */
#include "lab/sim/sim_private.h"

#include "loop/cluster.h"

#include <assert.h>
#include <math.h>

/* A job that ran out of memory this often is given up: nowhere it was tried did it fit.
 */
#define MEMORY_FAILURES_MAX 50

/* ---- actions ---------------------------------------------------------------------- */

static enum recording_why why_seated(const struct sim_job *job,
                                     const struct action *action)
{
    if (action->kind == ACTION_MOVE)
        return RECORDING_MOVED;
    return job->result.restarts ? RECORDING_RESTARTED : RECORDING_STARTED;
}

/* The engine does all it is told here: a refusal would be a mistake of ours. */
static void must(int rc)
{
    assert(rc == 0);
    (void)rc;
}

static double ready_s(const struct sim *sim, const struct action *a)
{
    const struct cluster *cluster = sim_inspect_cluster(&sim->engine);
    struct sim_inspect_job now;
    double at_s = sim->now_s;

    if (sim_inspect_job(&sim->engine, a->job, sim->now_s, &now))
        at_s = now.ready_s;
    for (int i = 0; i < a->device_count; i++) {
        const struct node *n = &cluster->nodes[cluster->devices[a->devices[i]].node];

        if (n->state == NODE_WAKING)
            at_s = fmax(at_s, n->since_s + n->wake_s);
    }
    return at_s;
}

static void start(struct sim *sim, struct sim_job *job, const struct action *a)
{
    static const char *const nothing[] = {NULL};
    const struct job *told = &job->request->job;
    const struct engine_job attempt = {.job = told,
                                       .attempt = ++job->attempt,
                                       .directory = "/",
                                       .argv = nothing,
                                       .env = nothing,
                                       .device_count = a->device_count,
                                       .devices = a->devices};

    must(sim->engine.ops->start(sim->engine.self, &attempt, NULL));
    quote_score_started(&sim->quotes, &job->quoted, a, sim->now_s);
    job->end = SIM_RUNNING;
    if (isnan(job->result.wait_s))
        job->result.wait_s = sim->now_s - told->submitted_s;
    job->recorded = recording_seat(sim->recording, told, a, why_seated(job, a),
                                   sim->now_s, ready_s(sim, a));
}

void sim_leave(struct sim *sim, struct sim_job *job)
{
    recording_leave(sim->recording, job->recorded, sim->now_s);
    job->recorded = 0;
    job->end = SIM_WAITING;
}

static void stop(struct sim *sim, struct sim_job *job)
{
    struct sim_inspect_job now;

    must(sim->engine.ops->stop(sim->engine.self, job->request->job.id, ENGINE_STOP_MOVE,
                               NULL));
    if (sim_inspect_job(&sim->engine, job->request->job.id, sim->now_s, &now))
        job->steps_before = now.done;
    sim_leave(sim, job);
    job->result.moves++; /* it will go on elsewhere, or here after others */
}

void sim_execute(struct sim *sim, const struct action *actions, size_t count)
{
    const struct engine *engine = &sim->engine;

    for (const struct action *a = actions; a < actions + count; a++) {
        struct sim_job *job = a->job ? sim_job_of(sim, a->job) : NULL;

        switch (a->kind) {
        case ACTION_WAKE:
            must(engine->ops->wake(engine->self, a->node, NULL));
            break;
        case ACTION_SLEEP:
            must(engine->ops->sleep(engine->self, a->node, NULL));
            break;
        case ACTION_CAP:
            must(engine->ops->cap(engine->self, a->device, a->cap_watts, NULL));
            break;
        case ACTION_STOP:
            stop(sim, job);
            break;
        case ACTION_MOVE:
            stop(sim, job);
            start(sim, job, a);
            break;
        case ACTION_START:
            start(sim, job, a);
            break;
        }
    }
}

/* ---- events ----------------------------------------------------------------------- */

static void set_progress(struct sim *sim, const struct sim_job *job, double steps)
{
    if (job->request->job.kind == JOB_TRAINING && isfinite(steps))
        loop_set_progress(sim->loop, job->request->job.id, job->steps_before + steps,
                          NULL);
}

static void note_sight(struct sim *sim, double abs_log_error)
{
    recording_sight(sim->recording, sim->now_s, abs_log_error);
    quarters_sight(&sim->quarters, abs_log_error);
}

static void on_measured(struct sim *sim, struct sim_job *job,
                        const struct engine_event *e)
{
    struct loop_observed seen;

    set_progress(sim, job, e->steps);
    if (loop_measure(sim->loop, &e->measurement, &seen, NULL) < 0)
        return;
    quote_score_measured(&sim->quotes, &job->quoted, &seen);
    if (seen.first_sight)
        note_sight(sim, seen.abs_log_error);
    if (seen.falls_short)
        sim_news(sim);
    sim_want_round(sim, sim->now_s + sim->options->round_s);
}

static void on_demand(struct sim *sim, const struct engine_event *e)
{
    loop_set_demand(sim->loop, e->job, e->measurement.rate, sim->now_s, NULL);
    if (loop_falls_short(sim->loop, e->job, sim->now_s))
        sim_news(sim);
    sim_want_round(sim, sim->now_s + sim->options->round_s);
}

void sim_end_job(struct sim *sim, struct sim_job *job, enum sim_end end)
{
    sim_replicas_end(sim, job, end == SIM_FAILED);
    loop_end_job(sim->loop, job->request->job.id, sim->now_s, NULL);
    sim_leave(sim, job);
    job->end = end;
    sim->ended += job->request->service == 0;
    sim_news(sim);
}

static void requeue(struct sim *sim, struct sim_job *job)
{
    loop_requeue(sim->loop, job->request->job.id, sim->now_s, NULL);
    sim_leave(sim, job);
    job->result.restarts++;
    sim_news(sim);
}

static void out_of_memory(struct sim *sim, struct sim_job *job)
{
    const struct measurement m = {
        .job = job->request->job.id,
        .at_s = sim->now_s,
        .window_s = 1,
        .device_watts = NAN,
        .out_of_memory = true,
    };

    loop_measure(sim->loop, &m, NULL, NULL);
    if (++job->memory_failures > MEMORY_FAILURES_MAX)
        sim_end_job(sim, job, SIM_FAILED);
    else
        requeue(sim, job);
}

static void on_ended(struct sim *sim, struct sim_job *job, const struct engine_event *e)
{
    if (e->attempt != job->attempt || job->end != SIM_RUNNING)
        return; /* stopped: the loop said so */
    set_progress(sim, job, e->steps);
    if (isfinite(e->steps))
        job->steps_before += e->steps;
    switch (e->end) {
    case ENGINE_END_OUT_OF_MEMORY:
        out_of_memory(sim, job);
        break;
    case ENGINE_END_DONE:
        sim_end_job(sim, job, SIM_FINISHED);
        break;
    case ENGINE_END_FAILED:
        sim_end_job(sim, job, SIM_FAILED);
        break;
    default:
        requeue(sim, job);
    }
}

void sim_hear(void *ctx, const struct engine_event *e)
{
    struct sim *sim = ctx;
    struct sim_job *job = e->job ? sim_job_of(sim, e->job) : NULL;

    switch (e->kind) {
    case ENGINE_MEASURED:
        on_measured(sim, job, e);
        sim_replicas_seen(sim, job, e);
        break;
    case ENGINE_DEMAND:
        on_demand(sim, e);
        sim_replicas_seen(sim, job, e);
        break;
    case ENGINE_ENDED:
        on_ended(sim, job, e);
        break;
    case ENGINE_NODE_AWAKE:
        loop_node_is_awake(sim->loop, e->node, sim->now_s);
        sim_news(sim);
        break;
    case ENGINE_NODE_DOWN:
        loop_node_failed(sim->loop, e->node, sim->now_s);
        sim_news(sim);
        break;
    case ENGINE_NODE_UP:
        loop_node_repaired(sim->loop, e->node, sim->now_s);
        sim_news(sim);
        break;
    default: /* STARTED, POWER: nothing follows */
        break;
    }
}
