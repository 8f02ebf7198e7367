/* test_optimize_solve.c - the whole pipeline against brute force, bound and checker */
#include "support/optimize_case.h"

#include <math.h>

static void tiny_cases_cost_what_brute_force_finds(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct problem *p = case_problem(
            (struct instance_options){.jobs = 3 + (int)(seed % 5),
                                      .devices_per_job = 0.4 + 0.1 * (seed % 4),
                                      .distinct = seed % 2,
                                      .progress = seed % 3 ? 0 : 150,
                                      .seed = seed});
        struct solution s = {0};
        double best = case_brute_cost(p);

        case_solve(p, &s);
        assert_true(s.cost >= best - 0.05);
        assert_true(s.cost <= best + 0.001 * fabs(best) + 0.05);
        assert_true(s.bound <= best + 0.05);
        solution_fini(&s);
        problem_destroy(p);
    }
}

static void gap_is_small_and_bound_below_cost(void **state)
{
    static const double scarce[] = {0.5, 0.6, 1.0};

    (void)state;
    for (int x = 0; x < 3; x++) {
        struct problem *p = case_problem((struct instance_options){
            .jobs = 400, .devices_per_job = scarce[x], .seed = 5});
        struct solution s = {0};

        case_solve(p, &s);
        assert_true(s.bound <= s.cost + 0.1);
        assert_true(s.gap < 0.03);
        solution_fini(&s);
        problem_destroy(p);
    }
}

static void same_problem_and_seed_give_the_same_plan(void **state)
{
    struct problem *p = case_problem((struct instance_options){
        .jobs = 120, .caps = true, .host_watts = 120, .sleep = true, .seed = 3});
    struct solution a = {0}, b = {0};

    (void)state;
    case_solve(p, &a);
    case_solve(p, &b);
    assert_int_equal(a.device_count, b.device_count);
    for (int d = 0; d < a.device_count; d++) {
        assert_int_equal(a.devices[d].variant, b.devices[d].variant);
        assert_int_equal(a.devices[d].device, b.devices[d].device);
        assert_int_equal(a.devices[d].jobs[0], b.devices[d].jobs[0]);
        assert_int_equal(a.devices[d].jobs[1], b.devices[d].jobs[1]);
    }
    solution_fini(&a);
    solution_fini(&b);
    problem_destroy(p);
}

static void prices_by_sampling_serve_everybody_too(void **state)
{
    struct problem *p = case_problem(
        (struct instance_options){.jobs = 300, .devices_per_job = 0.8, .seed = 3});
    struct solve_options options = {.no_lp = true};
    struct solver *solver = solver_create(1);
    struct solution with = {0}, without = {0};
    struct err err = {0};

    (void)state;
    case_solve(p, &with);
    solver_run(solver, p, &options, &without);
    assert_int_equal(check_solution(p, &without, &err), 0);
    assert_int_equal(without.unserved, with.unserved);
    assert_true(without.cost < 1.03 * with.cost);
    solution_fini(&with);
    solution_fini(&without);
    solver_destroy(solver);
    problem_destroy(p);
}

static void everything_at_once_passes_the_checker(void **state)
{
    struct world *world = instance_world(3, 7);

    (void)state;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        struct instance_options o = {.jobs = 20 + 15 * (int)seed,
                                     .types = 3 + (int)(seed % 4),
                                     .devices_per_job = 0.5 + 0.1 * (double)(seed % 5),
                                     .caps = seed % 2,
                                     .distinct = seed % 3 == 0,
                                     .progress = seed % 2 ? 200 : 0,
                                     .host_watts = seed % 4 ? 120 : 0,
                                     .sleep = seed % 3 != 1,
                                     .seed = seed};
        struct problem *p = instance_create(world, &o);
        struct solution s = {0};

        case_solve(p, &s);
        solution_fini(&s);
        problem_destroy(p);
    }
    world_destroy(world);
}

static void no_jobs_is_a_plan_too(void **state)
{
    struct problem *p = case_problem((struct instance_options){
        .jobs = 1, .host_watts = 120, .sleep = true, .seed = 1});
    struct solution s = {0};

    (void)state;
    p->job_count = 0;
    problem_number_tasks(p);
    case_solve(p, &s);
    assert_int_equal(s.device_count, 0);
    solution_fini(&s);
    problem_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tiny_cases_cost_what_brute_force_finds),
        cmocka_unit_test(gap_is_small_and_bound_below_cost),
        cmocka_unit_test(same_problem_and_seed_give_the_same_plan),
        cmocka_unit_test(prices_by_sampling_serve_everybody_too),
        cmocka_unit_test(everything_at_once_passes_the_checker),
        cmocka_unit_test(no_jobs_is_a_plan_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
