/* test_planner_cost.c - what a place costs, against the same worked out step by step
 *
 * Worlds are drawn at random: jobs of all kinds that wait, run and were measured, on
 * devices with and without power limits.  For each the planner's figures are compared
 * with those of docs/optimizer.md, written here as plainly as may be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/rng.h"
#include "fixture/planner_world.h"
#include "loop/requirement.h"

#define WORLDS 60

static struct planner_world w;
static struct rng rng;

static int tear_down(void **state)
{
    (void)state;
    world_fini(&w);
    return 0;
}

static double between(double low, double high)
{
    return low + (high - low) * rng_uniform(&rng);
}

static bool chance(double share)
{
    return rng_uniform(&rng) < share;
}

static void draw_job(void)
{
    struct job_status *s = chance(0.3) ? world_service(&w, between(2, 30))
                                       : world_job(&w, chance(0.2) ? 0 : between(2, 30));
    uint64_t id = s->job.id;

    for (int t = 0; t < WORLD_TYPES; t++) {
        w.beliefs.rate[id][t] = between(3, 50);
        w.beliefs.watts[id][t] = between(0.4, 1.05) * world_types[t].tdp_watts;
        w.beliefs.fits[id][t] = chance(0.15) ? 0.3 : chance(0.1) ? 0.5 : 1;
    }
    w.beliefs.beside[id] = between(0.4, 0.95);
    if (s->job.kind == JOB_INFERENCE && chance(0.6)) {
        s->demand = s->asked = s->asked_least = between(0.3, 0.9) * s->job.need.rate;
        s->required_rate = fmin(s->job.need.rate, 1.25 * s->demand);
    }
    s->job.need.confidence = chance(0.5) ? 0 : 0.9;
    s->job.may_share = !chance(0.15);
    s->job.types_allowed = chance(0.2) ? 1u << (id % 2) : 0;
    if (chance(0.1))
        s->job.devices = 2;
}

/* Where a device has room, and the job would be let in. */
static void run_some(void)
{
    for (size_t i = 0; i < w.count; i++) {
        struct job_status *s = &w.jobs[i];
        int d = (int)rng_below(&rng, (size_t)w.cluster->device_count);

        if (s->job.devices > 1 || w.cluster->devices[d].job_count > 1 || chance(0.2) ||
            w.cluster->nodes[w.cluster->devices[d].node].state == NODE_ASLEEP)
            continue;
        world_run(&w, s, d);
    }
    for (size_t i = 0; i < w.count; i++) {
        struct job_status *s = &w.jobs[i];
        struct device *d = &w.cluster->devices[s->devices[0]];

        if (s->device_count == 0)
            continue;
        if (chance(0.2) && d->cap_watts == 0 && s->pace.windows == 0)
            d->cap_watts = d->type == SLOW ? 140 : 280;
        if (chance(0.6))
            world_measure(&w, s, between(1, 40), chance(0.5) ? between(80, 300) : 0);
    }
}

static void draw_world(uint64_t seed)
{
    rng_stream(&rng, seed, 1);
    world_init(&w);
    world_node(&w, SLOW, 2);
    world_node(&w, FAST, 3);
    world_node(&w, SLOW, 1);
    world_node(&w, FAST, 2);
    w.cluster->nodes[3].may_sleep = false;
    w.cluster->nodes[2].state = NODE_ASLEEP;
    w.cluster->devices[1].drained = chance(0.3);
    w.beliefs.sd = between(0.02, 0.4);
    w.beliefs.demand_slows = 0.01;
    w.beliefs.more_watts = between(0, 40);
    w.settings.caps = chance(0.7);
    w.settings.sleep = chance(0.8);
    w.settings.share_max = chance(0.2) ? 1 : 2;
    for (int i = 0; i < 9; i++)
        draw_job();
    run_some();
    w.planner->settings = w.settings;
    planner_load(w.planner, world_input(&w));
    planner_set_price(w.planner);
}

/* ---- the same step by step ---- */

/* What is believed of one of two jobs that share a device, or of one alone. */
struct share {
    const struct job_status *job;
    double guess, sure, hope;
    bool here, measured;
};

static void believe(int type, const struct job_status *const *jobs, int count,
                    struct share *shares, double *watts, double *fits)
{
    struct combination where = {.type = type, .count = count};
    struct prediction p;

