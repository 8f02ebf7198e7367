/* planner.c - the planner; see planner.h */
#include "loop/optimize/planner_private.h"

#include <math.h>

#define STREAM_STEADY 31
/* A node without jobs stays awake this long: about what waking it again costs. */
#define IDLE_BEFORE_SLEEP_S 60.0
/* Moves for the sake of cost are looked for this often. */
#define IMPROVE_S 300.0

static void *planner_create(uint64_t seed)
{
    struct planner_state *s = mem_new(struct planner_state);

    s->kinds = prediction_table_create();
    s->improved_s = s->priced_s = -INFINITY;
    rng_stream(&s->rng, seed, STREAM_STEADY);
    return s;
}

static void planner_destroy(void *self)
{
    struct planner_state *s = self;

    prediction_table_destroy(s->kinds);
    vec_free(&s->jobs);
    vec_free(&s->members);
    vec_free(&s->usable);
    vec_free(&s->node_jobs);
    vec_free(&s->memo);
    vec_free(&s->order);
    vec_free(&s->gangs);
    vec_free(&s->started);
    vec_free(&s->seats);
    vec_free(&s->shown_jobs);
    vec_free(&s->trials);
    free(s);
}

static void write_running(struct planner_state *s, struct plan *plan)
{
    for (size_t i = 0; i < s->jobs.count; i++) {
        const struct planner_job *j = &s->jobs.items[i];

        if (j->status->state != JOB_RUNNING)
            continue;
        if (planner_gang_goes(s, (int)i))
            plan_seat(plan, j->seat, planner_gang_goes(s, (int)i),
                      j->status->job.devices);
        else if (j->moved)
            plan_seat(plan, j->seat, &j->device, 1);
        else
            plan_seat(plan, j->seat, j->status->devices, j->status->device_count);
    }
}

/* Everybody on the device has been measured in this company. */
static bool all_paced(const struct planner_state *s, const int *members)
{
    for (int e = 0; e < 2 && members[e] >= 0; e++) {
        const struct planner_job *j = &s->jobs.items[members[e]];

        if (!j->paced || j->moved)
            return false;
    }
    return true;
}

/* The limit each device costs the least with; none before its jobs have been seen to
 * keep their requirements without. */
static void write_caps(struct planner_state *s, struct plan *plan)
{
    for (int d = 0; d < s->in->cluster->device_count; d++) {
        const int *m = planner_members(s, d);

        plan->cap_watts[d] = 0;
        if (!all_paced(s, m))
            continue;
        planner_cost(s, s->in->cluster->devices[d].type, m[0], m[1], &plan->cap_watts[d]);
    }
}

static void planner_plan(void *self, const struct optimize_input *in, struct plan *plan)
{
    struct planner_state *s = self;

    s->settings = *in->settings;
    if (s->settings.moves)
        s->settings.confidence = s->settings.trial_confidence;
    plan_reset(plan, in);
    planner_load(s, in);
    planner_set_price(s);
    planner_settle_trials(s);
    planner_look(s, planner_view_moving(s));
    planner_mend(s);
    planner_mend_gangs(s);
    if (in->settings->moves && in->now_s - s->improved_s >= IMPROVE_S) {
        planner_improve(s);
        s->improved_s = in->now_s;
    }
    write_running(s, plan);
    planner_place_waiting(s, plan);
    write_caps(s, plan);
    planner_keep_limit(s, plan);
    /* Under a limit on power a node without jobs is not kept awake for the next. */
    plan_sleep_idle(plan, in,
                    in->settings->power_limit_watts > 0 ? 0 : IDLE_BEFORE_SLEEP_S);
    plan->learning = s->learning;
}

const struct planner_ops corgi_planner_ops = {
    .name = "steady",
    .create = planner_create,
    .plan = planner_plan,
    .destroy = planner_destroy,
};
