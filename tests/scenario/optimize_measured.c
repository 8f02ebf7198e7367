/* optimize_measured.c - the solver on measured rates, against exact solutions */
#include "support/optimize_case.h"

#include "lab/bench/bench_small.h"
#include "fixture/measured.h"
#include "lab/tables/gavel_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The set's rates; skips the test where they are not here. */
static struct world *load(void **state, uint64_t seed)
{
    const struct measured_set *set = *state;
    char *path = measured_path(set, set->throughputs);
    struct world *world = NULL;
    struct err err = {0};

    if (!path)
        skip();
    if (gavel_load(&world, path, seed, &err) < 0)
        fail_msg("%s", err.text);
    free(path);
    return world;
}

/* A part of what `corgi bench optimize --small 200` runs; the exact solver takes its
 * time.
 */
static void small_cases_are_within_a_thousandth_of_the_optimum(void **state)
{
    struct bench_optimize_options o = {.seed = 1, .limit_s = 20};
    struct world *world = load(state, 1);
    struct solver *solver = solver_create(1);
    int count = *state == &measured_own ? 14 : 28;
    struct bench_small small;
    struct err err = {0};

    if (bench_small_run(world, solver, &o, count, &small, &err) < 0)
        fail_msg("%s", err.text);
    assert_true(7 * small.proven >= 6 * count);
    assert_int_equal(small.unserved_more, 0);
    assert_true(small.mean < 0.0002);
    for (int x = 0; x < small.count; x++)
        if (small.all[x].proven)
            assert_true(bench_small_over(&small.all[x]) <= BENCH_SMALL_NEAR);
    bench_small_fini(&small);
    solver_destroy(solver);
    world_destroy(world);
}

/* A path once seated a job that had a place already: the checker saw it on two devices.
 */
static void no_job_is_seated_twice_by_a_path(void **state)
{
    struct instance_options o = {
        .jobs = 90, .types = 6, .devices_per_job = 0.6 + 0.1 * 3, .seed = 379};
    struct world *world = load(state, 301);
    struct problem *p = instance_create(world, &o);
    struct solver *solver = solver_create(301);
    struct solution s = {0};
    struct err err = {0};

    solver_run(solver, p, NULL, &s);
    if (check_solution(p, &s, &err) < 0)
        fail_msg("the checker refuses the plan: %s", err.text);
    solution_fini(&s);
    solver_destroy(solver);
    problem_destroy(p);
    world_destroy(world);
}

static void a_thousand_jobs_come_within_half_a_percent(void **state)
{
    struct world *world = load(state, 1);

    for (int types = 3; types <= 6; types += 3) {
        struct instance_options o = {
            .jobs = 1000, .types = types, .devices_per_job = 0.6, .seed = 2};
        struct problem *p = instance_create(world, &o);
        struct solution s = {0};

        case_solve(p, &s);
        assert_true(s.gap < 0.005);
        assert_int_equal(s.unserved, 0);
        solution_fini(&s);
        problem_destroy(p);
    }
    world_destroy(world);
}

static void gangs_in_the_mix_keep_the_gap_small(void **state)
{
    struct instance_options o = {
        .jobs = 500, .multi = 0.1, .devices_per_job = 0.7, .seed = 2};
    struct world *world = load(state, 1);
    struct problem *p = instance_create(world, &o);
    struct solution s = {0};

    case_solve(p, &s);
    assert_true(s.gap < 0.01);
    assert_int_equal(s.unserved, 0);
    solution_fini(&s);
    problem_destroy(p);
    world_destroy(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        MEASURED_TEST(small_cases_are_within_a_thousandth_of_the_optimum, measured_own),
        MEASURED_TEST(no_job_is_seated_twice_by_a_path, measured_own),
        MEASURED_TEST(a_thousand_jobs_come_within_half_a_percent, measured_own),
        MEASURED_TEST(gangs_in_the_mix_keep_the_gap_small, measured_own),
        MEASURED_TEST(small_cases_are_within_a_thousandth_of_the_optimum, measured_gavel),
        MEASURED_TEST(no_job_is_seated_twice_by_a_path, measured_gavel),
        MEASURED_TEST(a_thousand_jobs_come_within_half_a_percent, measured_gavel),
        MEASURED_TEST(gangs_in_the_mix_keep_the_gap_small, measured_gavel),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
