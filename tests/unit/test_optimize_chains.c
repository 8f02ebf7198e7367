/* test_optimize_chains.c - chains and paths lose nobody, double nobody, and save */
#include "support/optimize_case.h"

#include "lab/solver/lp_bound.h"
#include "lab/solver/solver_caps.h"
#include "lab/solver/chains.h"
#include "lab/solver/prices.h"

#include <math.h>

struct bed {
    struct problem *p;
    struct arena *arena;
    struct lp *lp;
    struct work w;
    struct search s;
    double *worth;
};

/* A placement that is far from good: everybody where there was room. */
static void bed_init(struct bed *b, struct instance_options o)
{
    struct prices_plan plan;

    b->p = case_problem(o);
    b->arena = arena_create();
    b->lp = lp_create();
    work_build(&b->w, b->p, b->arena, NULL, 0);
    caps_prune(&b->w);
    work_find_floors(&b->w);
    assert_true(prices_from_classes(&b->w, b->lp, &plan));
    b->worth = arena_array(b->arena, double, b->w.tasks + 1);
    bound_from(&b->w, b->w.pi, b->worth);
    work_tabulate(&b->w);
    search_init(&b->s, &b->w, NULL, o.seed);
    for (int i = 0; i < b->w.tasks; i++)
        search_park(&b->s, i);
    search_unpark(&b->s);
    b->s.worth = b->worth;
}

static void bed_fini(struct bed *b)
{
    lp_destroy(b->lp);
    arena_destroy(b->arena);
    problem_destroy(b->p);
}

/* Every task in one record, the one that place names; devices counted right. */
static void assert_sound(const struct search *s)
{
    int used[PROBLEM_MAX_TYPES] = {0}, members = 0;

    for (int r = 0; r < s->count; r++) {
        const struct search_record *rec = &s->records[r];

        if (rec->type == SEARCH_FREE)
            continue;
        for (int e = 0; e < 2; e++)
            if (rec->task[e] >= 0) {
                assert_int_equal(s->place[rec->task[e]], r);
                members++;
            }
        if (rec->type >= 0)
            used[rec->type]++;
    }
    assert_int_equal(members, s->w->tasks);
    for (int t = 0; t < s->w->types; t++) {
        assert_int_equal(used[t], s->used[t]);
        assert_true(used[t] <= s->w->devices[t]);
    }
    assert_true(fabs(case_search_cost(s) - s->cost) < 0.05);
}

static const struct chains_effort short_ones = {
    .broken = 6, .a_start = 1500, .steps = 60000};

static void run_one(uint64_t seed, const struct chains_effort *then, double *saved)
{
    struct chains_lists lists;
    struct bed b;
    double before;

    bed_init(&b,
             (struct instance_options){.jobs = 10 + 2 * (int)(seed % 40),
                                       .types = 3 + (int)(seed % 4),
                                       .devices_per_job = 0.5 + 0.1 * (double)(seed % 6),
                                       .caps = seed % 4 == 0,
                                       .seed = seed});
    chains_list(&lists, &b.s, (double)WORK_NEVER / 4);
    before = b.s.cost;
    chains_run(&b.s, &lists, &short_ones);
    assert_sound(&b.s);
    if (then) {
        before = b.s.cost;
        chains_run(&b.s, &lists, then);
        assert_sound(&b.s);
    }
    assert_true(b.s.cost <= before + 1e-6);
    *saved += before - b.s.cost;
    bed_fini(&b);
}

static void short_chains_keep_everybody_once(void **state)
{
    double saved = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++)
        run_one(seed, NULL, &saved);
    assert_true(saved > 0);
}

/* From a placement that is good already most ways lose on the way. */
static void long_paths_keep_everybody_once(void **state)
{
    struct chains_effort effort = {
        .broken = 6, .a_start = 4000, .steps = 100000, .paths = true};
    double saved = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++)
        for (int x = 0; x < 3; x++) {
            effort.allow = 5 + 20 * x;
            run_one(seed, &effort, &saved);
        }
    assert_true(saved > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_chains_keep_everybody_once),
        cmocka_unit_test(long_paths_keep_everybody_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
