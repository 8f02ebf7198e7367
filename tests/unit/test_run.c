/* test_run.c - small simulations whose course can be worked out by hand */
#include "lab/sim/sim_run.h"

#include "base/rng.h"
#include "world/power.h"

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
    options = fixture_options();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    workload_destroy(workload);
    cluster_destroy(cluster);
    world_destroy(world);
    cluster = NULL;
    return 0;
}

static struct sim_result run(const char *policy)
{
    struct sim_result r = fixture_run(policy, &options, world, workload, cluster);

    assert_books_balance(&r);
    return r;
}

static void one_job_takes_its_time_and_its_energy(void **state)
{
    double watts = power_draw_watts(&world->gpus[FIXTURE_V100], 0.6f);
    struct sim_result r;

    (void)state;
    cluster = fixture_cluster(world, 0, 2, 1);
    fixture_training(workload, world, FIXTURE_LIGHT, 0, 3600);
    r = run("fifo");
    assert_int_equal(r.finished, 1);
    assert_near(r.end_s, 3600, 1e-6);
    assert_near(r.work_h, 1, 1e-9);
    assert_near(r.useful_h, 1, 1e-9);
    assert_near(r.energy.device_j, watts * 3600, 1e-3);
    assert_near(r.energy.host_j, 100 * 3600, 1e-6); /* the empty node is free */
    assert_near(r.energy.total_j, (100 + watts) * 3600, 1e-3);
    assert_near(r.energy.allocated_s, 3600, 1e-6);
    sim_result_fini(&r);
}

static void a_gang_spread_over_nodes_is_slower(void **state)
{
    struct sim_result r;

    (void)state;
    fixture_training(workload, world, FIXTURE_PAIR, 0, 3600);
    cluster = fixture_cluster(world, 0, 1, 2);
    r = run("fifo");
    assert_near(r.end_s, 3600, 1e-6);
    assert_near(r.work_h, 2, 1e-9); /* on two GPUs */
    sim_result_fini(&r);
    cluster_destroy(cluster);
    cluster = fixture_cluster(world, 0, 2, 1);
    r = run("fifo");
    assert_near(r.end_s, 7200, 1e-6);
    sim_result_fini(&r);
}

/* A neighbour on one of its GPUs slows the whole gang: 4800 s instead of 3600, in which
 * the neighbour does 3600 of its 9000. */
static void the_slowest_of_its_gpus_sets_a_gang_s_rate(void **state)
{
    struct sim_result r;

    (void)state;
    fixture_training(workload, world, FIXTURE_PAIR, 0, 3600);
    fixture_training(workload, world, FIXTURE_LIGHT, 0, 9000);
    cluster = fixture_cluster(world, 0, 1, 2);
    r = run("pack-blind");
    assert_near(r.job_results[0].counted_s, 4800, 1e-6);
    assert_near(r.end_s, 4800 + 5400, 1e-6);
    sim_result_fini(&r);
}

static void a_gang_that_cannot_run_spread_does_not_hang_the_run(void **state)
{
    struct sim_result r;

    (void)state;
    *world_spread(world, FIXTURE_V100, FIXTURE_PAIR) = 0;
    fixture_training(workload, world, FIXTURE_PAIR, 0, 3600);
    fixture_training(workload, world, FIXTURE_LIGHT, 0, 3600);
    cluster = fixture_cluster(world, 0, 3, 1);
    r = run("fifo");
    assert_int_equal(r.finished, 1);
    assert_int_equal(r.job_results[1].end, SIM_FINISHED);
    assert_true(r.job_results[0].end == SIM_FAILED ||
                r.job_results[0].end == SIM_WAITING);
    assert_near(r.work_h, 1, 1e-9);
    sim_result_fini(&r);
}

/* The node sleeps after a while without work; the next job has to wait for it. */
static void an_idle_node_sleeps_and_wakes_for_work(void **state)
{
    double idle_watts = world->gpus[FIXTURE_V100].idle_watts;
    struct sim_result r;

    (void)state;
    cluster = fixture_cluster(world, 0, 1, 1);
    fixture_training(workload, world, FIXTURE_LIGHT, 0, 3600);
    fixture_training(workload, world, FIXTURE_LIGHT, 40000, 3600);
    r = run("fifo");
    assert_near(r.end_s, 40000 + 60 + 3600, 1e-6);
    assert_near(r.energy.wake_j, (100 + idle_watts) * 60, 1e-6);
    assert_true(r.energy.asleep_j > 10 * 30000 && r.energy.asleep_j < 10 * 36400);
    sim_result_fini(&r);
    options.settings.sleep = false;
    r = run("fifo");
    assert_near(r.end_s, 43600, 1e-6);
    assert_near(r.energy.wake_j + r.energy.asleep_j, 0, 0);
    assert_near(r.energy.host_j, 100 * 43600, 1e-6);
    sim_result_fini(&r);
}

