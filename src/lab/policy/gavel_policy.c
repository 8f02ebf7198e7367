/* gavel_policy.c - the planners of the Gavel policies: a round builds columns
 * (gavel_columns.c), solves for shares (gavel_solve.c) and seats jobs (gavel_seats.c)
 *
 * Told rates, alone and in pairs; moves every round; shares only when packed; power
 * limits only where energy is the price; idle nodes sleep. */
#include "lab/policy/gavel_policy.h"

#include "base/rng.h"
#include "loop/optimize/plan.h"
#include "lab/policy/policy.h"

#include <math.h>

#define IDLE_BEFORE_SLEEP_S 300.0
/* A round is at least this share of the time since somebody came or went. */
#define AGE_SHARE       0.1
#define LONGEST_ROUND_S 3600.0

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
    vec_free(&g->waiting);
    vec_free(&g->window);
    vec_free(&g->window_jobs);
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

/* Who is there and who runs. */
static uint64_t state_found(const struct optimize_input *in)
{
    uint64_t hash = in->job_count;

    for (size_t i = 0; i < in->job_count; i++)
        hash =
            rng_mix(hash, in->jobs[i]->job.id * 2 + (in->jobs[i]->state == JOB_RUNNING));
    return hash;
}

/* What state_found() will say when the plan has been carried out and nothing else has
 * happened: our own rotations are no news that call for a round. */
static uint64_t state_planned(const struct optimize_input *in, const struct plan *plan)
{
    uint64_t hash = in->job_count;

    for (size_t i = 0; i < in->job_count; i++)
        hash = rng_mix(hash, in->jobs[i]->job.id * 2 + (plan->seats[i].device_count > 0));
    return hash;
}

static int by_last_start(const void *a, const void *b)
{
    const struct gavel_waiting *x = a, *y = b;

    if (x->last_start_s != y->last_start_s)
        return x->last_start_s < y->last_start_s ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

/* The jobs the program looks at: who runs, and of those who wait as many as there are
 * devices.  Where shares are to be fair, these are the ones that have not run for the
 * longest, so that all get their turn; else the first in the queue.  A queue of a
 * thousand would make programs of a thousand rows, thousands of times. */
static void choose_window(struct gavel *g, const struct optimize_input *in)
{
    size_t most = (size_t)in->cluster->device_count;

    vec_clear(&g->window);
    vec_clear(&g->waiting);
    for (size_t i = 0; i < in->job_count; i++) {
        const struct job_status *job = in->jobs[i];
        bool ran = g->objective == GAVEL_MAXMIN && !isnan(job->placed_s);

        if (job->state == JOB_RUNNING)
            vec_push(&g->window, i);
        else
            vec_push(&g->waiting, (struct gavel_waiting){i, ran ? job->placed_s : -1});
    }
    if (g->waiting.count > most) {
        qsort(g->waiting.items, g->waiting.count, sizeof(*g->waiting.items),
              by_last_start);
        g->waiting.count = most;
    }
    vec_each (struct gavel_waiting, w, &g->waiting)
        vec_push(&g->window, w->at);
    vec_clear(&g->window_jobs);
    vec_each (size_t, at, &g->window)
        vec_push(&g->window_jobs, in->jobs[*at]);
}

static void solve_window(struct gavel *g, const struct optimize_input *in,
                         struct plan *plan)
{
    struct optimize_input window = *in;

    choose_window(g, in);
    window.jobs = g->window_jobs.items;
    window.job_count = g->window_jobs.count;
    gavel_collect(g, &window);
    gavel_solve(g, &window);
    gavel_seat(g, &window, plan);
}

/* Rounds grow with the age of the state: traces span years, and days in which nobody
 * comes or goes need no program every six minutes to share them out. */
static double round_length(const struct gavel *g, double now_s)
{
    return fmax(GAVEL_ROUND_S, fmin(LONGEST_ROUND_S, AGE_SHARE * (now_s - g->news_s)));
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
    bool news = state_found(in) != g->expected;

    if (news)
        g->news_s = in->now_s;
    plan_reset(out, in);
    if (!news && in->now_s - g->solved_s < round_length(g, in->now_s)) {
        keep_all(in, out);
    } else {
        solve_window(g, in, out);
        g->solved_s = in->now_s;
        g->expected = state_planned(in, out);
    }
    if (g->objective == GAVEL_ENERGY) {
        occupancy_load_plan(&g->occupancy, in, out);
        device_caps_write(&g->occupancy, in, out, &(struct device_cap_rule){0});
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

static void *create_energy_packed(uint64_t seed)
{
    (void)seed;
    return create(GAVEL_ENERGY, true);
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
const struct planner_ops policy_gavel_energy_packed_ops = {.name = "gavel-energy-packed",
                                                           .create = create_energy_packed,
                                                           .plan = plan,
                                                           .destroy = destroy};
