/* test_planner_limit.c - the power of the whole cluster stays below a limit, by what
 * hurts least */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "fixture/planner_world.h"
#include "fixture/policy.h"

static struct planner_world w;
static struct policy_round r;

static int tear_down(void **state)
{
    (void)state;
    world_fini(&w);
    return 0;
}

/* Nodes of a fast device with a job each: 100 W and what the device draws. */
static void run_on_fast(int count, const double *device_watts)
{
    world_init(&w);
    for (int i = 0; i < count; i++) {
        struct job_status *s;

        world_node(&w, FAST, 1);
        s = world_run(&w, world_job(&w, 10), i);
        s->job.may_share = false;
        s->placed_s = w.now_s - 100; /* too short to be moved for cost */
        w.beliefs.watts[s->job.id][FAST] = device_watts[i];
        w.beliefs.rate[s->job.id][SLOW] = 1;
    }
}

static void plan_within(double watts)
{
    w.settings.power_limit.watts = watts;
    world_plan(&w);
}

static void assert_cap(int device, double watts)
{
    if (fabs(w.plan.cap_watts[device] - watts) >= 0.01)
        fail_msg("device %d has a limit of %g W, not %g", device,
                 w.plan.cap_watts[device], watts);
}

static int stopped(void)
{
    int count = 0;

    for (size_t i = 0; i < w.count; i++)
        count += w.jobs[i].state == JOB_RUNNING && world_seat(&w, &w.jobs[i]) < 0;
    return count;
}

/* ---- what counts ---- */

static void everything_that_draws_counts(void **state)
{
    static const struct {
        const char *what;
        enum node_state state;
        bool may_sleep, sleep;
        double watts; /* of the empty node of two fast devices */
    } cases[] = {
        {"asleep", NODE_ASLEEP, true, true, 10},
        {"will sleep", NODE_AWAKE, true, true, 10},
        {"may not sleep", NODE_AWAKE, false, true, 100 + 2 * 50},
        {"nothing sleeps", NODE_AWAKE, true, false, 100 + 2 * 50},
        {"wakes", NODE_WAKING, true, true, 100 + 2 * 50},
        {"is down", NODE_DOWN, true, true, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        for (int above = 0; above < 2; above++) {
            double all = 2 * 300 + cases[i].watts;

            run_on_fast(2, (const double[]){200, 200});
            world_node(&w, FAST, 2);
            w.cluster->nodes[2].state = cases[i].state;
            w.cluster->nodes[2].may_sleep = cases[i].may_sleep;
            w.settings.sleep = cases[i].sleep;
            plan_within(all + (above ? 0.5 : -0.5));
            if (stopped() != !above)
                fail_msg("a node that %s: %d stopped", cases[i].what, stopped());
            world_fini(&w);
        }
    }
    run_on_fast(1, (const double[]){200});
}

/* A lower limit is kept from two minutes before it holds, and the plan says when it
 * becomes another one; w.now_s is 02:46:40. */
static void the_limit_of_the_hour_counts(void **state)
{
    static const struct {
        double now_s, again_s;
        int stopped;
    } cases[] = {
        {10000, 10800 - 120, 0}, {10800 - 121, 10800 - 120, 0},
        {10800 - 119, 10800, 1}, {10800, 14400 - 120, 1},
        {14399, 14400, 1},       {14400, 86400 + 10800 - 120, 0},
    };
    struct err err = {0};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        run_on_fast(2, (const double[]){200, 200});
        assert_int_equal(
            power_schedule_parse("610W, 03:00-04:00 590W", &w.settings.power_limit, &err),
            0);
        w.now_s = cases[i].now_s;
        world_plan(&w);
        if (stopped() != cases[i].stopped)
            fail_msg("at %g s %d stopped", w.now_s, stopped());
        if (fabs(w.plan.again_s - cases[i].again_s) > 1e-6)
            fail_msg("at %g s again at %g", w.now_s, w.plan.again_s);
        world_fini(&w);
    }
    run_on_fast(1, (const double[]){200});
}

