/* steady.c - the planner; see steady.h */
#include "loop/optimize/steady.h"

#include <math.h>

#define STREAM_STEADY 31
/* A node without jobs stays awake this long: about what waking it again costs. */
#define IDLE_BEFORE_SLEEP_S 60.0
/* Moves for the sake of cost are looked for this often. */
#define IMPROVE_S 300.0

static void *steady_create(uint64_t seed)
{
    struct steady *s = mem_new(struct steady);

    s->kinds = kinds_create();
    s->improved_s = s->priced_s = -INFINITY;
    rng_stream(&s->rng, seed, STREAM_STEADY);
    return s;
}

static void steady_destroy(void *self)
{
    struct steady *s = self;

    kinds_destroy(s->kinds);
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

static void write_running(struct steady *s, struct plan *plan)
{
    for (size_t i = 0; i < s->jobs.count; i++) {
        const struct steady_job *j = &s->jobs.items[i];

        if (j->status->state != JOB_RUNNING)
            continue;
        if (steady_gang_goes(s, (int)i))
            plan_seat(plan, j->seat, steady_gang_goes(s, (int)i), j->status->job.devices);
        else if (j->moved)
            plan_seat(plan, j->seat, &j->device, 1);
        else
            plan_seat(plan, j->seat, j->status->devices, j->status->device_count);
    }
}

/* Everybody on the device has been measured in this company. */
static bool all_paced(const struct steady *s, const int *members)
{
    for (int e = 0; e < 2 && members[e] >= 0; e++) {
        const struct steady_job *j = &s->jobs.items[members[e]];

        if (!j->paced || j->moved)
            return false;
    }
    return true;
}

/* The limit each device costs the least with; none before its jobs have been seen to
 * keep their requirements without. */
static void write_caps(struct steady *s, struct plan *plan)
{
    for (int d = 0; d < s->in->cluster->device_count; d++) {
        const int *m = steady_members(s, d);

        plan->cap_watts[d] = 0;
        if (!all_paced(s, m))
            continue;
        steady_cost(s, s->in->cluster->devices[d].type, m[0], m[1], &plan->cap_watts[d]);
    }
}

static void steady_plan(void *self, const struct optimize_input *in, struct plan *plan)
{
    struct steady *s = self;

    s->settings = *in->settings;
    if (s->settings.moves)
        s->settings.confidence = s->settings.trial_confidence;
    plan_reset(plan, in);
    steady_load(s, in);
    steady_set_price(s);
    steady_settle_trials(s);
    steady_look(s, steady_view_moving(s));
    steady_mend(s);
    steady_mend_gangs(s);
    if (in->settings->moves && in->now_s - s->improved_s >= IMPROVE_S) {
        steady_improve(s);
        s->improved_s = in->now_s;
    }
    write_running(s, plan);
    steady_place_waiting(s, plan);
    write_caps(s, plan);
    steady_keep_limit(s, plan);
    /* Under a limit on power a node without jobs is not kept awake for the next. */
    plan_sleep_idle(plan, in,
                    in->settings->power_limit_watts > 0 ? 0 : IDLE_BEFORE_SLEEP_S);
    plan->learning = s->learning;
}

const struct planner_ops steady_planner_ops = {
    .name = "steady",
    .create = steady_create,
    .plan = steady_plan,
    .destroy = steady_destroy,
};
