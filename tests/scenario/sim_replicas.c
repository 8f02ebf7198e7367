/* sim_replicas.c - replicas of a service follow what is asked of it, in a simulation */
#include "lab/sim/sim_private.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "fixture/sim.h"

#define HOUR 3600.0

/* A V100 answers 80 requests/s; the service asks for 40 of a replica. */
static const struct request_step day[] = {{0, 20},        {1 * HOUR, 60}, {2 * HOUR, 150},
                                          {3 * HOUR, 20}, {4 * HOUR, 0},  {6 * HOUR, 20}};

static struct world *world;
static struct workload *workload;
static struct cluster *cluster;
static struct sim_options options;
static struct sim sim;
static struct sim_setup setup;

static int set_up(void **state)
{
    struct sim_request *service;

    (void)state;
    world = fixture_world();
    workload = fixture_workload();
    cluster = fixture_cluster(world, 0, 6, 1);
    options = fixture_options();
    options.check = true;
    fixture_service(workload, world, 0, 8 * HOUR, 0.5);
    service = &workload->requests[0];
    service->demand = day;
    service->demand_steps = sizeof(day) / sizeof(day[0]);
    service->max_replicas = 4;
    service->scale_to_zero = true;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    sim_fini(&sim);
    workload_destroy(workload);
    cluster_destroy(cluster);
    world_destroy(world);
    return 0;
}

static void begin(const char *policy_name)
{
    const struct policy *policy = policy_find(policy_name);
    struct err err = {0};

    setup = (struct sim_setup){.world = world,
                               .workload = workload,
                               .cluster = cluster,
                               .gpu_of_type = fixture_types,
                               .planner = policy->planner,
                               .model = policy->model};
    if (sim_init(&sim, &options, &setup, &err) < 0)
        fail_msg("%s", err.text);
}

static void play_until(double until_s)
{
    struct err err = {0};
    int rc = 0;

    while (sim_moment(&sim, until_s, &rc, &err))
        ;
    if (rc < 0)
        fail_msg("%s", err.text);
}

static int running_at(double at_s)
{
    int running;

    play_until(at_s);
    running = sim_job_of(&sim, 1)->end == SIM_RUNNING;
    for (size_t i = 0; i < sim.replicas.count; i++)
        running += sim_replica_job(&sim, i)->end == SIM_RUNNING;
    return running;
}

static void replicas_follow_the_demand_up_and_down_to_zero_and_back(void **state)
{
    (void)state;
    begin("corgi");
    assert_int_equal(running_at(0.9 * HOUR), 1);
    assert_int_equal(running_at(1.2 * HOUR), 2); /* 60 and a quarter more: two shares */
    assert_int_equal(running_at(2.2 * HOUR), 4); /* five shares, but four are allowed */
    assert_int_equal(running_at(3 * HOUR + 250), 4); /* what falls often rises again */
    assert_int_equal(running_at(3 * HOUR + 500), 1);
    assert_int_equal(running_at(4 * HOUR + 500), 1);
    assert_int_equal(running_at(4 * HOUR + 800), 0); /* nobody asks */
    assert_int_equal(running_at(5.9 * HOUR), 0);
    assert_int_equal(running_at(6.2 * HOUR), 1); /* requests come */
}

/* The demand doubles, and doubles again: what runs carries it until the next are there.
 */
static void replicas_are_there_before_answers_are_late(void **state)
{
    static const struct request_step doubling[] = {
        {0, 20}, {1 * HOUR, 40}, {2 * HOUR, 80}, {3 * HOUR, 20}};

    (void)state;
    workload->requests[0].demand = doubling;
    workload->requests[0].demand_steps = 4;
    begin("corgi");
    assert_int_equal(running_at(1.2 * HOUR), 2);
    assert_int_equal(running_at(2.2 * HOUR), 3);
    assert_int_equal(running_at(3.9 * HOUR), 1);
    sim_replicas_close(&sim);
    assert_true(sim.jobs[0].result.counted_s > 4 * HOUR); /* of all replicas */
    assert_near(sim.jobs[0].result.violated_s, 0, 1e-6);
}

static void the_end_of_a_service_is_the_end_of_its_replicas(void **state)
{
    (void)state;
    workload->requests[0].serve_s = 2.5 * HOUR;
    begin("corgi");
    assert_int_equal(running_at(2.4 * HOUR), 4);
    assert_int_equal(running_at(2.6 * HOUR), 0);
    assert_int_equal(sim.jobs[0].end, SIM_FINISHED);
    assert_int_equal(sim.ended, 1);
    assert_int_equal(loop_cluster(sim.loop)->devices[0].job_count, 0);
}

static void a_service_at_zero_ends_when_its_time_is_over(void **state)
{
    (void)state;
    workload->requests[0].serve_s = 5 * HOUR;
    begin("corgi");
    assert_int_equal(running_at(4.9 * HOUR), 0);
    assert_int_equal(sim.jobs[0].end, SIM_WAITING);
    play_until(5.1 * HOUR);
    assert_int_equal(sim.jobs[0].end, SIM_FINISHED);
}

static void what_replicas_served_is_the_services_work(void **state)
{
    double asked = 20 * HOUR + 60 * HOUR + 150 * HOUR * 0.4;

    (void)state;
    workload->requests[0].serve_s = 2.4 * HOUR;
    begin("corgi");
    play_until(2.6 * HOUR);
    assert_int_equal(sim.jobs[0].end, SIM_FINISHED);
    assert_near(sim.jobs[0].work_h * HOUR * workload->requests[0].reference_rate, asked,
                0.02 * asked);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            replicas_follow_the_demand_up_and_down_to_zero_and_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(replicas_are_there_before_answers_are_late,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_end_of_a_service_is_the_end_of_its_replicas,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_service_at_zero_ends_when_its_time_is_over,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_replicas_served_is_the_services_work, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
