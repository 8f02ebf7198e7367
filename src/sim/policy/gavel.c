/* gavel.c - the planners of the Gavel policies; see gavel.h */
#include "sim/policy/gavel.h"

#include "base/rng.h"
#include "loop/optimize/plan.h"
#include "sim/policy/policy.h"

#include <math.h>

#define IDLE_BEFORE_SLEEP_S 300.0

static void *create(enum gavel_objective objective, bool packed)
{
    struct gavel *g = mem_new(struct gavel);

    g->objective = objective;
    g->packed = packed;
    g->lp = lp_create();
    g->pair_index = map_create();
    g->credit_index = map_create();
    g->solved_s = NAN;
    return g;
}

static void destroy(void *self)
{
    struct gavel *g = self;

    lp_destroy(g->lp);
    map_destroy(g->pair_index);
    map_destroy(g->credit_index);
    vec_free(&g->alone);
    vec_free(&g->best_rate);
    vec_free(&g->columns);
    vec_free(&g->pairs);
    vec_free(&g->credits);
    vec_free(&g->order);
    vec_free(&g->seat_of);
    occupancy_fini(&g->occupancy);
    choose_fini(&g->choose);
    free(g);
}

/* Who is there, who runs: a change calls for a round at once. */
static uint64_t state_of(const struct optimize_input *in)
{
    uint64_t hash = in->job_count;

    for (size_t i = 0; i < in->job_count; i++)
        hash =
            rng_mix(hash, in->jobs[i]->job.id * 2 + (in->jobs[i]->state == JOB_RUNNING));
    return hash;
}

static void keep_all(const struct optimize_input *in, struct plan *plan)
{
    for (size_t i = 0; i < in->job_count; i++)
        if (in->jobs[i]->state == JOB_RUNNING)
            plan_keep(plan, in, i);
}

static void plan(void *self, const struct optimize_input *in, struct plan *out)
{
    struct gavel *g = self;
    uint64_t jobs = state_of(in);
    bool due = !(in->now_s - g->solved_s < GAVEL_ROUND_S); /* also before the first */

    plan_reset(out, in);
    if (jobs == g->solved_for && !due) {
        keep_all(in, out);
    } else {
        gavel_collect(g, in);
        gavel_solve(g, in);
        gavel_seat(g, in, out);
        g->solved_s = in->now_s;
        g->solved_for = jobs;
    }
    plan_sleep_idle(out, in, IDLE_BEFORE_SLEEP_S);
}

static void *create_maxmin(uint64_t seed)
{
    (void)seed; /* nothing here is drawn */
    return create(GAVEL_MAXMIN, false);
}

static void *create_maxmin_packed(uint64_t seed)
{
    (void)seed;
    return create(GAVEL_MAXMIN, true);
}

static void *create_cost(uint64_t seed)
{
    (void)seed;
    return create(GAVEL_COST, false);
}

static void *create_cost_packed(uint64_t seed)
{
    (void)seed;
    return create(GAVEL_COST, true);
}

const struct planner_ops policy_gavel_maxmin_ops = {
    .name = "gavel-maxmin", .create = create_maxmin, .plan = plan, .destroy = destroy};
const struct planner_ops policy_gavel_maxmin_packed_ops = {.name = "gavel-maxmin-packed",
                                                           .create = create_maxmin_packed,
                                                           .plan = plan,
                                                           .destroy = destroy};
const struct planner_ops policy_gavel_cost_ops = {
    .name = "gavel-cost", .create = create_cost, .plan = plan, .destroy = destroy};
const struct planner_ops policy_gavel_cost_packed_ops = {.name = "gavel-cost-packed",
                                                         .create = create_cost_packed,
                                                         .plan = plan,
                                                         .destroy = destroy};
