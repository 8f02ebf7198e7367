/* test_bench_run.c - what corgi bench optimize calls proven is proven */
#include "support/optimize_case.h"

#include "lab/bench/bench_run.h"

#include <math.h>

static struct bench_run run_one(struct bench_optimize_options o, int jobs)
{
    struct world *world = instance_world(3, 7);
    struct instance_options io = bench_instance(&o, jobs);
    struct problem *p = instance_create(world, &io);
    struct solver *solver = solver_create(1);
    struct bench_run run;
    struct err err = {0};

    if (bench_run_corgi(solver, p, &o, &run, &err) < 0)
        fail_msg("%s", err.text);
    solver_destroy(solver);
    problem_destroy(p);
    world_destroy(world);
    return run;
}

static void a_small_gap_is_proven(void **state)
{
    struct bench_run run = run_one((struct bench_optimize_options){.seed = 1}, 100);

    (void)state;
    assert_true(run.gap <= BENCH_PROVEN_GAP);
    assert_true(run.proven);
}

/* The bound takes no whole nodes into account: it is there, and it is not near. */
static void gangs_on_nodes_have_a_bound_and_prove_only_what_it_shows(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        struct bench_run run =
            run_one((struct bench_optimize_options){.seed = seed,
                                                    .multi = 0.3,
                                                    .host_watts = 120,
                                                    .sleep = true,
                                                    .caps = seed % 2 == 0},
                    10 + 8 * (int)seed);

        assert_true(isfinite(run.bound) && run.bound <= run.objective + 0.05);
        assert_int_equal(run.proven, run.gap <= BENCH_PROVEN_GAP);
    }
}

static void what_was_not_bounded_is_not_proven(void **state)
{
    struct world *world = instance_world(3, 7);
    struct bench_optimize_options o = {.seed = 1};
    struct instance_options io = bench_instance(&o, 12);
    struct problem *p = instance_create(world, &io);
    struct bench_run run;
    struct err err = {0};

    (void)state;
    assert_int_equal(bench_run_reference("gavel", p, &o, &run, &err), 0);
    assert_true(run.ended && !run.proven); /* another objective: no plan, no bound */
    problem_destroy(p);
    world_destroy(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_small_gap_is_proven),
        cmocka_unit_test(gangs_on_nodes_have_a_bound_and_prove_only_what_it_shows),
        cmocka_unit_test(what_was_not_bounded_is_not_proven),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
