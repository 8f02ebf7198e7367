/* test_quarters.c - a run cut into quarters: they add up, and each has its own */
#include "lab/sim/quarter_stats.h"

#include "lab/sim/sim_run.h"
#include "lab/sim/sweep.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "fixture/sim.h"

static struct world *world;
static struct workload *workload;
static struct cluster *cluster;
static struct sim_options options;

static int set_up(void **state)
{
    (void)state;
    world = fixture_world();
    workload = fixture_workload();
    cluster = fixture_cluster(world, 0, 1, 1);
    options = fixture_options();
    options.settings.sleep = options.settings.caps = false;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    cluster_destroy(cluster);
    workload_destroy(workload);
    world_destroy(world);
    return 0;
}

static void borders_cut_the_time_of_arrivals_in_four(void **state)
{
    struct quarters q;

    (void)state;
    fixture_training(workload, world, FIXTURE_LIGHT, 1000, 100);
    fixture_training(workload, world, FIXTURE_LIGHT, 5000, 100);
    quarters_init(&q, workload);
    for (int i = 0; i < QUARTERS; i++)
        assert_near(q.borders_s[i], 2000 + 1000 * i, 1e-9);
}

/* One V100 that is busy from 0 to 1000 s of the 4000 s and then after the last arrival:
 * each quarter's energy and work can be worked out by hand. */
static void each_quarter_has_what_happened_in_it(void **state)
{
    struct sim_result r;
    double idle_w, busy_j, rate_h = 1.0 / 3600;

    (void)state;
    fixture_training(workload, world, FIXTURE_LIGHT, 0, 1500);
    fixture_training(workload, world, FIXTURE_LIGHT, 4000, 500);
    r = fixture_run("fifo", &options, world, workload, cluster);
    idle_w = 100 + world->gpus[FIXTURE_V100].idle_watts;
    busy_j = r.quarters[0].energy_j;
    for (int q = 0; q < QUARTERS; q++)
        assert_near(r.quarters[q].seconds, 1000, 1e-9);
    assert_true(busy_j > 1000 * idle_w);
    assert_near(r.quarters[1].energy_j, busy_j / 2 + 500 * idle_w, 1e-3);
    assert_near(r.quarters[2].energy_j, 1000 * idle_w, 1e-3);
    assert_near(r.quarters[3].energy_j, 1000 * idle_w, 1e-3);
    assert_near(r.quarters[QUARTERS_AFTER].energy_j, busy_j / 2, 1e-3);
    assert_near(r.quarters[0].work_h, 1000 * rate_h, 1e-9);
    assert_near(r.quarters[1].work_h, 500 * rate_h, 1e-9);
    assert_near(r.quarters[2].work_h, 0, 1e-9);
    assert_near(r.quarters[QUARTERS_AFTER].work_h, 500 * rate_h, 1e-9);
    assert_near(quarter_wh_per_work(&r.quarters[0]), busy_j / 1000, 1e-3);
    assert_true(isnan(quarter_wh_per_work(&r.quarters[2])));
    assert_true(isnan(quarter_sla_time(&r.quarters[2]))); /* nobody to judge */
    sim_result_fini(&r);
}

/* The second job waits from 100 to 1900 s, beyond ten minutes of grace from 700 s on. */
static void a_broken_promise_is_in_the_quarter_it_was_broken_in(void **state)
{
    struct sim_result r;

    (void)state;
    fixture_training(workload, world, FIXTURE_LIGHT, 0, 1900);
    fixture_training(workload, world, FIXTURE_LIGHT, 100, 100);
    fixture_training(workload, world, FIXTURE_LIGHT, 4000, 100);
    r = fixture_run("fifo", &options, world, workload, cluster);
    assert_near(r.quarters[0].violated_s, 300, 1e-6);
    assert_near(r.quarters[0].counted_s, 1300, 1e-6);
    assert_near(r.quarters[1].violated_s, 900, 1e-6);
    assert_near(r.quarters[2].violated_s, 0, 1e-6);
    assert_near(quarter_sla_time(&r.quarters[1]), 1 - 900.0 / 1900, 1e-6);
    sim_result_fini(&r);
}

static void assert_parts_are_the_run(const struct sim_result *r)
{
    struct quarter sum = {0};
    double counted_s = 0, violated_s = 0, moves = 0;

    for (int q = 0; q < QUARTERS_PARTS; q++) {
        sum.seconds += r->quarters[q].seconds;
        sum.energy_j += r->quarters[q].energy_j;
        sum.work_h += r->quarters[q].work_h;
        sum.counted_s += r->quarters[q].counted_s;
        sum.violated_s += r->quarters[q].violated_s;
        sum.moves += r->quarters[q].moves;
        sum.sights += r->quarters[q].sights;
    }
    for (size_t i = 0; i < r->jobs; i++) {
        counted_s += r->job_results[i].counted_s;
        violated_s += r->job_results[i].violated_s;
        moves += r->job_results[i].moves;
    }
    assert_near(sum.seconds, r->end_s, 1e-6);
    assert_near(sum.energy_j, r->energy.total_j, 1e-6 * r->energy.total_j);
    assert_near(sum.work_h, r->work_h, 1e-6);
    assert_near(sum.counted_s, counted_s, 1e-3);
    assert_near(sum.violated_s, violated_s, 1e-3);
    assert_near(sum.moves, moves, 0);
    assert_near(sum.sights, (double)r->estimates.first_sights, 0);
}