    for (int i = 0; i < count; i++)
        where.members[i] = (struct member){&jobs[i]->job, 1, requirement_demand(jobs[i])};
    world_predict(&w.beliefs, NULL, &where, &p);
    for (int i = 0; i < count; i++) {
        const struct job_status *s = jobs[i];
        const struct device *d = &w.cluster->devices[s->devices[0]];
        bool here = s->device_count > 0 && d->type == type && d->job_count == count;

        for (int k = 0; k < count; k++)
            here =
                here && jobs[k]->device_count > 0 && jobs[k]->devices[0] == s->devices[0];
        shares[i] =
            (struct share){.job = s,
                           .guess = p.rate[i].value,
                           .sure = estimate_at_confidence(
                               &p.rate[i], requirement_confidence(&w.settings, &s->job)),
                           .hope = estimate_at_confidence(&p.rate[i], 0.1),
                           .here = here,
                           .measured = here && recent_rate_known(s, w.cluster)};
    }
    *watts = p.watts.value;
    *fits = p.fits;
}

static double best_alone(const struct job_status *s)
{
    double best = 0;

    for (int t = 0; t < WORLD_TYPES; t++)
        if (!s->job.types_allowed || s->job.types_allowed >> t & 1)
            best = fmax(best, w.beliefs.rate[s->job.id][t]);
    return best;
}

static struct power_capped under(int type, double watts, double cap)
{
    const struct gpu_sheet *gpu = &world_types[type];
    struct power_capped run = {.watts = watts, .speed = 1};

    if (cap > 0) {
        run = power_under_cap(gpu, power_busy(gpu, watts), cap);
        run.watts = fmin(run.watts, watts);
    }
    return run;
}

/* The same as the planner reads it, from a table of 64 steps: a limit that hardly binds
 * is one or none by the last digit. */
static struct power_capped under_table(int type, double watts, int cap)
{
    return planner_under_cap(&w.planner->types[type], cap, watts);
}

static double kept_rate(const struct job_status *s)
{
    double need = requirement_rate_now(s, w.now_s),
           kept = requirement_rate_kept(s, w.now_s);

    return s->job.kind == JOB_INFERENCE ? fmin(need, 1.03 * kept) : kept;
}

/* What is measured counts, of a service only that it falls short. */
static bool take_measured(const struct share *x, int type, double watts, double *guess,
                          double *sure)
{
    const struct job_status *s = x->job;
    double cap = s->pace.cap_watts, full = cap > 0 ? under(type, watts, cap).speed : 1;

    if (s->job.kind == JOB_TRAINING)
        *guess = *sure = s->pace.rate / full;
    else if (recent_rate_falls_short(s, 0))
        *guess = *sure = fmin(*guess, fmin(s->pace.rate, 0.95 * kept_rate(s)) / full);
    else
        return true;
    return false;
}

static bool is_service_under(const struct share *x, double speed)
{
    return speed < 1 && x->job->job.kind == JOB_INFERENCE;
}

/* A service that does well is moved only to where it could answer all it may be asked. */
static bool does_well(const struct job_status *s)
{
    return s->job.kind == JOB_INFERENCE && recent_rate_known(s, w.cluster) &&
           !recent_rate_falls_short(s, 0);
}

static double new_need(const struct job_status *s)
{
    return does_well(s) ? s->job.need.rate : requirement_rate_now(s, w.now_s);
}

/* What was not measured is doubted: 150 W for the chance to fall short. */
static double doubt(const struct share *x)
{
    double need = new_need(x->job), sd = log(x->hope / x->guess) / 1.2815515655;

    return need > 0 ? 150 * 0.5 * erfc(-log(need / x->guess) / sd / sqrt(2)) : 0;
}

/* What a limit has to leave: it holds already, or it is believed in. */
static double cap_margin(const struct share *x, bool tried, bool beside_service)
{
    bool serves = x->job->job.kind == JOB_INFERENCE;

    return (tried ? 1 : 1.05) * (serves ? 1.25 : beside_service ? 1.06 : 1);
}

static bool suffers(const struct job_status *s)
{
    if (!recent_rate_known(s, w.cluster) || !recent_rate_falls_short(s, kept_rate(s)))
        return false;
    return s->job.kind == JOB_INFERENCE || s->pace.windows >= 2 ||
           s->pace.rate < 0.95 * kept_rate(s);
}

