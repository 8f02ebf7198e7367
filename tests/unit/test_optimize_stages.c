/* test_optimize_stages.c - arena, LP, caps, matching and bound on their own */
#include "support/optimize_case.h"

#include "lab/solver/arena.h"
#include "lab/solver/lp_bound.h"
#include "lab/solver/bound_tasks.h"
#include "lab/solver/candidates.h"
#include "lab/solver/solver_caps.h"
#include "lab/solver/lp.h"
#include "lab/solver/matching.h"
#include "lab/solver/oddsets.h"
#include "lab/solver/prices.h"

#include <math.h>
#include <string.h>

static void arena_keeps_its_blocks_over_resets(void **state)
{
    struct arena *arena = arena_create();
    size_t held = 0;

    (void)state;
    for (int round = 0; round < 6; round++) {
        for (int x = 0; x < 200; x++)
            memset(arena_array(arena, char, 5000), x, 5000);
        if (round == 1)
            held = arena_capacity(arena);
        if (round > 1)
            assert_int_equal(arena_capacity(arena), held);
        arena_reset(arena);
    }
    arena_destroy(arena);
}

static void arena_gives_released_memory_out_again(void **state)
{
    struct arena *arena = arena_create();
    int *kept = arena_array(arena, int, 10);
    size_t mark = arena_mark(arena);
    int *first = arena_array(arena, int, 10);

    (void)state;
    kept[9] = 42;
    arena_release(arena, mark);
    assert_ptr_equal(arena_array(arena, int, 10), first);
    assert_int_equal(kept[9], 42);
    arena_destroy(arena);
}

/* min -x - 2y, x + y <= 4, y <= 3: optimum 7 at (1, 3), the row is worth 1. */
static void lp_finds_optimum_and_duals_and_goes_on_after_a_column(void **state)
{
    struct lp *lp = lp_create();
    int row = lp_row(lp, -LP_INFINITY, 4);
    double one = 1;

    (void)state;
    lp_column(lp, -1, 0, LP_INFINITY, 1, &row, &one);
    lp_column(lp, -2, 0, 3, 1, &row, &one);
    assert_true(lp_solve(lp, LP_DUAL, 0));
    assert_true(fabs(lp_objective(lp) + 7) < 1e-6);
    assert_true(fabs(lp_duals(lp)[0] + 1) < 1e-6);
    lp_column(lp, -3, 0, 1, 1, &row, &one);
    assert_true(lp_solve(lp, LP_DUAL, 0));
    assert_true(fabs(lp_objective(lp) + 9) < 1e-6);
    assert_true(lp_iterations(lp) > 0);
    lp_destroy(lp);
}

static void dominated_caps_are_pruned_and_cost_stays(void **state)
{
    struct problem *p =
        case_problem((struct instance_options){.jobs = 40, .caps = true, .seed = 4});
    struct arena *arena = arena_create();
    struct work full, pruned;

    (void)state;
    work_build(&full, p, arena, NULL, 0);
    work_build(&pruned, p, arena, NULL, 0);
    assert_true(caps_prune(&pruned) > 0);
    for (int t = 0; t < p->type_count; t++)
        for (int i = 0; i < full.tasks; i++) {
            assert_true(work_alone(&full, t, i, NULL) == work_alone(&pruned, t, i, NULL));
            for (int j = 0; j < i; j++)
                assert_true(work_pair(&full, t, i, j, NULL) ==
                            work_pair(&pruned, t, i, j, NULL));
        }
    arena_destroy(arena);
    problem_destroy(p);
}

static void matching_pairs_both_ways_and_only_what_may_share(void **state)
{
    struct problem *p = case_problem((struct instance_options){.jobs = 200, .seed = 6});
    struct arena *arena = arena_create();
    struct work w;
    struct graph g;

    (void)state;
    for (int j = 0; j < 200; j += 10)
        p->jobs[j].may_share = false;
    work_build(&w, p, arena, NULL, 0);
    work_find_floors(&w);
    prices_guess_pi(&w);
    graph_init(&g, &w, 12);
    candidates_find(&g, 64, 0);
    matching_run(&g, 1);
    for (int i = 0; i < w.tasks; i++) {
        if (g.mate[i] < 0)
            continue;
        assert_int_equal(g.mate[g.mate[i]], i);
        assert_true(graph_pair(&g, i, g.mate[i], NULL) < WORK_NEVER);
        assert_true(i % 10 != 0);
    }
    arena_destroy(arena);
    problem_destroy(p);
}