static struct sweep_options demo(void)
{
    return (struct sweep_options){
        .scenario = {.workload = "demo", .days = 0.5, .seed = 5},
        .sim = sim_default_options(),
        .policies = {policy_find("corgi"), policy_find("oracle"), policy_find("fifo")},
        .policy_count = 3,
        .loads = {0.6},
        .load_count = 1,
        .seeds = 2,
    };
}

static void parts_add_up_to_the_run_with_failures_too(void **state)
{
    struct sweep_options o = demo();
    struct sweep sweep = {0};
    struct err err = {0};

    (void)state;
    o.sim.node_mtbf_s = 40000;
    assert_int_equal(sweep_run(&sweep, &o, NULL, NULL, &err), 0);
    for (size_t i = 0; i < sweep.row_count; i++)
        for (int s = 0; s < 2; s++)
            assert_parts_are_the_run(&sweep.rows[i].runs[s]);
    assert_true(sweep.rows[0].runs[0].estimates.first_sights > 0);
    sweep_fini(&sweep);
}

static void a_clock_stopped_early_leaves_later_quarters_empty(void **state)
{
    struct sim_result r;

    (void)state;
    fixture_training(workload, world, FIXTURE_LIGHT, 0, 3000);
    fixture_training(workload, world, FIXTURE_LIGHT, 4000, 100);
    options.limit_s = 1500;
    r = fixture_run("fifo", &options, world, workload, cluster);
    assert_parts_are_the_run(&r);
    assert_near(r.quarters[0].seconds, 1000, 0);
    assert_near(r.quarters[1].seconds, 500, 0);
    assert_near(r.quarters[2].seconds + r.quarters[2].energy_j, 0, 0);
    sim_result_fini(&r);
}

static void a_single_arrival_is_all_after_the_last(void **state)
{
    struct sim_result r;

    (void)state;
    fixture_training(workload, world, FIXTURE_LIGHT, 100, 1000);
    r = fixture_run("fifo", &options, world, workload, cluster);
    assert_parts_are_the_run(&r);
    assert_near(r.quarters[0].seconds, 100, 0); /* the time before is the first's */
    assert_near(r.quarters[1].seconds + r.quarters[3].seconds, 0, 0);
    assert_near(r.quarters[QUARTERS_AFTER].work_h, 1000.0 / 3600, 1e-9);
    sim_result_fini(&r);
}

static void rows_pool_their_seeds(void **state)
{
    struct sim_result runs[2] = {{.jobs = 0}};
    struct sweep_row row = {.policy = policy_find("corgi"), .seeds = 2, .runs = runs};
    struct quarter q;

    (void)state;
    runs[0].quarters[1] = (struct quarter){.energy_j = 3600,
                                           .work_h = 1,
                                           .counted_s = 100,
                                           .violated_s = 10,
                                           .sights = 3,
                                           .log_error = 3 * log(2)};
    runs[1].quarters[1] = (struct quarter){
        .energy_j = 7200, .work_h = 3, .counted_s = 300, .violated_s = 0};
    q = sweep_quarter(&row, 1);
    assert_near(q.energy_j, 5400, 1e-9);
    assert_near(quarter_wh_per_work(&q), 3.0 / 4, 1e-12);
    assert_near(quarter_sla_time(&q), 1 - 10.0 / 400, 1e-12);
    assert_near(quarter_error_percent(&q), 100,
                1e-9); /* the seed without one is silent */
    q = sweep_quarter(&row, 0);
    assert_true(isnan(quarter_error_percent(&q)));
}

static void the_oracle_of_the_same_quarter_is_the_measure(void **state)
{
    struct sim_result mine = {.quarters = {{.energy_j = 3600, .work_h = 1}}};
    struct sim_result best = {.quarters = {{.energy_j = 3600, .work_h = 2}}};
    struct sweep_row rows[] = {
        {.policy = policy_find("corgi"), .load = 0.5, .seeds = 1, .runs = &mine},
        {.policy = policy_find("oracle"), .load = 0.5, .seeds = 1, .runs = &best}};
    struct sweep sweep = {.row_count = 2, .rows = rows};

    (void)state;
    assert_near(sweep_quarter_to_oracle(&sweep, 0, 0), 100, 1e-9);
    assert_near(sweep_quarter_to_oracle(&sweep, 1, 0), 0, 1e-9);
    assert_true(isnan(sweep_quarter_to_oracle(&sweep, 0, 1)));
    sweep.row_count = 1;
    assert_true(isnan(sweep_quarter_to_oracle(&sweep, 0, 0)));
}

#define with_fixture(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_fixture(borders_cut_the_time_of_arrivals_in_four),
        with_fixture(each_quarter_has_what_happened_in_it),
        with_fixture(a_broken_promise_is_in_the_quarter_it_was_broken_in),
        with_fixture(parts_add_up_to_the_run_with_failures_too),
        with_fixture(a_clock_stopped_early_leaves_later_quarters_empty),
        with_fixture(a_single_arrival_is_all_after_the_last),
        with_fixture(rows_pool_their_seeds),
        with_fixture(the_oracle_of_the_same_quarter_is_the_measure),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
