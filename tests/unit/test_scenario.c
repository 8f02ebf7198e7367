/* test_scenario.c - the built-in workloads and their variants */
#include "lab/sim/scenario.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "fixture/sim.h"

static struct scenario s;

static int tear_down(void **state)
{
    (void)state;
    scenario_fini(&s);
    return 0;
}

static void build(const char *workload)
{
    const struct scenario_options o = {
        .workload = workload, .load = 0.5, .days = 1, .limit = 40, .seed = 2};
    struct err err = {0};

    if (scenario_build(&s, &o, &err) < 0)
        fail_msg("%s", err.text);
}

static struct sim_result run(const char *policy_name)
{
    const struct policy *policy = policy_find(policy_name);
    const struct sim_setup setup = {.world = s.world,
                                    .workload = s.workload,
                                    .cluster = s.cluster,
                                    .gpu_of_type = s.gpu_of_type,
                                    .planner = policy->planner,
                                    .model = policy->model,
                                    .late_type = s.late_type,
                                    .late_s = s.late_s};
    struct sim_options options = sim_default_options();
    struct sim_result result = {0};
    struct err err = {0};

    options.drift = s.drift;
    if (sim_run(&options, &setup, &result, &err) < 0)
        fail_msg("%s", err.text);
    return result;
}

static int devices_of(const char *gpu)
{
    int count = 0;

    for (int d = 0; d < s.cluster->device_count; d++)
        count += gpu_named(&s.cluster->types[s.cluster->devices[d].type], gpu);
    return count;
}

static void standard_has_36_of_each(void **state)
{
    (void)state;
    build("standard");
    assert_int_equal(devices_of("k80"), 36);
    assert_int_equal(devices_of("p100"), 36);
    assert_int_equal(devices_of("v100"), 36);
    assert_near(s.cluster->nodes[0].host_watts, 120, 0);
    assert_near(s.cluster->nodes[0].sleep_watts, 10, 0);
    assert_near(s.cluster->nodes[0].wake_s, 60, 0);
    assert_near(s.late_s, 0, 0);
    assert_near(s.drift, 0, 0);
}

static void a_variant_changes_what_its_name_says(void **state)
{
    (void)state;
    build("standard-host400");
    assert_near(s.cluster->nodes[26].host_watts, 400, 0);
    scenario_fini(&s);
    build("standard-nok80");
    assert_int_equal(devices_of("k80"), 0);
    assert_int_equal(s.cluster->device_count, 108);
    scenario_fini(&s);
    build("standard-newgpu");
    assert_near(s.late_s, 43200, 0);
    assert_true(gpu_named(&s.cluster->types[s.late_type], "p100"));
}

static void nodes_bought_later_draw_nothing_before(void **state)
{
    struct sim_result with, without;

    (void)state;
    build("standard");
    with = run("fifo");
    scenario_fini(&s);
    build("standard-newgpu");
    without = run("fifo");
    assert_books_balance(&without);
    assert_int_equal(without.finished, without.jobs);
    assert_true(without.energy.host_j < with.energy.host_j);
    sim_result_fini(&with);
    sim_result_fini(&without);
}

static void drift_changes_rates_and_loses_no_work(void **state)
{
    struct sim_result steady, drifting;

    (void)state;
    build("standard-drift");
    drifting = run("least-energy");
    s.drift = 0;
    steady = run("least-energy");
    assert_books_balance(&drifting);
    assert_int_equal(drifting.finished, drifting.jobs);
    assert_true(drifting.end_s != steady.end_s);
    sim_result_fini(&steady);
    sim_result_fini(&drifting);
}

static void an_unknown_workload_is_refused_with_the_names(void **state)
{
    const struct scenario_options o = {.workload = "standart", .load = 0.5};
    struct err err = {0};

    (void)state;
    assert_int_equal(scenario_build(&s, &o, &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_non_null(strstr(err.text, "standard-newfamily"));
}

#define scenario_test(f) cmocka_unit_test_teardown(f, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        scenario_test(standard_has_36_of_each),
        scenario_test(a_variant_changes_what_its_name_says),
        scenario_test(nodes_bought_later_draw_nothing_before),
        scenario_test(drift_changes_rates_and_loses_no_work),
        scenario_test(an_unknown_workload_is_refused_with_the_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
