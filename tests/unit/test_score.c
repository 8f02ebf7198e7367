/* test_score.c - what a run comes to: quantiles, promises, waits */
#include "lab/sim/run_measure.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "fixture/sim.h"

static struct world *world;
static struct workload *workload;
static struct cluster *cluster; /* one V100 */
static struct sim_options options;

static int set_up(void **state)
{
    (void)state;
    world = fixture_world();
    workload = fixture_workload();
    cluster = fixture_cluster(world, 0, 1, 1);
    options = fixture_options();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    workload_destroy(workload);
    cluster_destroy(cluster);
    world_destroy(world);
    return 0;
}

static void quantiles_are_values_of_the_list(void **state)
{
    double values[] = {5, 1, 4, 2, 3}, hundred[100];

    (void)state;
    for (int i = 0; i < 100; i++)
        hundred[i] = 100 - i;
    assert_near(measure_quantile(values, 5, 0.5), 3, 0);
    assert_near(measure_quantile(values, 5, 0), 1, 0);
    assert_near(measure_quantile(values, 5, 1), 5, 0);
    assert_near(measure_quantile(values, 1, 0.95), 1, 0);
    assert_near(measure_quantile(hundred, 100, 0.95), 95.5, 0.5);
    assert_near(measure_quantile(hundred, 100, 0.99), 99.5, 0.5);
    assert_true(isnan(measure_quantile(NULL, 0, 0.5)));
}

/* The second of two jobs of an hour waits an hour, of which 600 s are grace. */
static void a_wait_beyond_the_grace_time_is_a_violation(void **state)
{
    struct sim_result r;

    (void)state;
    fixture_training(workload, world, FIXTURE_LIGHT, 0, 3600);
    fixture_training(workload, world, FIXTURE_LIGHT, 0, 3600);
    r = fixture_run("fifo", &options, world, workload, cluster);
    assert_near(r.job_results[0].counted_s, 3600, 1e-6);
    assert_near(r.job_results[0].violated_s, 0, 0);
    assert_near(r.job_results[1].counted_s, 3000 + 3600, 1e-6);
    assert_near(r.job_results[1].violated_s, 3000, 1e-6);
    assert_near(r.sla_time, 1 - 3000.0 / (3600 + 6600), 1e-9);
    assert_near(r.sla_jobs, 0.5, 0);
    assert_near(r.wait_p95_s, 3600, 1e-6);
    sim_result_fini(&r);
}

/* A K80 takes four times as long for the same steps; the V100 beside it is free. */
static void a_job_in_a_dear_place_beside_a_free_one_is_told(void **state)
{
    struct cluster *both = fixture_cluster(world, 1, 1, 1);
    struct cluster *old = fixture_cluster(world, 1, 0, 1);
    struct sim_result slow, fast, only;

    (void)state;
    fixture_training(workload, world, FIXTURE_LIGHT, 0, 2 * 3600);
    slow = fixture_run("slowest-ok", &options, world, workload, both);
    fast = fixture_run("fastest", &options, world, workload, both);
    only = fixture_run("slowest-ok", &options, world, workload, old);
    /* Of its eight hours there, from the first window on. */
    assert_near(measure_misplaced_longest(&slow), 7.5 * 3600, 1800);
    assert_near(measure_misplaced_jobs(&slow), 1, 0);
    assert_near(measure_misplaced_longest(&fast), 0, 0);
    assert_near(measure_misplaced_longest(&only), 0, 0);
    sim_result_fini(&slow);
    sim_result_fini(&fast);
    sim_result_fini(&only);
    cluster_destroy(both);
    cluster_destroy(old);
}