static void any_prices_give_a_bound_below_the_optimum(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 30; seed++) {
        struct problem *p = case_problem((struct instance_options){.jobs = 6,
                                                                   .devices_per_job = 0.5,
                                                                   .distinct = seed % 2,
                                                                   .caps = seed % 3 == 0,
                                                                   .seed = seed});
        struct arena *arena = arena_create();
        double best = case_brute_cost(p);
        struct work w;
        float pi[6];

        work_build(&w, p, arena, NULL, 0);
        for (int i = 0; i < 6; i++)
            pi[i] = (float)(40 * (double)((seed * 7 + (uint64_t)i * 13) % 11));
        for (int t = 0; t < p->type_count; t++)
            w.price[t] = (double)((seed + (uint64_t)t * 5) % 60);
        assert_true(bound_from(&w, pi, NULL) <= best + 0.01);
        arena_destroy(arena);
        problem_destroy(p);
    }
}

static void bound_task_by_task_holds_and_is_tighter_where_jobs_differ(void **state)
{
    double by_class = 0, by_task = 0;
    int differ = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        struct problem *p = case_problem((struct instance_options){
            .jobs = 7, .devices_per_job = 0.6, .distinct = true, .seed = seed});
        struct arena *arena = arena_create();
        struct lp *lp = lp_create();
        double best = case_brute_cost(p), bound;
        struct prices_plan plan;
        struct work w;

        work_build(&w, p, arena, NULL, 0);
        differ += bound_tasks_differ(&w);
        assert_true(prices_from_classes(&w, lp, &plan));
        bound = bound_tasks_from(&w, w.pi, NULL);
        assert_true(bound <= best + 0.01);
        by_task += bound;
        by_class += bound_from(&w, w.pi, NULL);
        lp_destroy(lp);
        arena_destroy(arena);
        problem_destroy(p);
    }
    assert_true(differ >= 6); /* seven jobs seldom are of seven classes */
    assert_true(by_task > by_class);
}

static bool note_set(void *ctx, const int *members, int count)
{
    int *found = ctx;

    for (int x = 0; x < count; x++)
        found[x] = members[x];
    found[7] = count;
    return true;
}

/* A triangle and a cycle of five by halves; a pair that is whole. */
static void odd_sets_are_found(void **state)
{
    const struct oddsets_edge edges[] = {{0, 1, 0.5}, {1, 2, 0.5}, {0, 2, 0.5},
                                         {3, 4, 0.5}, {4, 5, 0.5}, {5, 6, 0.5},
                                         {6, 7, 0.5}, {3, 7, 0.5}, {8, 9, 1}};
    int found[8] = {0};

    (void)state;
    assert_true(oddsets_find(10, edges, 3, note_set, found) > 0);
    assert_int_equal(found[7], 3);
    assert_true(oddsets_find(10, edges + 3, 6, note_set, found) > 0);
    assert_int_equal(found[7], 5);
    assert_int_equal(oddsets_find(10, edges + 8, 1, note_set, found), 0);
}

/* Three that share two by two at 1 each: the LP takes three halves until it is told. */
static void lp_takes_cuts_and_columns_in_them(void **state)
{
    struct lp *lp = lp_create();
    int columns[3], cut;
    double ones[3] = {1, 1, 1};

    (void)state;
    for (int i = 0; i < 3; i++)
        lp_row(lp, -LP_INFINITY, 1);
    for (int i = 0; i < 3; i++) {
        int rows[2] = {i, (i + 1) % 3};

        columns[i] = lp_column(lp, -1, 0, 1, 2, rows, ones);
    }
    assert_true(lp_solve(lp, LP_DUAL, 0));
    assert_true(fabs(lp_objective(lp) + 1.5) < 1e-6);
    cut = lp_cut(lp, -LP_INFINITY, 1, 3, columns, ones);
    assert_true(lp_solve(lp, LP_DUAL, 0));
    assert_true(fabs(lp_objective(lp) + 1) < 1e-6);
    lp_column(lp, -1.5, 0, 1, 1, &cut, ones);
    assert_true(lp_solve(lp, LP_DUAL, 0));
    assert_true(fabs(lp_objective(lp) + 1.5) < 1e-6);
    lp_destroy(lp);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arena_keeps_its_blocks_over_resets),
        cmocka_unit_test(arena_gives_released_memory_out_again),
        cmocka_unit_test(bound_task_by_task_holds_and_is_tighter_where_jobs_differ),
        cmocka_unit_test(odd_sets_are_found),
        cmocka_unit_test(lp_takes_cuts_and_columns_in_them),
        cmocka_unit_test(lp_finds_optimum_and_duals_and_goes_on_after_a_column),
        cmocka_unit_test(dominated_caps_are_pruned_and_cost_stays),
        cmocka_unit_test(matching_pairs_both_ways_and_only_what_may_share),
        cmocka_unit_test(any_prices_give_a_bound_below_the_optimum),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
