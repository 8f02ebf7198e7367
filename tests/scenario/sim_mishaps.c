/* sim_mishaps.c - nodes that fail, memory that runs out, a clock that stops early */
#include "lab/sim/sweep.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "fixture/sim.h"

static struct sweep_options demo(const char *policies)
{
    struct sweep_options o = {.scenario = {.workload = "demo", .days = 1, .seed = 21},
                              .sim = sim_default_options(),
                              .loads = {0.5},
                              .load_count = 1,
                              .seeds = 1};
    struct err err = {0};

    o.sim.check = true;
    assert_int_equal(policy_parse_list(policies, o.policies, &o.policy_count, &err), 0);
    return o;
}

static struct sweep run(const struct sweep_options *o)
{
    struct sweep sweep = {0};
    struct err err = {0};

    if (sweep_run(&sweep, o, NULL, NULL, &err) < 0)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < sweep.row_count; i++)
        assert_books_balance(&sweep.rows[i].runs[0]);
    return sweep;
}

/* A node fails every six hours or so: jobs start again and all end. */
static void jobs_outlive_failing_nodes(void **state)
{
    struct sweep_options o = demo("corgi,fifo,fastest,pack-blind,oracle");
    struct sweep calm = run(&o), rough;

    (void)state;
    o.sim.node_mtbf_s = 21600;
    rough = run(&o);
    for (size_t i = 0; i < rough.row_count; i++) {
        const struct sim_result *before = &calm.rows[i].runs[0];
        const struct sim_result *after = &rough.rows[i].runs[0];

        assert_int_equal(after->finished + after->refused, after->jobs);
        assert_int_equal(after->jobs, before->jobs);
        assert_true(after->restarts > before->restarts + 5);
    }
    sweep_fini(&calm);
    sweep_fini(&rough);
}

static void more_is_lost_between_rare_checkpoints(void **state)
{
    struct sweep_options o = demo("fifo");
    struct sweep often, seldom;

    (void)state;
    o.sim.node_mtbf_s = 86400;
    o.sim.checkpoint_s = 60;
    often = run(&o);
    o.sim.checkpoint_s = 1e7;
    seldom = run(&o);
    assert_true(seldom.rows[0].runs[0].energy.device_j >
                1.02 * often.rows[0].runs[0].energy.device_j);
    sweep_fini(&often);
    sweep_fini(&seldom);
}

/* No pair of jobs fits any GPU, and nobody says so: later jobs profit from what the first
 * ones met with. */
static void pairs_that_never_fit_are_learned(void **state)
{
    struct world *world = fixture_world();
    struct workload *workload = fixture_workload();
    struct cluster *cluster = fixture_cluster(world, 2, 2, 2);
    struct sim_options options = sim_default_options();
    static const char *const policies[] = {"pack-blind", "corgi"};

    (void)state;
    options.check = true;
    for (int g = 0; g < 2; g++)
        for (int a = 0; a < 4; a++)
            for (int b = 0; b < 4; b++)
                *world_beside(world, g, a, b) = 0;
    for (int i = 0; i < 400; i++)
        fixture_training(workload, world, i % 2 ? FIXTURE_LIGHT : FIXTURE_HEAVY, 200 * i,
                         600);
    for (int p = 0; p < 2; p++) {
        struct sim_result r =
            fixture_run(policies[p], &options, world, workload, cluster);
        long early = 0, late = 0;

        assert_int_equal(r.finished, 400);
        assert_books_balance(&r);
        for (int i = 0; i < 400; i++)
            *(i < 200 ? &early : &late) += r.job_results[i].restarts;
        assert_true(p == 1 || early > 0);
        assert_true(late <= 20);
        assert_true(r.restarts < 100);
        sim_result_fini(&r);
    }
    cluster_destroy(cluster);
    workload_destroy(workload);
    world_destroy(world);
}

static void a_clock_stopped_early_leaves_jobs_running_and_waiting(void **state)
{
    struct sweep_options o = demo("all");
    struct sweep sweep;

    (void)state;
    o.loads[0] = 2;
    o.sim.limit_s = 43200;
    sweep = run(&o);
    for (size_t i = 0; i < sweep.row_count; i++) {
        const struct sim_result *r = &sweep.rows[i].runs[0];

        assert_near(r->end_s, 43200, 0);
        assert_true(r->running > 0);
        assert_true(r->waiting > 0); /* half of the arrivals are still to come */
        assert_true(r->finished > 0);
        assert_true(r->finished < r->jobs);
    }
    sweep_fini(&sweep);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_outlive_failing_nodes),
        cmocka_unit_test(more_is_lost_between_rare_checkpoints),
        cmocka_unit_test(pairs_that_never_fit_are_learned),
        cmocka_unit_test(a_clock_stopped_early_leaves_jobs_running_and_waiting),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