/* It falls short alone on such a device: a neighbour does not make it better. */
static void take_short_alone(const struct share *x, int type, double watts, double *guess,
                             double *sure)
{
    const struct job_status *s = x->job;
    const struct device *d = &w.cluster->devices[s->devices[0]];
    double most = *guess;

    if (x->here || s->device_count != 1 || d->type != type || d->job_count != 1 ||
        !suffers(s))
        return;
    take_measured(x, type, watts, guess, sure);
    *guess = *sure = fmin(*guess, most);
}

static double share_cost(const struct share *x, int type, double watts, double speed,
                         double boldness, bool tried, bool beside_service)
{
    const struct job_status *s = x->job;
    double worth = s->job.kind == JOB_TRAINING ? w.planner->price * s->job.devices : 0;
    double guess = x->guess, sure = x->sure, need = requirement_rate_now(s, w.now_s),
           rate;
    double cost = 0;
    bool keeps = false;

    if (!x->here && does_well(s))
        sure = guess * guess / x->hope;

    if (x->measured)
        keeps = take_measured(x, type, watts, &guess, &sure);
    else
        guess *= pow(x->hope / guess, boldness);
    take_short_alone(x, type, watts, &guess, &sure);
    rate = speed * (x->here && !is_service_under(x, speed) ? guess : sure);
    need = speed < 1 ? cap_margin(x, tried, beside_service) * need
           : x->here ? kept_rate(s)
                     : new_need(s);
    if (rate < need && !(keeps && speed >= 1))
        cost += 1e5 * (0.2 + (need - rate) / need);
    else if (!x->measured)
        cost += doubt(x);
    return cost - worth * fmin(1, speed * guess / best_alone(s));
}

/* Limits go in steps of 5 %: NAN where a card takes none that low. */
static double cap_watts(int type, int step)
{
    double cap = world_types[type].tdp_watts * (1 - 0.05 * step);

    return step == 0 ? 0 : cap >= world_types[type].cap_min_watts ? cap : NAN;
}

/* NAN: it does not fit. */
static double cost_with_cap(int type, const struct job_status *const *jobs, int count,
                            int cap, bool bold)
{
    struct share shares[2];
    double watts, fits, cost;
    struct power_capped run;
    bool tried = true;

    believe(type, jobs, count, shares, &watts, &fits);
    if (fits < 0.5 && !shares[0].here)
        return NAN;
    run = under_table(type, watts, cap);
    cost = (run.watts - world_types[type].idle_watts) * shares[0].job->job.devices;
    for (int i = 0; i < count; i++) {
        double in_force = jobs[i]->pace.cap_watts;

        tried = tried && shares[i].measured && in_force > 0 &&
                cap_watts(type, cap) >= in_force;
    }
    for (int i = 0; i < count; i++)
        cost += share_cost(&shares[i], type, watts, run.speed,
                           !bold        ? 0
                           : count == 1 ? 1
                                        : 0.75,
                           tried, count > 1 && jobs[1 - i]->job.kind == JOB_INFERENCE);
    return cost;
}

static int index_of(int type, double cap)
{
    int c = 0;

    while (fabs(cap_watts(type, c) - cap) > 0.5)
        c++;
    return c;
}

static bool all_measured(const struct job_status *const *jobs, int count)
{
    for (int i = 0; i < count; i++)
        if (!recent_rate_known(jobs[i], w.cluster))
            return false;
    return true;
}

static double cost_at_best(int type, const struct job_status *const *jobs, int count,
                           bool bold)
{
    double best = NAN;

    if (count == 0)
        return 0;
    for (int c = 0; c <= 10; c++)
        if (c == 0 || (w.settings.caps && !isnan(cap_watts(type, c))))
            best = fmin(best, cost_with_cap(type, jobs, count, c, bold));
    return best;
}

/* What a limit does is read from a table of 64 steps. */
static void assert_cost(double planned, double expected)
{
    if (isnan(expected))
        assert_true(planned >= PLANNER_NEVER / 2);
    else if (!(fabs(planned - expected) <= 0.5 + 0.002 * fabs(expected)))
        fail_msg("planned %g, expected %g", planned, expected);
}

static void look(bool bold)
{
    planner_look(w.planner, bold ? (struct planner_view){.alone = 1, .pair = 0.75}
                                 : (struct planner_view){0});
}