static void what_was_measured_counts_instead_of_beliefs(void **state)
{
    (void)state;
    for (int above = 0; above < 2; above++) {
        run_on_fast(2, (const double[]){200, 200});
        world_measure(&w, &w.jobs[0], 40, 260);
        world_measure(&w, &w.jobs[1], 40, 0); /* only its rate */
        plan_within(200 + 260 + 200 + (above ? 0.5 : -0.5));
        assert_int_equal(stopped(), !above);
        world_fini(&w);
    }
    for (int above = 0; above < 2;
         above++) { /* of two the first says it for the device */
        struct job_status *second;

        run_on_fast(1, (const double[]){200});
        w.jobs[0].job.may_share = true;
        second = world_run(&w, world_job(&w, 10), 0);
        w.beliefs.watts[2][FAST] = 200;
        w.beliefs.more_watts = 40;
        world_measure(&w, &w.jobs[0], 24, 300);
        world_measure(&w, second, 24, 0);
        plan_within(100 + 300 + (above ? 0.5 : -0.5));
        assert_int_equal(stopped() > 0, !above);
        if (!above)
            world_fini(&w);
    }
}

/* A fast device whose job draws this much alone, under this limit. */
static double drawn_under(double watts, double cap)
{
    const struct gpu_sheet *gpu = &world_types[FAST];

    return power_under_cap(gpu, power_busy(gpu, watts), cap).watts;
}

static void a_cap_in_force_bounds_what_is_believed(void **state)
{
    double least = drawn_under(390, 200);

    (void)state;
    for (int above = 0; above < 2; above++) {
        run_on_fast(1, (const double[]){390});
        w.settings.caps = true;
        w.jobs[0].job.need.rate = w.jobs[0].required_rate = 1;
        world_measure(&w, &w.jobs[0], 40, 390);
        plan_within(100 + least + (above ? 1 : -1)); /* as deep as it goes */
        assert_int_equal(stopped(), !above);
        assert_cap(0, 200);
        if (!above)
            world_fini(&w);
    }
}

/* ---- power limits before anything else ---- */

static void the_cap_that_saves_most_comes_first(void **state)
{
    (void)state;
    run_on_fast(3, (const double[]){360, 395, 300});
    w.settings.caps = true;
    plan_within((3 * 100 + 360 + 395 + 300 - 10) / 0.97);
    assert_int_equal(stopped(), 0);
    assert_cap(0, 0);
    assert_cap(1, 380);
    assert_cap(2, 340); /* held to a tenth above what it is believed to draw */
    plan_within((3 * 100 + 360 + 395 + 300 - 60) / 0.97);
    assert_true(w.plan.cap_watts[1] > 0 && w.plan.cap_watts[1] < 400);
    /* Step by step where the next saves most: nobody is far deeper than who draws more.
     */
    assert_true(w.plan.cap_watts[0] == 0 ||
                w.plan.cap_watts[0] >= w.plan.cap_watts[1] - 20.01);
}

static void nothing_is_capped_below_97_percent(void **state)
{
    (void)state;
    run_on_fast(1, (const double[]){390});
    w.settings.caps = true;
    plan_within(490 / 0.96);
    assert_cap(0, 0);
    plan_within(490 / 0.98);
    assert_cap(0, 380);
}

/* The first needs all it does: it keeps it as long as the limit holds. */
static void promises_are_capped_last(void **state)
{
    (void)state;
    run_on_fast(2, (const double[]){395, 360});
    w.settings.caps = true;
    w.jobs[0].job.need.rate = w.jobs[0].required_rate = 39.5;
    plan_within((2 * 100 + 395 + 360 - 10) / 0.97);
    assert_cap(0, 0);
    assert_cap(1, 360);
    w.jobs[1].job.need.rate = w.jobs[1].required_rate = 39.5;
    plan_within((2 * 100 + 395 + 360) / 0.98); /* above 97 %, below the limit */
    assert_true(w.plan.cap_watts[0] == 0 && w.plan.cap_watts[1] == 0);
    plan_within(2 * 100 + 395 + 360 - 10); /* above it: rather slow than stopped */
    assert_cap(0, 380);
    assert_cap(1, 0);
    assert_int_equal(stopped(), 0);
}

