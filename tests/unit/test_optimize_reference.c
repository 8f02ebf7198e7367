/* test_optimize_reference.c - the reference solvers agree where they must */
#include "support/optimize_case.h"

#include <math.h>

static struct reference_result run(const char *name, const struct problem *p,
                                   struct solution *s)
{
    struct reference_result r;
    struct err err = {0};

    if (reference_run(name, p, 20, s, &r, &err) < 0)
        fail_msg("%s", err.text);
    return r;
}

static void exact_forms_agree_with_brute_force(void **state)
{
    static const char *const exact[] = {"cbc", "paper"};

    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        struct problem *p = case_problem(
            (struct instance_options){.jobs = 6, .devices_per_job = 0.6, .seed = seed});
        double best = case_brute_cost(p);

        for (int x = 0; x < 2; x++) {
            struct solution s = {0};
            struct reference_result r = run(exact[x], p, &s);

            assert_true(r.proven);
            assert_true(fabs(r.objective - best) < 0.01 + 1e-4 * best);
            solution_fini(&s);
        }
        problem_destroy(p);
    }
}

static void column_generation_bounds_from_below(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        struct problem *p = case_problem(
            (struct instance_options){.jobs = 7, .devices_per_job = 0.6, .seed = seed});
        double best = case_brute_cost(p);
        struct solution s = {0};
        struct reference_result r = run("colgen", p, &s);

        assert_true(r.proven);
        assert_true(r.bound <= best + 0.01);
        assert_true(r.objective >= best - 0.01);
        solution_fini(&s);
        problem_destroy(p);
    }
}

static void gavels_lp_solves_and_gives_a_fair_share_above_zero(void **state)
{
    struct problem *p = case_problem((struct instance_options){.jobs = 12, .seed = 1});
    struct solution s = {0};
    struct reference_result r = run("gavel", p, &s);

    (void)state;
    assert_true(r.proven);
    assert_true(r.objective > 0);
    assert_false(r.has_plan);
    solution_fini(&s);
    problem_destroy(p);
}

static void an_unknown_solver_is_refused(void **state)
{
    struct problem *p = case_problem((struct instance_options){.jobs = 3, .seed = 1});
    struct solution s = {0};
    struct reference_result r;
    struct err err = {0};

    (void)state;
    assert_int_equal(reference_run("abacus", p, 1, &s, &r, &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    solution_fini(&s);
    problem_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_forms_agree_with_brute_force),
        cmocka_unit_test(column_generation_bounds_from_below),
        cmocka_unit_test(gavels_lp_solves_and_gives_a_fair_share_above_zero),
        cmocka_unit_test(an_unknown_solver_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
