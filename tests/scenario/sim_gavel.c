/* sim_gavel.c - the same on measured tables and traces; Gavel's are skipped where they
 * are not */
#include "lab/sim/sweep.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "fixture/measured.h"
#include "fixture/sim.h"

/* Skips the test where the set is not here. */
static struct sweep run(const struct measured_set *set, const char *trace_file,
                        const char *policies)
{
    char *throughputs = measured_path(set, set->throughputs);
    char *trace = measured_path(set, trace_file);
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

    if (!throughputs || !trace) {
        print_message("skipped: %s tables are not here, set CORGI_DATA\n", set->name);
        free(throughputs);
        free(trace);
        skip();
    }
    o.sim.node_mtbf_s = 60 * 86400.0;
    o.sim.check = true;
    assert_int_equal(policy_parse_list(policies, o.policies, &o.policy_count, &err), 0);
    if (sweep_run(&sweep, &o, NULL, NULL, &err) < 0)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < sweep.row_count; i++)
        assert_books_balance(&sweep.rows[i].runs[0]);
    free(throughputs);
    free(trace);
    return sweep;
}

static void every_policy_finishes_a_short_trace_with_the_same_work(void **state)
{
    const struct measured_set *set = *state;
    struct sweep sweep = run(set, set->short_trace, "all");

    for (size_t i = 0; i < sweep.row_count; i++) {
        const struct sim_result *r = &sweep.rows[i].runs[0];

        assert_int_equal(r->jobs, 20);
        assert_int_equal(r->finished, 20);
        assert_near(r->work_h, sweep.rows[0].runs[0].work_h, 1e-6 * r->work_h);
        assert_true(isnan(sweep.rows[i].load));
    }
    sweep_fini(&sweep);
}

static void a_long_trace_is_accounted_for(void **state)
{
    const struct measured_set *set = *state;
    struct sweep sweep = run(set, set->long_trace, "fifo");
    const struct sim_result *r = &sweep.rows[0].runs[0];
    bool own = set == &measured_own;

    assert_int_equal(r->jobs, own ? 250 : 2000);
    assert_int_equal(r->finished + r->refused, r->jobs); /* nothing hangs or is lost */
    assert_true(r->refused <= (own ? 0 : 40));           /* on 16 GPUs: not measured */
    assert_true(r->work_h > (own ? 500 : 1e5));
    sweep_fini(&sweep);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        MEASURED_TEST(every_policy_finishes_a_short_trace_with_the_same_work,
                      measured_own),
        MEASURED_TEST(a_long_trace_is_accounted_for, measured_own),
        MEASURED_TEST(every_policy_finishes_a_short_trace_with_the_same_work,
                      measured_gavel),
        MEASURED_TEST(a_long_trace_is_accounted_for, measured_gavel),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
