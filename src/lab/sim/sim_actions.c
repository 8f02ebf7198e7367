/* sim_actions.c - between the loop and the simulated engine
 *
 * sim_run.c hands over the actions of a round, which become calls of the engine, and the
 * engine's events, which become calls of the loop. */
#include "lab/sim/sim_private.h"

#include "engine/conduct.h"
#include "loop/cluster.h"

#include <assert.h>
#include <math.h>

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
    assert(rc >= 0);
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

static const char *const *env_of(const struct sim *sim, const struct sim_job *job)
{
    static const char *const nothing[] = {NULL};

    return sim->setup->told ? sim->setup->told->requests[job - sim->jobs].parsed.env.items
                            : nothing;
}

static void start(struct sim *sim, struct sim_job *job, const struct action *a)
{
    static const char *const nothing[] = {NULL};
    const struct job *told = &job->request->job;
    const struct engine_job attempt = {.job = told,
                                       .attempt = ++job->attempt,
                                       .directory = "/",
                                       .argv = nothing,
                                       .env = env_of(sim, job),
                                       .device_count = a->device_count,
                                       .devices = a->devices};

    must(sim->engine.ops->start(sim->engine.self, &attempt, NULL));
    job->steps_before = loop_job(sim->loop, told->id)->steps_done;
    job->end = SIM_RUNNING;
    job->measured = job->misplaced = false;
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
    const struct engine *e = &sim->engine;
    uint64_t id = job->request->job.id;

    if (e->ops->stop(e->self, id, ENGINE_STOP_MOVE, NULL) != ENGINE_GONE)
        must(e->ops->stop(e->self, id, ENGINE_STOP_KILL, NULL)); /* nobody waits here */
    job->stopped_before = job->steps_before;
    sim_leave(sim, job);
    job->result.moves++; /* it will go on elsewhere, or here after others */
}

void sim_execute(struct sim *sim, const struct action *actions, size_t count)
{
    for (const struct action *a = actions; a < actions + count; a++) {
        struct sim_job *job = a->job ? sim_job_of(sim, a->job) : NULL;

        switch (a->kind) {
        case ACTION_WAKE:
        case ACTION_SLEEP:
        case ACTION_CAP:
            must(conduct_order(sim->loop, &sim->engine, a, sim->now_s, NULL));
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

static void note_sight(struct sim *sim, double abs_log_error)
{
    recording_sight(sim->recording, sim->now_s, abs_log_error);
    quarters_sight(&sim->quarters, abs_log_error);
}

static void on_measured(struct sim *sim, struct sim_job *job,
                        const struct engine_event *e)
{
    struct conduct_window window = {.measurement = e->measurement,
                                    .now_s = sim->now_s,
                                    .steps = e->steps,
                                    .steps_before = job->steps_before};
    const struct sim_probes *probes = sim->setup->probes;
    struct loop_observed seen = {0};

    if (e->attempt != job->attempt || job->end != SIM_RUNNING)
        return;
    window.measurement.doubt = 1 - e->confidence;
    if (probes && probes->tells)
        probes->tells(probes->ctx, &job->request->job, &window.measurement);
    if (conduct_measured(sim->loop, &window, &seen, NULL) < 0)
        return;
    job->measured = true;
    if (probes && probes->seen && seen.seen.where.count > 0)
        probes->seen(probes->ctx, &seen.seen);
    if (seen.first_sight)
        note_sight(sim, seen.abs_log_error);
}

void sim_end_job(struct sim *sim, struct sim_job *job, enum sim_end end)
{
    sim_saved_job(sim, job);
    sim_replicas_end(sim, job, end == SIM_FAILED);
    loop_end_job(sim->loop, job->request->job.id, sim->now_s, NULL);
    sim_leave(sim, job);
    job->end = end;
    job->result.end_s = end == SIM_FINISHED ? sim->now_s : NAN;
    sim->ended += job->request->service == 0;
}

static void on_ended(struct sim *sim, struct sim_job *job, const struct engine_event *e)
{
    uint64_t id = job->request->job.id;
    const struct job_status *status = loop_job(sim->loop, id);
    enum conduct_fate fate;

    if (e->end == ENGINE_END_STOPPED && status) { /* the loop said so */
        conduct_progress(sim->loop, id, job->stopped_before, e->steps);
        job->steps_before = status->steps_done;
    }
    if (e->attempt != job->attempt || job->end != SIM_RUNNING)
        return;
    conduct_progress(sim->loop, id, job->steps_before, e->steps);
    fate = conduct_ended(sim->loop, id, e->end, &job->tries, sim->now_s, NULL);
    if (fate != CONDUCT_AGAIN || sim->setup->schedule) { /* it ran once */
        sim_end_job(sim, job, fate == CONDUCT_DONE ? SIM_FINISHED : SIM_FAILED);
        return;
    }
    loop_requeue(sim->loop, id, sim->now_s, NULL);
    sim_leave(sim, job);
    job->result.restarts++;
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
        if (job->end == SIM_RUNNING)
            conduct_demand(sim->loop, e->job, e->measurement.rate, sim->now_s);
        sim_replicas_seen(sim, job, e);
        break;
    case ENGINE_ENDED:
        on_ended(sim, job, e);
        break;
    case ENGINE_NODE_AWAKE:
    case ENGINE_NODE_DOWN:
    case ENGINE_NODE_UP:
        conduct_node(sim->loop, e, sim->now_s);
        break;
    default: /* STARTED, POWER: nothing follows */
        break;
    }
}
