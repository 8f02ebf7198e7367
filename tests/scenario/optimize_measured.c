/* optimize_measured.c - the optimizer on Gavel's measured rates, against exact solutions
 */
#include "support/optimize_case.h"

#include "lab/bench/bench_small.h"
#include "lab/tables/gavel_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static struct world *load_seeded(uint64_t seed)
{
    const char *data = getenv("CORGI_DATA");
    char path[4096];
    struct world *world = NULL;
    struct err err = {0};

    snprintf(path, sizeof(path), "%s/gavel/simulation_throughputs.json",
             data ? data : "");
    if (data && gavel_load(&world, path, seed, &err) < 0)
        world = NULL;
    return world;
}

static int load(void **state)
{
    *state = load_seeded(1);
    return 0;
}

static int unload(void **state)
{
    world_destroy(*state);
    return 0;
}

/* A part of what `corgi bench optimize --small 200` runs. */
static void small_cases_are_within_a_thousandth_of_the_optimum(void **state)
{
    struct bench_optimize_options o = {.seed = 1, .limit_s = 20};
    struct solver *solver = solver_create(1);
    struct bench_small small;
    struct err err = {0};

    if (!*state)
        skip();
    if (bench_small_run(*state, solver, &o, 28, &small, &err) < 0)
        fail_msg("%s", err.text);
    assert_true(small.proven >= 24);
    assert_int_equal(small.unserved_more, 0);
    assert_true(small.mean < 0.0002);
    for (int x = 0; x < small.count; x++)
        if (small.all[x].proven)
            assert_true(bench_small_over(&small.all[x]) <= BENCH_SMALL_NEAR);
    bench_small_fini(&small);
    solver_destroy(solver);
}

/* A path once seated a job that had a place already: the checker saw it on two devices.
 */
static void no_job_is_seated_twice_by_a_path(void **state)
{
    struct instance_options o = {
        .jobs = 90, .types = 6, .devices_per_job = 0.6 + 0.1 * 3, .seed = 379};
    struct world *world;
    struct problem *p;
    struct solver *solver;
    struct solution s = {0};
    struct err err = {0};

    if (!*state)
        skip();
    world = load_seeded(301);
    p = instance_create(world, &o);
    solver = solver_create(301);
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
    if (!*state)
        skip();
    for (int types = 3; types <= 6; types += 3) {
        struct instance_options o = {
            .jobs = 1000, .types = types, .devices_per_job = 0.6, .seed = 2};
        struct problem *p = instance_create(*state, &o);
        struct solution s = {0};

        case_solve(p, &s);
        assert_true(s.gap < 0.005);
        assert_int_equal(s.unserved, 0);
        solution_fini(&s);
        problem_destroy(p);
    }
}

static void gangs_in_the_mix_keep_the_gap_small(void **state)
{
    struct instance_options o = {
        .jobs = 500, .multi = 0.1, .devices_per_job = 0.7, .seed = 2};
    struct problem *p;
    struct solution s = {0};

    if (!*state)
        skip();
    p = instance_create(*state, &o);
    case_solve(p, &s);
    assert_true(s.gap < 0.01);
    assert_int_equal(s.unserved, 0);
    solution_fini(&s);
    problem_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_cases_are_within_a_thousandth_of_the_optimum),
        cmocka_unit_test(no_job_is_seated_twice_by_a_path),
        cmocka_unit_test(a_thousand_jobs_come_within_half_a_percent),
        cmocka_unit_test(gangs_in_the_mix_keep_the_gap_small),
    };

    return cmocka_run_group_tests(tests, load, unload);
}