static void caps_go_as_deep_as_needed(void **state)
{
    static const double steps[] = {340, 280, 200};

    (void)state;
    run_on_fast(1, (const double[]){395});
    w.settings.caps = true;
    w.jobs[0].job.need.rate = w.jobs[0].required_rate = 1;
    for (int i = 0; i < 3; i++) {
        plan_within((100 + drawn_under(395, steps[i]) + 1) / 0.97);
        assert_cap(0, steps[i]);
        assert_int_equal(stopped(), 0);
    }
    plan_within(100 + drawn_under(395, 200) - 1);
    assert_int_equal(stopped(), 1);
}

/* ---- what nobody has measured ---- */

/* A job comes beside one that was measured alone: both draw. */
static void a_start_beside_somebody_measured_counts(void **state)
{
    (void)state;
    for (int above = 0; above < 2; above++) {
        run_on_fast(1, (const double[]){200});
        w.jobs[0].job.may_share = true;
        w.jobs[0].job.need.rate = w.jobs[0].required_rate = 1;
        world_measure(&w, &w.jobs[0], 40, 200);
        world_job(&w, 1);
        w.beliefs.watts[2][FAST] = 200;
        w.beliefs.more_watts = 90;
        plan_within((100 + 290 + (above ? 1 : -1)) / 0.97);
        assert_int_equal(world_seat(&w, &w.jobs[1]), above ? 0 : -1);
        if (!above)
            world_fini(&w);
    }
}

/* Two that were not measured may draw 400 W each: together they are held to the limit,
 * but not to less than a tenth above what is believed. */
static void what_was_not_measured_is_held_above_beliefs(void **state)
{
    (void)state;
    run_on_fast(2, (const double[]){200, 250});
    w.settings.caps = true;
    plan_within(2000); /* room for all they can draw */
    assert_cap(0, 0);
    assert_cap(1, 0);
    plan_within((2 * 100 + 600) / 0.97);
    assert_true(w.plan.cap_watts[0] + w.plan.cap_watts[1] <= 600.01);
    assert_true(w.plan.cap_watts[0] >= 1.1 * 200 && w.plan.cap_watts[1] >= 1.1 * 250);
    assert_int_equal(stopped(), 0);
    /* Once they are measured, what they draw counts. */
    world_measure(&w, &w.jobs[0], 40, 200);
    world_measure(&w, &w.jobs[1], 40, 250);
    w.settings.caps = false;
    plan_within((2 * 100 + 460) / 0.97);
    assert_int_equal(stopped(), 0);
}

/* ---- starts are taken back ---- */

static void what_starts_leaves_a_margin_and_the_last_goes_first(void **state)
{
    (void)state;
    for (int fits = 0; fits <= 3; fits++) {
        world_init(&w);
        for (int i = 0; i < 3; i++) {
            world_node(&w, FAST, 1);
            world_job(&w, 30)->job.may_share = false;
        }
        plan_within((fits * 300 + (3 - fits) * 10 + 1) / 0.97);
        for (int i = 0; i < 3; i++) {
            assert_int_equal(world_seat(&w, &w.jobs[i]) >= 0, i < fits);
            if (i >= fits)
                assert_int_equal(w.plan.seats[i].reason, UNPLACED_POLICY);
        }
        world_fini(&w);
        world_init(&w); /* a watt less is too little */
        for (int i = 0; i < 3; i++) {
            world_node(&w, FAST, 1);
            world_job(&w, 30)->job.may_share = false;
        }
        plan_within((fits * 300 + (3 - fits) * 10 - 1) / 0.97);
        assert_int_equal(world_seat(&w, &w.jobs[fits > 0 ? fits - 1 : 0]), -1);
        if (fits < 3)
            world_fini(&w);
    }
}