static void the_clock_stops_where_it_is_told_to(void **state)
{
    struct sim_result r;

    (void)state;
    cluster = fixture_cluster(world, 0, 1, 1);
    fixture_training(workload, world, FIXTURE_LIGHT, 0, 1800);
    fixture_training(workload, world, FIXTURE_LIGHT, 0, 3600);
    fixture_training(workload, world, FIXTURE_LIGHT, 100, 3600);
    fixture_training(workload, world, FIXTURE_LIGHT, 90000, 3600);
    options.limit_s = 3600;
    r = run("fifo");
    assert_int_equal(r.finished, 1);
    assert_int_equal(r.running, 1);
    assert_int_equal(r.waiting, 2);
    assert_near(r.end_s, 3600, 0);
    assert_near(r.work_h, 1, 1e-9);
    assert_near(r.energy.allocated_s, 3600, 1e-6);
    sim_result_fini(&r);
}

static void nothing_to_do_is_over_at_once(void **state)
{
    struct sim_result r;

    (void)state;
    cluster = fixture_cluster(world, 1, 1, 1);
    r = run("corgi");
    assert_int_equal(r.jobs, 0);
    assert_near(r.end_s, 0, 0);
    assert_near(r.energy.total_j, 0, 0);
    sim_result_fini(&r);
}

/* The course of one job of work_s on one node, told failure by failure. */
static double end_with_failures(double work_s, int *restarts)
{
    double ready_s = 0, repaired_s = 0, done_s = 0, failure_s = 0;
    struct rng rng;

    rng_stream(&rng, options.seed, 12);
    *restarts = 0;
    for (;;) {
        failure_s += rng_exponential(&rng, options.node_mtbf_s);
        if (failure_s < repaired_s)
            continue; /* it is down already */
        if (ready_s + work_s - done_s < failure_s)
            return ready_s + work_s - done_s;
        if (failure_s > ready_s)
            done_s += floor((failure_s - ready_s) / options.checkpoint_s) *
                      options.checkpoint_s;
        ++*restarts;
        repaired_s = failure_s + options.repair_s;
        ready_s = repaired_s + options.settings.move_s;
    }
}

static void a_failure_loses_the_work_since_the_last_checkpoint(void **state)
{
    static const int classes[] = {FIXTURE_LIGHT, FIXTURE_PAIR};

    (void)state;
    options.node_mtbf_s = 20000;
    options.repair_s = 5000;
    options.checkpoint_s = 1700;
    options.settings.move_s = 900;
    options.settings.sleep = false;
    cluster = fixture_cluster(world, 0, 1, 2);
    for (int c = 0; c < 2; c++) {
        struct workload *one = fixture_workload();

        fixture_training(one, world, classes[c], 0, 80000);
        for (options.seed = 1; options.seed <= 5; options.seed++) {
            int restarts;
            double end_s = end_with_failures(80000, &restarts);
            struct sim_result r = fixture_run("fifo", &options, world, one, cluster);

            assert_int_equal(r.restarts, restarts);
            assert_near(r.end_s, end_s, 1e-3);
            /* What is done twice counts once. */
            assert_near(r.work_h, 80000.0 / 3600 * (c + 1), 1e-6);
            assert_near(r.useful_h, r.work_h, 1e-6);
            assert_books_balance(&r);
            sim_result_fini(&r);
        }
        workload_destroy(one);
    }
}

static void a_pair_without_room_is_learned(void **state)
{
    struct sim_result r;

    (void)state;
    for (int g = 0; g < 2; g++)
        for (int a = 0; a < 4; a++)
            for (int b = 0; b < 4; b++)
                *world_beside(world, g, a, b) = 0;
    cluster = fixture_cluster(world, 0, 1, 2);
    for (int i = 0; i < 60; i++)
        fixture_training(workload, world, FIXTURE_LIGHT, 10 * i, 600);
    r = run("pack-blind");
    assert_int_equal(r.finished, 60);
    assert_true(r.restarts > 0);  /* it did not know */
    assert_true(r.restarts < 20); /* and then it did */
    sim_result_fini(&r);
}

static void noise_comes_from_the_seed(void **state)
{
    struct sim_result a, b, c;

    (void)state;
    cluster = fixture_cluster(world, 2, 2, 2);
    for (int i = 0; i < 60; i++)
        fixture_training(workload, world, i % 2 ? FIXTURE_LIGHT : FIXTURE_HEAVY, 100 * i,
                         3000);
    options = sim_default_options();
    options.node_mtbf_s = 20000;
    a = run("corgi");
    b = run("corgi");
    options.seed = 2;
    c = run("corgi");
    assert_true(a.energy.total_j == b.energy.total_j && a.end_s == b.end_s);
    assert_memory_equal(a.job_results, b.job_results, a.jobs * sizeof(*a.job_results));
    assert_true(a.energy.total_j != c.energy.total_j);
    sim_result_fini(&a);
    sim_result_fini(&b);
    sim_result_fini(&c);
}

int main(void)
{
#define RUN_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        RUN_TEST(one_job_takes_its_time_and_its_energy),
        RUN_TEST(a_gang_spread_over_nodes_is_slower),
        RUN_TEST(the_slowest_of_its_gpus_sets_a_gang_s_rate),
        RUN_TEST(a_gang_that_cannot_run_spread_does_not_hang_the_run),
        RUN_TEST(an_idle_node_sleeps_and_wakes_for_work),
        RUN_TEST(the_clock_stops_where_it_is_told_to),
        RUN_TEST(nothing_to_do_is_over_at_once),
        RUN_TEST(a_failure_loses_the_work_since_the_last_checkpoint),
        RUN_TEST(a_pair_without_room_is_learned),
        RUN_TEST(noise_comes_from_the_seed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