/* A job may miss its requirement for 1 % of its time; 5 and 0.1 % are told beside. */
static void a_job_keeps_its_promise_up_to_a_hundredth(void **state)
{
    /* Of 3650 s and the wait beyond the grace time: 0, 0.05, 0.5, 2 and 6 %. */
    static const double beyond_s[] = {0, 2, 18, 73, 230};
    static const double kept[][3] = {
        {1, 1, 1}, {1, 1, 1}, {1, 1, .5}, {1, .5, .5}, {.5, .5, .5}};

    (void)state;
    for (int i = 0; i < 5; i++) {
        struct workload *two = fixture_workload();
        struct sim_result r;

        fixture_training(two, world, FIXTURE_LIGHT, 0, 600 + beyond_s[i]);
        fixture_training(two, world, FIXTURE_LIGHT, 0, 3650);
        r = fixture_run("fifo", &options, world, two, cluster);
        assert_near(r.sla_jobs_5, kept[i][0], 0);
        assert_near(r.sla_jobs, kept[i][1], 0);
        assert_near(r.sla_jobs_01, kept[i][2], 0);
        sim_result_fini(&r);
        workload_destroy(two);
    }
}

static void a_rate_below_the_requirement_is_a_violation_and_no_useful_work(void **state)
{
    struct sim_result r;

    (void)state;
    fixture_training(workload, world, FIXTURE_LIGHT, 0, 3600);
    workload->requests[0].job.need.rate = 41; /* it does 40 */
    r = fixture_run("fifo", &options, world, workload, cluster);
    assert_near(r.work_h, 1, 1e-9);
    assert_near(r.useful_h, 0, 0);
    assert_near(r.sla_time, 0, 0);
    sim_result_fini(&r);
}

/* A gang of two on one GPU can never run. */
static void a_refused_job_is_a_broken_promise(void **state)
{
    struct sim_result r;

    (void)state;
    fixture_training(workload, world, FIXTURE_PAIR, 0, 3600);
    fixture_training(workload, world, FIXTURE_LIGHT, 0, 3600);
    r = fixture_run("fifo", &options, world, workload, cluster);
    assert_int_equal(r.refused, 1);
    assert_near(r.sla_jobs, 0.5, 0);
    assert_true(isnan(r.job_results[0].wait_s));
    assert_books_balance(&r);
    sim_result_fini(&r);
}

/* Stopped before the second arrives: nothing was promised to it yet. */
static void a_request_that_never_arrived_is_waiting_but_not_judged(void **state)
{
    struct sim_result r;

    (void)state;
    fixture_training(workload, world, FIXTURE_LIGHT, 0, 3600);
    fixture_training(workload, world, FIXTURE_LIGHT, 9000, 3600);
    workload->requests[0].job.need.rate = 41;
    options.limit_s = 1000;
    r = fixture_run("fifo", &options, world, workload, cluster);
    assert_int_equal(r.running, 1);
    assert_int_equal(r.waiting, 1);
    assert_near(r.sla_jobs, 0, 0);
    assert_books_balance(&r);
    sim_result_fini(&r);
}

static void the_parts_of_a_service_s_time_are_all_judged(void **state)
{
    struct sim_result r;

    (void)state;
    fixture_service(workload, world, 0, 7200, 0.5);
    r = fixture_run("fifo", &options, world, workload, cluster);
    assert_int_equal(r.finished, 1);
    assert_near(r.job_results[0].counted_s, 7200, 1e-6);
    assert_near(r.sla_time, 1, 0);
    assert_true(r.work_h > 0 && r.work_h <= 0.5 * 2);
    sim_result_fini(&r);
}

int main(void)
{
#define SCORE_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        SCORE_TEST(quantiles_are_values_of_the_list),
        SCORE_TEST(a_wait_beyond_the_grace_time_is_a_violation),
        SCORE_TEST(a_job_in_a_dear_place_beside_a_free_one_is_told),
        SCORE_TEST(a_job_keeps_its_promise_up_to_a_hundredth),
        SCORE_TEST(a_rate_below_the_requirement_is_a_violation_and_no_useful_work),
        SCORE_TEST(a_refused_job_is_a_broken_promise),
        SCORE_TEST(a_request_that_never_arrived_is_waiting_but_not_judged),
        SCORE_TEST(the_parts_of_a_service_s_time_are_all_judged),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
