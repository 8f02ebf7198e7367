/* test_sweep.c - rows, means and intervals; the number of threads changes nothing */
#include "lab/sim/sweep.h"

#include "lab/sim/run_result.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "fixture/sim.h"

static double end_s(const struct sim_result *r)
{
    return r->end_s;
}

static struct sweep_mean mean_of(const double *values, int count)
{
    struct sim_result runs[40] = {0};
    const struct sweep_row row = {.seeds = count, .runs = runs};

    for (int i = 0; i < count; i++)
        runs[i].end_s = values[i];
    return sweep_mean(&row, end_s);
}

static void means_have_student_s_interval(void **state)
{
    static const double two[] = {1, 3}, four[] = {1, 2, 3, 4}, same[] = {7, 7, 7};
    struct sweep_mean m = mean_of(two, 2);

    (void)state;
    assert_near(m.mean, 2, 1e-12);
    assert_near(m.half_width, 12.706 * sqrt(2) / sqrt(2), 1e-9);
    m = mean_of(four, 4);
    assert_near(m.mean, 2.5, 1e-12);
    assert_near(m.half_width, 3.182 * sqrt(5.0 / 3) / 2, 1e-9);
    m = mean_of(same, 3);
    assert_near(m.mean, 7, 1e-12);
    assert_near(m.half_width, 0, 1e-9);
}

static void one_run_has_a_mean_but_no_interval(void **state)
{
    static const double one[] = {5};
    struct sweep_mean m = mean_of(one, 1);

    (void)state;
    assert_near(m.mean, 5, 0);
    assert_true(isnan(m.half_width));
}

static void many_runs_have_the_interval_of_the_normal(void **state)
{
    double values[40];
    struct sweep_mean m;

    (void)state;
    for (int i = 0; i < 40; i++)
        values[i] = i % 2;
    m = mean_of(values, 40);
    assert_near(m.mean, 0.5, 1e-12);
    assert_near(m.half_width, 1.96 * sqrt(10.0 / 39) / sqrt(40), 1e-9);
}

static struct sweep_options small_sweep(void)
{
    struct sweep_options o = {.scenario = {.workload = "demo", .days = 0.3, .seed = 3},
                              .sim = sim_default_options(),
                              .policies = {policy_find("corgi"), policy_find("fifo")},
                              .policy_count = 2,
                              .loads = {0.3, 0.6},
                              .load_count = 2,
                              .seeds = 2,
                              .threads = 1};

    return o;
}

static void rows_are_by_load_then_by_policy_on_the_same_requests(void **state)
{
    struct sweep_options o = small_sweep();
    struct sweep sweep = {0};
    struct err err = {0};

    (void)state;
    assert_int_equal(sweep_run(&sweep, &o, NULL, NULL, &err), 0);
    assert_int_equal(sweep.row_count, 4);
    for (size_t i = 0; i < 4; i++) {
        const struct sweep_row *row = &sweep.rows[i];

        assert_string_equal(row->policy->name, i % 2 ? "fifo" : "corgi");
        assert_near(row->load, i < 2 ? 0.3 : 0.6, 0);
        assert_int_equal(row->seeds, 2);
        for (int s = 0; s < 2; s++) {
            assert_int_equal(row->runs[s].jobs, sweep.rows[i & 2u].runs[s].jobs);
            assert_books_balance(&row->runs[s]);
        }
    }
    /* Each seed has requests of its own. */
    assert_true(fabs(sweep.rows[1].runs[0].work_h / sweep.rows[1].runs[1].work_h - 1) >
                0.01);
    assert_true(sweep.rows[2].runs[0].jobs > sweep.rows[0].runs[0].jobs);
    sweep_fini(&sweep);
    assert_int_equal(sweep.row_count, 0);
}

static char *json_with_threads(int threads)
{
    struct sweep_options o = small_sweep();
    struct sweep sweep = {0};
    struct err err = {0};
    struct str json = {0};

    o.threads = threads;
    assert_int_equal(sweep_run(&sweep, &o, NULL, NULL, &err), 0);
    result_json(&sweep, &o, false, &json);
    sweep_fini(&sweep);
    return str_take(&json);
}

static void threads_change_nothing(void **state)
{
    char *one = json_with_threads(1), *two = json_with_threads(2);

    (void)state;
    assert_string_equal(one, two);
    free(one);
    free(two);
}

static void count_call(void *ctx, double share)
{
    double *last = ctx;

    assert_true(share > *last && share <= 1);
    *last = share;
}

static void progress_grows_to_one(void **state)
{
    struct sweep_options o = small_sweep();
    struct sweep sweep = {0};
    struct err err = {0};
    double last = 0;

    (void)state;
    o.load_count = 1;
    assert_int_equal(sweep_run(&sweep, &o, count_call, &last, &err), 0);
    assert_near(last, 1, 0);
    sweep_fini(&sweep);
}

static void a_scenario_that_cannot_be_built_returns_nothing(void **state)
{
    struct sweep_options o = small_sweep();
    struct sweep sweep = {.row_count = 99};
    struct err err = {0};

    (void)state;
    o.scenario.cluster = "no/such.yaml";
    assert_int_equal(sweep_run(&sweep, &o, NULL, NULL, &err), -1);
    assert_non_null(strstr(err.text, "no/such.yaml"));
    assert_int_equal(sweep.row_count, 99);
    o.scenario.cluster = NULL;
    o.scenario.workload = "no such";
    assert_int_equal(sweep_run(&sweep, &o, NULL, NULL, &err), -1);
    assert_non_null(strstr(err.text, "unknown workload 'no such'"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(means_have_student_s_interval),
        cmocka_unit_test(one_run_has_a_mean_but_no_interval),
        cmocka_unit_test(many_runs_have_the_interval_of_the_normal),
        cmocka_unit_test(rows_are_by_load_then_by_policy_on_the_same_requests),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(progress_grows_to_one),
        cmocka_unit_test(a_scenario_that_cannot_be_built_returns_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
