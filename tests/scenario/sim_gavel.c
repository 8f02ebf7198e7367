/* sim_gavel.c - the same on Gavel's measured tables and traces; skipped without them */
#include "lab/sim/sweep.h"

#include "base/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "fixture/sim.h"

#include <unistd.h>

static char *throughputs, *small_trace, *large_trace;

static int find_data(void **state)
{
    const char *data = getenv("CORGI_DATA");

    (void)state;
    throughputs = file_join(data ? data : "", "gavel/simulation_throughputs.json");
    small_trace = file_join(data ? data : "", "gavel/traces/physical_small_test.csv");
    large_trace = file_join(data ? data : "", "gavel/traces/philly_vc_6214e9_seed0.csv");
    return 0;
}

static int forget_data(void **state)
{
    (void)state;
    free(throughputs);
    free(small_trace);
    free(large_trace);
    return 0;
}

static void need(const char *path)
{
    if (access(path, R_OK) == 0)
        return;
    print_message("skipped: %s is not there, set CORGI_DATA\n", path);
    skip();
}

static struct sweep run(const char *trace, const char *policies)
{
    struct sweep_options o = {.scenario = {.workload = "standard",
                                           .throughputs = throughputs,
                                           .trace = trace,
                                           .seed = 1},
                              .sim = sim_default_options(),
                              .loads = {1},
                              .load_count = 1,
                              .seeds = 1};
    struct sweep sweep = {0};
    struct err err = {0};

    o.sim.node_mtbf_s = 60 * 86400.0;
    o.sim.check = true;
    assert_int_equal(policy_parse_list(policies, o.policies, &o.policy_count, &err), 0);
    if (sweep_run(&sweep, &o, NULL, NULL, &err) < 0)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < sweep.row_count; i++)
        assert_books_balance(&sweep.rows[i].runs[0]);
    return sweep;
}

static void every_policy_finishes_a_short_trace_with_the_same_work(void **state)
{
    struct sweep sweep;

    (void)state;
    need(throughputs);
    need(small_trace);
    sweep = run(small_trace, "all");
    for (size_t i = 0; i < sweep.row_count; i++) {
        const struct sim_result *r = &sweep.rows[i].runs[0];

        assert_int_equal(r->jobs, 20);
        assert_int_equal(r->finished, 20);
        assert_near(r->work_h, sweep.rows[0].runs[0].work_h, 1e-6 * r->work_h);
        assert_true(isnan(sweep.rows[i].load));
    }
    sweep_fini(&sweep);
}

static void a_year_of_a_large_cluster_is_accounted_for(void **state)
{
    const struct sim_result *r;
    struct sweep sweep;

    (void)state;
    need(throughputs);
    need(large_trace);
    sweep = run(large_trace, "fifo");
    r = &sweep.rows[0].runs[0];
    assert_int_equal(r->jobs, 2000);
    assert_int_equal(r->finished + r->refused, 2000); /* nothing hangs, nothing is lost */
    assert_true(r->refused < 40);                     /* on 16 GPUs: not measured */
    assert_true(r->work_h > 1e5);
    sweep_fini(&sweep);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_policy_finishes_a_short_trace_with_the_same_work),
        cmocka_unit_test(a_year_of_a_large_cluster_is_accounted_for),
    };

    return cmocka_run_group_tests(tests, find_data, forget_data);
}