static void each_cost(bool bold)
{
    look(bold);
    for (int type = 0; type < WORLD_TYPES; type++)
        for (int a = 0; a < (int)w.count; a++)
            for (int b = -1; b < a; b++) {
                const struct job_status *jobs[] = {&w.jobs[a], b < 0 ? NULL : &w.jobs[b]};
                double expected = cost_at_best(type, jobs, b < 0 ? 1 : 2, bold);
                double cap;

                /* First as it is worked out, then as it is remembered. */
                for (int again = 0; again < 2; again++) {
                    assert_cost(planner_cost(w.planner, type, a, b, NULL), expected);
                    assert_cost(planner_cost(w.planner, type, b, a, NULL), expected);
                }
                if (all_measured(jobs, b < 0 ? 1 : 2))
                    continue; /* what is set next is another matter, see below */
                assert_cost(planner_cost(w.planner, type, a, b, &cap), expected);
                if (!isnan(expected))
                    assert_cost(cost_with_cap(type, jobs, b < 0 ? 1 : 2,
                                              index_of(type, cap), bold),
                                expected);
            }
}

/* The planner lists running and waiting jobs in an order of its own. */
static void in_order_of_input(void)
{
    for (size_t i = 0; i < w.count; i++)
        assert_ptr_equal(w.planner->jobs.items[i].status, &w.jobs[i]);
}

static void a_device_costs_its_power_its_broken_promises_less_its_progress(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= WORLDS; seed++) {
        draw_world(seed);
        in_order_of_input();
        each_cost(false);
        each_cost(true);
        if (seed < WORLDS)
            world_fini(&w);
    }
}

/* ---- coming to a device, and leaving it ---- */

static int list_on(int device, const struct job_status *but,
                   const struct job_status **jobs)
{
    int count = 0;

    for (size_t i = 0; i < w.count; i++)
        for (int k = 0; k < w.jobs[i].device_count; k++)
            if (w.jobs[i].devices[k] == device && &w.jobs[i] != but)
                jobs[count++] = &w.jobs[i];
    return count;
}

static double awake_cost(int node)
{
    const struct node *n = &w.cluster->nodes[node];
    int type = w.cluster->devices[n->first_device].type;

    return !w.settings.sleep || !n->may_sleep
               ? 0
               : n->host_watts + n->device_count * world_types[type].idle_watts -
                     n->sleep_watts;
}

static bool may_share(const struct job_status *s)
{
    return s->job.may_share && s->job.devices == 1 && w.settings.share_max > 1;
}

/* NAN: it may not, or does not fit. */
static double cost_to_come(const struct job_status *s, int device, double share)
{
    const struct device *d = &w.cluster->devices[device];
    const struct job_status *jobs[4];
    int count = list_on(device, s, jobs);
    double cost;

    if (count == 2 || d->drained ||
        (s->job.types_allowed && !(s->job.types_allowed >> d->type & 1)) ||
        (count == 1 && (!may_share(s) || !may_share(jobs[0]))))
        return NAN;
    cost = -cost_at_best(d->type, jobs, count, false);
    jobs[count] = s;
    cost += cost_at_best(d->type, jobs, count + 1, false);
    if (cluster_node_jobs(w.cluster, d->node) == 0)
        cost += share * awake_cost(d->node);
    return cost;
}

static void what_a_job_adds_to_a_device_is_the_difference(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= WORLDS; seed++) {
        draw_world(seed);
        look(false);
        for (int i = 0; i < (int)w.count; i++) {
            struct planner_seats best;
            double cheapest = NAN;

            if (w.jobs[i].device_count > 0)
                continue;
            for (int d = 0; d < w.cluster->device_count; d++) {
                bool asleep =
                    w.cluster->nodes[w.cluster->devices[d].node].state == NODE_ASLEEP;
                double half = cost_to_come(&w.jobs[i], d, 0.5) + asleep;

                assert_cost(planner_add_cost(w.planner, i, d, 1),
                            cost_to_come(&w.jobs[i], d, 1));
                cheapest = fmin(cheapest, half);
            }
            if (w.jobs[i].job.devices == 1) {
                assert_int_equal(planner_find_seats(w.planner, i, &best),
                                 !isnan(cheapest));
                assert_cost(best.cost, cheapest);
                if (!isnan(cheapest))
                    assert_true(cost_to_come(&w.jobs[i], best.devices[0], 0.5) <=
                                cheapest + 0.5 + 0.002 * fabs(cheapest));
            }
        }
        if (seed < WORLDS)
            world_fini(&w);
    }
}

