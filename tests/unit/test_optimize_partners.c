/* test_optimize_partners.c - partners found by class against a look at every task */
#include "support/optimize_case.h"

#include "lab/solver/lp.h"
#include "lab/solver/near.h"
#include "lab/solver/partners.h"
#include "lab/solver/prices.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST 12

struct table {
    struct problem *p;
    struct arena *arena;
    struct lp *lp;
    struct work w;
    struct prices_plan plan;
};

/* Work with prices, and everybody's worth, from the LP. */
static void table_init(struct table *t, struct instance_options options)
{
    *t = (struct table){.p = case_problem(options), .arena = arena_create()};
    t->lp = lp_create();
    work_build(&t->w, t->p, t->arena, NULL, 0);
    work_find_floors(&t->w);
    assert_true(prices_from_classes(&t->w, t->lp, &t->plan));
}

static void table_fini(struct table *t)
{
    lp_destroy(t->lp);
    arena_destroy(t->arena);
    problem_destroy(t->p);
}

static float reduced_cost(const struct work *w, int i, int j)
{
    float least = WORK_NEVER;

    for (int t = 0; t < w->types; t++) {
        float cost = work_pair(w, t, i, j, NULL);

        if (cost < WORK_NEVER)
            least = fminf(least, cost + (float)w->price[t] - w->pi[j]);
    }
    return least;
}

static int ascending(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;

    return x < y ? -1 : x > y;
}

/* The least reduced costs of i with anybody; returns how many there are. */
static int least_of_all(const struct table *t, int i, float *least)
{
    size_t mark = arena_mark(t->arena);
    float *all = arena_array(t->arena, float, t->w.tasks);
    int count = 0;

    for (int j = 0; j < t->w.tasks; j++) {
        float reduced = j == i ? WORK_NEVER : reduced_cost(&t->w, i, j);

        if (reduced < WORK_NEVER / 2)
            all[count++] = reduced;
    }
    qsort(all, (size_t)count, sizeof(*all), ascending);
    if (count > MOST)
        count = MOST;
    memcpy(least, all, (size_t)count * sizeof(*all));
    arena_release(t->arena, mark);
    return count;
}

static void check_partners(const struct table *t, bool sorted)
{
    int *order = arena_array(t->arena, int, t->w.tasks);
    struct partners b;

    work_order(&t->w, order);
    partners_init(&b, &t->w, t->w.tasks);
    partners_load(&b, order, 0, 1);
    assert_int_equal(b.sorted, sorted);
    for (int x = 0; x < b.count; x++) {
        struct partners_one best[MOST];
        float found[MOST], least[MOST];
        int count = partners_find(&b, x, MOST, best);

        assert_int_equal(count, least_of_all(t, b.members[x], least));
        for (int q = 0; q < count; q++) {
            found[q] = best[q].reduced;
            assert_true(fabsf(found[q] - reduced_cost(&t->w, b.members[x],
                                                      b.members[best[q].at])) < 1e-2f);
        }
        qsort(found, (size_t)count, sizeof(*found), ascending);
        for (int q = 0; q < count; q++)
            assert_true(fabsf(found[q] - least[q]) < 1e-2f);
    }
}

static void partners_are_the_cheapest_of_all(void **state)
{
    struct table t;

    (void)state;
    table_init(&t, (struct instance_options){.jobs = 300, .multi = 0.2, .seed = 3});
    check_partners(&t, true);
    table_fini(&t);
    table_init(&t, (struct instance_options){.jobs = 300, .caps = true, .seed = 4});
    check_partners(&t, true);
    table_fini(&t);
}

static void partners_are_the_cheapest_where_every_job_differs(void **state)
{
    struct table t;

    (void)state;
    table_init(&t, (struct instance_options){.jobs = 300, .distinct = true, .seed = 5});
    check_partners(&t, true);
    table_fini(&t);
}

static void partners_are_the_cheapest_where_classes_are_many(void **state)
{
    struct table t;

    (void)state;
    table_init(&t, (struct instance_options){.jobs = 20, .seed = 6});
    check_partners(&t, false);
    table_fini(&t);
}

static void park_all(struct table *t, struct search *s, double *worth)
{
    search_init(s, &t->w, NULL, 1);
    for (int i = 0; i < t->w.tasks; i++) {
        worth[i] = (double)t->w.pi[i];
        search_park(s, i);
    }
    s->worth = worth;
    search_unpark(s);
}

/* The index is another way to the same moves: it must find savings, and its cost be that
 * of the placement. */
static void focus_saves_and_keeps_count(void **state)
{
    struct table t;
    struct search s;
    double *worth, before;

    (void)state;
    table_init(&t, (struct instance_options){.jobs = 300, .multi = 0.2, .seed = 7});
    worth = arena_array(t.arena, double, t.w.tasks);
    park_all(&t, &s, worth);
    before = s.cost;
    assert_true(near_focus(&s, 20000) > 0);
    assert_true(s.cost < before);
    assert_true(fabs(s.cost - case_search_cost(&s)) < 1e-3 * fabs(s.cost));
    assert_null(s.index);
    table_fini(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(partners_are_the_cheapest_of_all),
        cmocka_unit_test(partners_are_the_cheapest_where_every_job_differs),
        cmocka_unit_test(partners_are_the_cheapest_where_classes_are_many),
        cmocka_unit_test(focus_saves_and_keeps_count),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
