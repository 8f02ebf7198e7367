/* conduct.c - service/engine_events.c, lifecycle.c and rounds.c, and
 * lab/sim/sim_actions.c call it with what an engine told, or with what it is to do; the
 * loop gets the result */
#include "engine/conduct.h"

#include <math.h>

/* A demand that moved by this share calls for a round at once. */
#define DEMAND_MOVED 0.2

void conduct_progress(struct loop *loop, uint64_t job, double steps_before, double steps)
{
    if (isfinite(steps))
        loop_set_progress(loop, job, steps_before + steps, NULL);
}

int conduct_measured(struct loop *loop, const struct conduct_window *w,
                     struct loop_observed *observed, struct err *err)
{
    int rc = 0;

    if (!(w->measurement.at_s <= w->now_s + RECORD_CLOCKS_APART_S)) {
        observed->refusal = RECORD_OUTSIDE;
        return err_set(err, ERR_INVALID,
                       "a window that ends at %.3f is of the future: "
                       "it is %.3f",
                       w->measurement.at_s, w->now_s);
    }
    if (w->measurement.rate > 0 || w->measurement.held > 0)
        rc = loop_measure(loop, &w->measurement, observed, err);
    if (isfinite(w->steps))
        loop_set_progress(loop, w->measurement.job, w->steps_before + w->steps, NULL);
    return rc;
}

void conduct_demand(struct loop *loop, uint64_t job, double rate, double now_s)
{
    const struct job_status *status = loop_job(loop, job);
    double before = status ? status->demand : NAN;

    if (loop_set_demand(loop, job, rate, now_s, NULL) < 0)
        return;
    if (!isfinite(before) ||
        fabs(status->demand - before) > DEMAND_MOVED * fmax(before, 1e-9))
        loop_want_round(loop, now_s);
}

static void tell_memory(struct loop *loop, uint64_t job, double now_s,
                        struct loop_observed *observed)
{
    const struct measurement m = {.job = job,
                                  .at_s = now_s,
                                  .window_s = 1,
                                  .device_watts = NAN,
                                  .out_of_memory = true};

    loop_measure(loop, &m, observed, NULL);
}

/* A job that kills its probe, or whose command cannot be started, would otherwise be
 * started over and over, with a folder and rows in the store each time. */
static enum conduct_fate try_again(struct loop *loop, uint64_t job,
                                   struct conduct_tries *tries, double now_s)
{
    const struct job_status *status = loop_job(loop, job);

    if (status && now_s - status->placed_s >= CONDUCT_STEADY_S) /* not NaN */
        tries->unfinished = 0;
    if (++tries->unfinished >= CONDUCT_UNFINISHED)
        return CONDUCT_FAILED;
    if (tries->unfinished > 1)
        loop_defer(loop, job, now_s + pow(CONDUCT_PAUSE_FACTOR, tries->unfinished - 2));
    return CONDUCT_AGAIN;
}

enum conduct_fate conduct_ended(struct loop *loop, uint64_t job, enum engine_end end,
                                struct conduct_tries *tries, double now_s,
                                struct loop_observed *observed)
{
    switch (end) {
    case ENGINE_END_DONE:
        return CONDUCT_DONE;
    case ENGINE_END_FAILED:
    case ENGINE_END_TIME_LIMIT:
    case ENGINE_END_UNKNOWN: /* it may be done: nothing runs twice by our hand */
        return CONDUCT_FAILED;
    case ENGINE_END_CANCELLED:
        return CONDUCT_CANCELLED;
    case ENGINE_END_OUT_OF_MEMORY:
        tell_memory(loop, job, now_s, observed);
        return ++tries->memory_failures >= CONDUCT_MEMORY_FAILURES ? CONDUCT_FAILED
                                                                   : CONDUCT_AGAIN;
    case ENGINE_END_NOT_STARTED:
    case ENGINE_END_LOST:
        return try_again(loop, job, tries, now_s);
    case ENGINE_END_STOPPED:
    case ENGINE_END_REQUEUED:
    case ENGINE_END_NO_ROOM: /* it waits as before */
        break;
    }
    return CONDUCT_AGAIN;
}

void conduct_node(struct loop *loop, const struct engine_event *event, double now_s)
{
    switch (event->kind) {
    case ENGINE_NODE_AWAKE:
        loop_node_is_awake(loop, event->node, now_s);
        break;
    case ENGINE_NODE_UP:
        loop_node_repaired(loop, event->node, now_s);
        break;
    case ENGINE_NODE_FALLING:
    case ENGINE_NODE_ASLEEP:
        loop_set_node(loop, event->node,
                      event->kind == ENGINE_NODE_ASLEEP ? NODE_ASLEEP : NODE_FALLING,
                      now_s);
        loop_want_round(loop, now_s);
        break;
    default:
        loop_node_failed(loop, event->node, now_s);
    }
}

int conduct_order(struct loop *loop, const struct engine *engine,
                  const struct action *action, double now_s, struct err *err)
{
    int rc;

    if (action->kind == ACTION_CAP) {
        rc = engine->ops->cap(engine->self, action->device, action->cap_watts, err);
        if (rc < 0)
            loop_set_cap(loop, action->device, 0, now_s, NULL);
        return rc;
    }
    rc = action->kind == ACTION_WAKE
             ? engine->ops->wake(engine->self, action->node, err)
             : engine->ops->sleep(engine->self, action->node, err);
    if (rc < 0) /* it stays as it was */
        loop_set_node(loop, action->node,
                      action->kind == ACTION_WAKE ? NODE_ASLEEP : NODE_AWAKE, now_s);
    else if (action->kind == ACTION_SLEEP)
        loop_set_node(loop, action->node,
                      rc == ENGINE_FALLING ? NODE_FALLING : NODE_ASLEEP, now_s);
    return rc < 0 ? rc : 0;
}
