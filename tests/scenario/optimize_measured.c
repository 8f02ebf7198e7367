/* optimize_measured.c - the optimizer on Gavel's measured rates, against exact solutions
 */
#include "support/optimize_case.h"

#include "world/gavel.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static int load(void **state)
{
    const char *data = getenv("CORGI_DATA");
    char path[4096];
    struct world *world = NULL;
    struct err err = {0};

    snprintf(path, sizeof(path), "%s/gavel/simulation_throughputs.json",
             data ? data : "");
    if (data && gavel_load(&world, path, 1, &err) < 0)
        world = NULL;
    *state = world;
    return 0;
}

static int unload(void **state)
{
    world_destroy(*state);
    return 0;
}

static void small_cases_are_within_a_few_thousandths_of_the_optimum(void **state)
{
    double sum = 0;
    int count = 0;

    if (!*state)
        skip();
    for (uint64_t seed = 1; seed <= 24; seed++) {
        struct instance_options o = {.jobs = 10 + 5 * (int)(seed % 8),
                                     .devices_per_job = 0.6 + 0.1 * (double)(seed % 5),
                                     .seed = seed};
        struct problem *p = instance_create(*state, &o);
        struct solution ours = {0}, exact = {0};
        struct reference_result r;
        struct err err = {0};

        case_solve(p, &ours);
        assert_int_equal(reference_run("cbc", p, 20, &exact, &r, &err), 0);
        if (r.proven) {
            double over = ours.cost / r.objective - 1;

            assert_true(over < 0.004);
            assert_true(ours.unserved <= exact.unserved);
            assert_true(ours.bound <= r.objective * (1 + 1e-5));
            sum += fmax(over, 0);
            count++;
        }
        solution_fini(&ours);
        solution_fini(&exact);
        problem_destroy(p);
    }
    assert_true(count >= 20);
    assert_true(sum / count < 0.0005);
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
        cmocka_unit_test(small_cases_are_within_a_few_thousandths_of_the_optimum),
        cmocka_unit_test(a_thousand_jobs_come_within_half_a_percent),
        cmocka_unit_test(gangs_in_the_mix_keep_the_gap_small),
    };

    return cmocka_run_group_tests(tests, load, unload);
}