/* ---- who is stopped ---- */

struct rank {
    int priority;
    enum need_kind need;
    bool may_move;
};

static void the_least_important_and_youngest_is_stopped(void **state)
{
    static const struct {
        struct rank jobs[3];
        int watts_over; /* of 300 a job */
        bool goes[3];
    } cases[] = {
        {{{0, NEED_RATE, true}, {0, NEED_RATE, true}, {0, NEED_RATE, true}},
         10,
         {false, false, true}}, /* the youngest */
        {{{0, NEED_RATE, true}, {-1, NEED_RATE, true}, {0, NEED_RATE, true}},
         10,
         {false, true, false}}, /* the lowest priority */
        {{{-1, NEED_RATE, true}, {0, NEED_RATE, true}, {1, NEED_RATE, true}},
         10,
         {true, false, false}},
        {{{0, NEED_BEST_EFFORT, true}, {0, NEED_RATE, true}, {0, NEED_RATE, true}},
         10,
         {true, false, false}}, /* best effort before promises */
        {{{0, NEED_BEST_EFFORT, true}, {0, NEED_BEST_EFFORT, true}, {0, NEED_RATE, true}},
         10,
         {false, true, false}}, /* the youngest of those */
        {{{1, NEED_BEST_EFFORT, true}, {0, NEED_RATE, true}, {1, NEED_RATE, true}},
         10,
         {false, true, false}}, /* but priorities come first */
        {{{0, NEED_RATE, true}, {0, NEED_BEST_EFFORT, false}, {0, NEED_RATE, false}},
         10,
         {true, false, false}}, /* who may not be stopped is not */
        {{{0, NEED_RATE, true}, {0, NEED_RATE, true}, {0, NEED_RATE, true}},
         310,
         {false, true, true}}, /* as many as it takes */
        {{{0, NEED_RATE, false}, {0, NEED_RATE, false}, {0, NEED_RATE, false}},
         310,
         {false, false, false}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        run_on_fast(3, (const double[]){200, 200, 200});
        for (int k = 0; k < 3; k++) {
            w.jobs[k].job.priority = cases[i].jobs[k].priority;
            w.jobs[k].job.need.kind = cases[i].jobs[k].need;
            w.jobs[k].job.may_move = cases[i].jobs[k].may_move;
        }
        plan_within(3 * 300 - cases[i].watts_over);
        for (int k = 0; k < 3; k++)
            if ((world_seat(&w, &w.jobs[k]) < 0) != cases[i].goes[k])
                fail_msg("case %zu: job %d", i, k);
        world_fini(&w);
    }
    run_on_fast(1, (const double[]){200});
    w.settings.moves = false;
    plan_within(100);
    assert_int_equal(stopped(), 0);
}

/* The youngest is stopped first, but has room again once one that draws more went. */
static void who_need_not_have_been_stopped_is_not(void **state)
{
    (void)state;
    run_on_fast(3, (const double[]){200, 350, 120});
    plan_within(3 * 100 + 200 + 350 + 120 - 300);
    assert_true(world_seat(&w, &w.jobs[0]) >= 0);
    assert_int_equal(world_seat(&w, &w.jobs[1]), -1);
    assert_true(world_seat(&w, &w.jobs[2]) >= 0);
    assert_int_equal(w.planner->node_jobs.items[2], 1);
    assert_int_equal(w.plan.seats[1].reason, UNPLACED_POLICY);
}

static void a_gang_leaves_all_its_devices(void **state)
{
    struct job_status *gang;

    (void)state;
    world_init(&w);
    world_node(&w, FAST, 2);
    gang = world_job(&w, 10);
    gang->job.devices = 2;
    world_run(&w, gang, 0);
    plan_within(100 + 2 * 200 - 1);
    assert_int_equal(world_seat(&w, gang), -1);
    assert_int_equal(w.plan.seats[0].reason, UNPLACED_POLICY);
    assert_int_equal(w.planner->node_jobs.items[0], 0);
}

static void under_a_limit_an_empty_node_sleeps_at_once(void **state)
{
    (void)state;
    for (int limited = 0; limited < 2; limited++) {
        run_on_fast(1, (const double[]){200});
        world_node(&w, FAST, 1);
        w.cluster->nodes[1].idle_since_s = w.now_s - 30;
        plan_within(limited ? 1000 : 0);
        assert_int_equal(w.plan.awake[1], !limited);
        if (!limited)
            world_fini(&w);
    }
}

static int tear_down_round(void **state)
{
    (void)state;
    policy_round_fini(&r);
    return 0;
}

/* ---- with the cards of fixture/policy.h ---- */

/* As the plan has it: everything on nodes with jobs, the others asleep. */
static double planned_watts(void)
{
    const struct cluster *c = r.cluster;
    double watts = 0;

    for (int n = 0; n < c->node_count; n++) {
        bool used = cluster_node_jobs(c, n) > 0;

        watts += used ? c->nodes[n].host_watts : c->nodes[n].sleep_watts;
        for (int i = 0; i < c->nodes[n].device_count && used; i++) {
            const struct device *d = &c->devices[c->nodes[n].first_device + i];
            double draw = d->job_count > 0 ? r.beliefs.watts[d->type]
                                           : c->types[d->type].idle_watts;
            double cap = r.plan.cap_watts[c->nodes[n].first_device + i];

            watts += cap > 0 ? fmin(cap, draw) : draw;
        }
    }
    return watts;
}

static int running_jobs(void)
{
    int count = 0;

    for (size_t i = 0; i < r.count; i++)
        count += r.jobs[i].device_count > 0;
    return count;
}

static void under_a_power_limit_fewer_start(void **state)
{
    int without;
    double all_watts;

    (void)state;
    policy_round_init(&r, "corgi", 0, 4, 1);
    for (int i = 0; i < 4; i++)
        policy_round_job(&r, 38); /* each needs a device of its own without a cap */
    policy_round_plan(&r);
    without = running_jobs();
    all_watts = planned_watts();
    policy_round_fini(&r);
    assert_int_equal(without, 4);

    policy_round_init(&r, "corgi", 0, 4, 1);
    r.settings.power_limit.watts = 0.6 * all_watts;
    for (int i = 0; i < 4; i++)
        policy_round_job(&r, 38);
    policy_round_plan(&r);
    assert_in_range(running_jobs(), 1, 3);
    assert_true(planned_watts() <= r.settings.power_limit.watts);
    assert_int_equal(r.plan.seats[3].reason, UNPLACED_POLICY);
    for (int n = 0; n < r.cluster->node_count; n++) /* none is woken for nobody */
        assert_true(!r.plan.awake[n] || cluster_node_jobs(r.cluster, n) > 0 ||
                    r.cluster->nodes[n].state == NODE_AWAKE);
}

static void a_lower_power_limit_caps_before_it_stops(void **state)
{
    double before;

    (void)state;
    policy_round_init(&r, "corgi", 0, 2, 1);
    r.beliefs.watts[1] = 280;
    policy_round_job(&r, 15)->job.may_share = false;
    policy_round_job(&r, 15)->job.may_share = false;
    policy_round_plan(&r);
    before = planned_watts();
    r.settings.power_limit.watts = before - 20;
    policy_round_plan(&r);
    assert_int_equal(running_jobs(), 2);
    assert_true(planned_watts() <= r.settings.power_limit.watts);
    assert_true(r.plan.cap_watts[0] > 0 || r.plan.cap_watts[1] > 0);
}

static void the_least_important_is_stopped_for_a_power_limit(void **state)
{
    struct job_status *a, *b, *c;

    (void)state;
    policy_round_init(&r, "corgi", 0, 3, 1);
    a = policy_round_job(&r, 38);
    b = policy_round_job(&r, 38);
    c = policy_round_job(&r, 38);
    b->job.priority = -1;
    c->job.may_move = false; /* would lose its work */
    policy_round_plan(&r);
    assert_int_equal(running_jobs(), 3);
    r.settings.power_limit.watts = planned_watts() * 0.7;
    r.settings.caps = false;
    policy_round_plan(&r);
    assert_int_equal(a->device_count, 1);
    assert_int_equal(b->device_count, 0);
    assert_int_equal(c->device_count, 1);
    assert_true(planned_watts() <= r.settings.power_limit.watts);
}

/* Beliefs may be far off at first: what the devices are measured to draw decides. */
static void a_power_limit_goes_by_measured_watts(void **state)
{
    struct measurement m = {.at_s = 60, .window_s = 60, .rate = 40, .device_watts = 290};
    double limit;

    (void)state;
    policy_round_init(&r, "corgi", 0, 2, 1);
    r.beliefs.watts[1] = 150;
    policy_round_job(&r, 15)->job.may_share = false;
    policy_round_job(&r, 15)->job.may_share = false;
    r.settings.caps = false;
    policy_round_plan(&r);
    limit = r.settings.power_limit.watts = planned_watts() + 100;
    policy_round_plan(&r);
    assert_int_equal(running_jobs(), 2); /* believed to draw less than that */
    for (size_t i = 0; i < r.count; i++)
        recent_rate_note(&r.jobs[i], r.cluster, &m);
    r.now_s += 60;
    policy_round_plan(&r);
    assert_int_equal(running_jobs(), 1); /* 140 W more each than believed */
    assert_true(planned_watts() + 140 <= limit);
}

/* Without margin for starts a job would come and go with every breath of a belief. */
static void what_a_power_limit_let_start_is_not_stopped_by_jitter(void **state)
{
    int before;

    (void)state;
    policy_round_init(&r, "corgi", 0, 4, 1);
    r.settings.power_limit.watts = 1500;
    for (int i = 0; i < 4; i++)
        policy_round_job(&r, 38);
    policy_round_plan(&r);
    before = running_jobs();
    for (int i = 0; i < 20; i++) {
        r.now_s += 30;
        r.beliefs.watts[1] = i % 2 ? 202 : 198;
        policy_round_plan(&r);
        assert_int_equal(running_jobs(), before);
    }
}

#define world_test(f) cmocka_unit_test_teardown(f, tear_down)
#define round_test(f) cmocka_unit_test_teardown(f, tear_down_round)

int main(void)
{
    const struct CMUnitTest tests[] = {
        world_test(everything_that_draws_counts),
        world_test(who_need_not_have_been_stopped_is_not),
        world_test(what_was_not_measured_is_held_above_beliefs),
        world_test(a_start_beside_somebody_measured_counts),
        world_test(the_limit_of_the_hour_counts),
        world_test(what_was_measured_counts_instead_of_beliefs),
        world_test(a_cap_in_force_bounds_what_is_believed),
        world_test(the_cap_that_saves_most_comes_first),
        world_test(nothing_is_capped_below_97_percent),
        world_test(promises_are_capped_last),
        world_test(caps_go_as_deep_as_needed),
        world_test(what_starts_leaves_a_margin_and_the_last_goes_first),
        world_test(the_least_important_and_youngest_is_stopped),
        world_test(a_gang_leaves_all_its_devices),
        world_test(under_a_limit_an_empty_node_sleeps_at_once),
        round_test(under_a_power_limit_fewer_start),
        round_test(a_lower_power_limit_caps_before_it_stops),
        round_test(the_least_important_is_stopped_for_a_power_limit),
        round_test(a_power_limit_goes_by_measured_watts),
        round_test(what_a_power_limit_let_start_is_not_stopped_by_jitter),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