static void what_a_place_costs_is_what_leaving_it_saves(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= WORLDS; seed++) {
        draw_world(seed);
        look(false);
        for (int i = 0; i < (int)w.count; i++) {
            const struct job_status *s = &w.jobs[i], *jobs[4];
            const struct device *d = &w.cluster->devices[s->devices[0]];
            double expected;
            int count;

            if (s->device_count == 0)
                continue;
            count = list_on(s->devices[0], s, jobs);
            expected = -cost_at_best(d->type, jobs, count, false);
            jobs[count] = s;
            expected += cost_at_best(d->type, jobs, count + 1, false);
            if (cluster_node_jobs(w.cluster, d->node) == 1)
                expected += awake_cost(d->node);
            if (!isnan(expected))
                assert_cost(planner_place_cost(w.planner, i), expected);
        }
        if (seed < WORLDS)
            world_fini(&w);
    }
}

/* ---- what a device draws ---- */

static void a_device_draws_what_its_limit_leaves_and_keeps_what_it_can(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= WORLDS; seed++) {
        draw_world(seed);
        w.settings.caps = w.planner->settings.caps = true;
        planner_load(w.planner, world_input(&w));
        for (int type = 0; type < WORLD_TYPES; type++)
            for (int a = 0; a < (int)w.count; a++)
                for (int b = -1; b < a; b++)
                    for (int c = 0; c <= (type == SLOW ? 8 : 9); c++) {
                        const struct job_status *jobs[] = {&w.jobs[a],
                                                           b < 0 ? NULL : &w.jobs[b]};
                        int count = b < 0 ? 1 : 2;
                        double cap = cap_watts(type, c), watts, fits;
                        struct planner_draw draw =
                            planner_draw(w.planner, type, a, b, cap);
                        struct share shares[2];
                        struct power_capped run;
                        bool kept = true, close = false;

                        believe(type, jobs, count, shares, &watts, &fits);
                        if (fits < 0.5 && !shares[0].here)
                            continue;
                        run = under_table(type, watts, w.settings.caps ? c : 0);
                        for (int i = 0; i < count; i++) {
                            const struct share *x = &shares[i];
                            const struct job_status *s = x->job;
                            double guess = x->guess;
                            double sure = !x->here && does_well(s)
                                              ? guess * guess / x->hope
                                              : x->sure;
                            bool keeps = x->measured &&
                                         take_measured(x, type, watts, &guess, &sure);
                            double rate, need;

                            take_short_alone(x, type, watts, &guess, &sure);
                            rate = run.speed * (x->here && !is_service_under(x, run.speed)
                                                    ? guess
                                                    : sure);
                            need = requirement_rate_now(s, w.now_s) *
                                   (run.speed < 1 ? 1.05 : 1);
                            kept = kept && (rate >= need || (keeps && run.speed >= 1));
                            close = close || fabs(rate - need) < 0.005 * need ||
                                    (cap > 0 && run.speed > 0.98 &&
                                     fabs(rate / need - 1) < 0.06);
                        }
                        assert_true(fabs(draw.watts - run.watts) <= 0.01 * run.watts);
                        if (!close)
                            assert_int_equal(draw.kept, kept);
                    }
        if (seed < WORLDS)
            world_fini(&w);
    }
}

static void a_device_without_jobs_draws_its_idle_watts(void **state)
{
    (void)state;
    draw_world(1);
    assert_true(planner_draw(w.planner, FAST, -1, -1, 0).watts == 50);
    assert_true(planner_draw(w.planner, FAST, -1, -1, 0).kept);
    assert_true(planner_cost(w.planner, FAST, -1, -1, NULL) == 0);
}

#define planner_test(f) cmocka_unit_test_teardown(f, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        planner_test(a_device_costs_its_power_its_broken_promises_less_its_progress),
        planner_test(what_a_job_adds_to_a_device_is_the_difference),
        planner_test(what_a_place_costs_is_what_leaving_it_saves),
        planner_test(a_device_draws_what_its_limit_leaves_and_keeps_what_it_can),
        planner_test(a_device_without_jobs_draws_its_idle_watts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
