/* policies.c - all policies do the same work, and every joule is accounted for once */
#include "lab/sim/sweep.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "fixture/sim.h"

static struct scenario scenario;
static struct workload *training; /* services do as much as is asked for: left out */

static int set_up(void **state)
{
    const struct scenario_options options = {
        .workload = "demo", .load = 0.9, .days = 1, .limit = 1, .seed = 3};
    const struct workload_options trainings = {
        .load = 0.9, .days = 1, .several_gpus = 0.2, .seed = 3, .limit = 60};
    struct err err = {0};
    int *devices;

    (void)state;
    if (scenario_build(&scenario, &options, &err) < 0)
        fail_msg("%s", err.text);
    devices = mem_array(int, (size_t)scenario.world->gpu_count);
    for (int d = 0; d < scenario.cluster->device_count; d++)
        devices[scenario.gpu_of_type[scenario.cluster->devices[d].type]]++;
    training = workload_generate(&trainings, scenario.world, devices);
    free(devices);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    workload_destroy(training);
    scenario_fini(&scenario);
    return 0;
}

static struct sim_result run(const struct policy *policy, bool sleep)
{
    const struct sim_setup setup = {.world = scenario.world,
                                    .workload = training,
                                    .cluster = scenario.cluster,
                                    .gpu_of_type = scenario.gpu_of_type,
                                    .planner = policy->planner,
                                    .model = policy->model};
    struct sim_options options = sim_default_options();
    struct sim_result result = {0};
    struct err err = {0};

    options.check = true;
    options.settings.sleep = sleep;
    if (sim_run(&options, &setup, &result, &err) < 0)
        fail_msg("%s: %s", policy->name, err.text);
    return result;
}

static void every_policy_finishes_the_same_work(void **state)
{
    double work_h = 0;
    size_t count;
    const struct policy *all = policy_all(&count);

    (void)state;
    for (size_t i = 0; i < training->count; i++)
        work_h += training->requests[i].steps / training->requests[i].reference_rate /
                  3600 * training->requests[i].job.devices;
    for (size_t i = 0; i < count; i++) {
        for (int sleep = 0; sleep < 2; sleep++) {
            struct sim_result r = run(&all[i], sleep);

            assert_books_balance(&r);
            assert_int_equal(r.finished, training->count);
            assert_near(r.work_h, work_h, 1e-6 * work_h);
            assert_true(r.useful_h <= r.work_h * (1 + 1e-9));
            sim_result_fini(&r);
        }
    }
}

static void the_same_seed_gives_every_policy_the_same_run(void **state)
{
    size_t count;
    const struct policy *all = policy_all(&count);

    (void)state;
    for (size_t i = 0; i < count; i++) {
        struct sim_result a = run(&all[i], true), b = run(&all[i], true);

        assert_near(a.energy.total_j, b.energy.total_j, 0);
        assert_near(a.sla_time, b.sla_time, 0);
        assert_memory_equal(a.job_results, b.job_results,
                            a.jobs * sizeof(*a.job_results));
        sim_result_fini(&a);
        sim_result_fini(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_policy_finishes_the_same_work),
        cmocka_unit_test(the_same_seed_gives_every_policy_the_same_run),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
