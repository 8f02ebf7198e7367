/* solve.c - see solve.h */
#include "lab/solver/solve.h"

#include "base/mem.h"
#include "lab/solver/arena.h"
#include "lab/solver/lp_bound.h"
#include "lab/solver/bound_tasks.h"
#include "lab/solver/candidates.h"
#include "lab/solver/solver_caps.h"
#include "lab/solver/exact.h"
#include "lab/solver/expand.h"
#include "lab/solver/finish_plan.h"
#include "lab/solver/solver_gangs.h"
#include "lab/solver/groups.h"
#include "lab/solver/levers.h"
#include "lab/solver/solver_limit.h"
#include "lab/solver/lp.h"
#include "lab/solver/matching.h"
#include "lab/solver/solver_nodes.h"
#include "lab/solver/prices.h"
#include "lab/solver/solver_quotas.h"
#include "lab/solver/sample.h"
#include "lab/solver/seating.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LP_COLUMNS 10000 /* beyond, sampling is faster than the class LP */
#define BLOCK          2000  /* tasks among which all pairs are looked at */
#define ONE_ROUND      2000  /* up to this many tasks one round of matching will do */
#define POLISH_TASKS   150
#define FOCUS_PASSES   6
#define GOOD_GAP       5e-4
#define POOR_GAP       8e-3 /* a start worse than this is held against another */
#define WORTH_A_PASS   1e-4 /* of the bound; a pass that saves less is the last */
#define FOCUS_EFFORT   20000
#define BID_WATTS      1.0

struct solver {
    uint64_t seed;
    struct arena *arena;
    struct lp *lp;
    struct solve_times times;
    const double *worth; /* of the last run, in the arena */
    double price[PROBLEM_MAX_TYPES];
    struct solution spare, joined;
    struct solver *inner; /* for problems solved on the way; NULL until there is one */
};

struct run {
    struct solver *solver;
    const struct problem *p;
    struct solve_options options;
    bool *held;
    double started_s;
    size_t mark; /* of the arena, behind held */
    struct work w;
    struct stairs stairs;
    struct search s;
    double bound;
    double *proven; /* (tasks) duals behind the bound */
    struct prices_plan plan;
};

struct solver *solver_create(uint64_t seed)
{
    struct solver *solver = mem_new(struct solver);

    solver->seed = seed;
    solver->arena = arena_create();
    solver->lp = lp_create();
    return solver;
}

void solver_destroy(struct solver *solver)
{
    if (!solver)
        return;
    arena_destroy(solver->arena);
    lp_destroy(solver->lp);
    solution_fini(&solver->spare);
    solution_fini(&solver->joined);
    solver_destroy(solver->inner);
    free(solver);
}

size_t solver_memory(const struct solver *solver)
{
    return arena_capacity(solver->arena) +
           (solver->inner ? solver_memory(solver->inner) : 0);
}

const struct solve_times *solver_times(const struct solver *solver)
{
    return &solver->times;
}

const double *solver_worth(const struct solver *solver)
{
    return solver->worth;
}

const double *solver_price(const struct solver *solver)
{
    return solver->price;
}

static bool out_of_time(const struct run *r)
{
    return r->options.clock &&
           clock_now_s(r->options.clock) - r->started_s >= r->options.limit_s;
}

static void lap(double *total, double *since)
{
    double now = clock_cpu_s();

    *total += now - *since;
    *since = now;
}

/* Where jobs of a class differ the bound by classes is loose. */
static void bound_each_task(struct run *r)
{
    size_t mark = arena_mark(r->solver->arena);
    double *worth = arena_array(r->solver->arena, double, r->w.tasks + 1);
    double bound = bound_tasks_from(&r->w, r->w.pi, worth);

    if (bound > r->bound) {
        r->bound = bound;
        memcpy(r->proven, worth, (size_t)r->w.tasks * sizeof(double));
    }
    arena_release(r->solver->arena, mark);
}

/* Prices and, from them, the bound. */
static bool find_prices(struct run *r)
{
    struct solve_times *times = &r->solver->times;
    double since = clock_cpu_s();
    bool lp = !r->options.no_lp && prices_size(&r->w) <= MAX_LP_COLUMNS &&
              prices_from_classes(&r->w, r->solver->lp, &r->plan);

    if (!lp)
        sample_prices(&r->w, r->w.tasks < 5000 ? 300 : 600, 16);
    lap(&times->prices, &since);
    if (lp)
        r->bound = bound_from(&r->w, r->w.pi, r->proven);
    if (lp && r->w.tasks <= BOUND_TASKS_MOST && bound_tasks_differ(&r->w))
        bound_each_task(r);
    lap(&times->bound, &since);
    return lp;
}

static void match(struct run *r, struct graph *g, bool from_lp)
{
    struct solve_times *times = &r->solver->times;
    int rounds = from_lp ? (r->w.tasks <= ONE_ROUND ? 1 : 2) : 3;
    double since = clock_cpu_s();

    for (int round = 0; round < rounds; round++) {
        if (round > 0 && out_of_time(r))
            break;
        candidates_find(g, BLOCK, round);
        lap(&times->candidates, &since);
        matching_run(g, BID_WATTS);
        if (!from_lp && round + 1 < rounds)
            sample_step(g, 30.0 / (1 + round));
        lap(&times->matching, &since);
    }
}

static double gap_on_types(const struct run *r, const struct search *s)
{
    double bound = r->bound - bound_constant(&r->w);

    return (s->cost - bound) / (fabs(bound) + 1);
}

/* Where the matching does not fit the devices there are, the LP's counts are the better
 * start. */
static void choose_start(struct run *r)
{
    struct search other;

    search_unpark(&r->s);
    if (r->plan.place_count == 0 || gap_on_types(r, &r->s) < POOR_GAP)
        return;
    search_init(&other, &r->w, &r->stairs, r->solver->seed);
    other.worth = r->proven;
    expand_run(&r->plan, &other);
    search_unpark(&other);
    if (other.cost < r->s.cost)
        r->s = other;
}

static void descend(struct run *r)
{
    int passes = r->options.passes ? r->options.passes : r->w.tasks <= 2000 ? 2 : 1;
    long moves = 1;

    for (int pass = 0; pass < passes && !out_of_time(r); pass++)
        if (search_pass(&r->s) == 0)
            break;
    for (int pass = 0; pass < FOCUS_PASSES && moves > 0 && !out_of_time(r) &&
                       gap_on_types(r, &r->s) > GOOD_GAP;
         pass++) {
        double before = gap_on_types(r, &r->s);

        moves = search_focus(&r->s, FOCUS_EFFORT);
        if (before - gap_on_types(r, &r->s) < WORTH_A_PASS)
            break;
    }
}

/* By prices of classes, matching and local search. */
static void solve_large(struct run *r)
{
    struct solve_times *times = &r->solver->times;
    int width = r->options.candidates ? r->options.candidates : 20;
    bool lp = find_prices(r);
    struct graph g;
    double since;

    gangs_tighten(&r->w);
    graph_init(&g, &r->w, width < r->w.tasks ? width : r->w.tasks);
    match(r, &g, lp);
    since = clock_cpu_s();
    if (!lp)
        r->bound = gangs_bound(&r->w, r->proven);
    lap(&times->bound, &since);
    stairs_build(&r->stairs, &r->w);
    search_init(&r->s, &r->w, &r->stairs, r->solver->seed);
    r->s.worth = r->proven;
    seating_run(&g, &r->s);
    lap(&times->seating, &since);
    choose_start(r);
    descend(r);
    lap(&times->search, &since);
}

/* By the places of single tasks. */
static void solve_small(struct run *r)
{
    struct solve_times *times = &r->solver->times;
    struct work *w = &r->w;
    double since = clock_cpu_s(), on_types;

    gangs_tighten(w);
    work_tabulate(w);
    memset(w->price, 0, sizeof(w->price));
    prices_guess_pi(w);
    stairs_build(&r->stairs, w);
    search_init(&r->s, w, &r->stairs, r->solver->seed);
    for (int i = 0; i < w->tasks; i++) {
        r->proven[i] = w->pi[i];
        search_park(&r->s, i);
    }
    search_unpark(&r->s);
    lap(&times->search, &since);
    if (!out_of_time(r)) {
        exact_run(&r->s, r->solver->lp, r->proven, &on_types);
        if (!w->gangs || r->p->node_count == 0) /* needs of gangs were tightened */
            r->bound = fmax(r->bound, on_types + bound_constant(w));
    }
    lap(&times->polish, &since);
    if (r->s.worth)
        return;
    r->bound = gangs_bound(w, r->proven); /* no time, or no LP */
    r->s.worth = r->proven;
    lap(&times->bound, &since);
}

/* More than two to a device where that is cheaper when all is counted.  No bound holds
 * for these: none is told. */
static void try_groups(struct run *r, struct solution *out)
{
    struct solution *joined = &r->solver->joined;

    r->bound = -INFINITY;
    solution_copy(joined, out, r->p);
    if (groups_join(&r->w, r->held, joined) == 0)
        return;
    nodes_assign(r->p, r->solver->arena, joined);
    finish_figures(r->p, joined);
    if (joined->cost < out->cost)
        solution_copy(out, joined, r->p);
}

/* One pass of the pipeline with watts weighted. */
static void solve_once(struct run *r, double watts_weight, struct solution *out)
{
    struct arena *arena = r->solver->arena;
    double since;

    work_build(&r->w, r->p, arena, watts_weight, r->held, 0);
    caps_prune(&r->w);
    work_find_floors(&r->w);
    r->proven = arena_array(arena, double, r->w.tasks + 1);
    r->bound = -INFINITY;
    if (r->w.tasks <= POLISH_TASKS && !r->options.no_lp)
        solve_small(r);
    else
        solve_large(r);
    gangs_settle(&r->s);
    since = clock_cpu_s();
    finish_devices(&r->s, r->held, out);
    nodes_assign(r->p, arena, out);
    finish_figures(r->p, out);
    if (groups_wanted(r->p))
        try_groups(r, out);
    lap(&r->solver->times.nodes, &since);
}

/* For limit.h: the bound comes with what the jobs held back cost anyway. */
static double solve_weighted(void *self, double watts_weight, struct solution *out)
{
    struct run *r = self;

    arena_release(r->solver->arena, r->mark);
    solution_fit(out, r->p);
    solve_once(r, watts_weight, out);
    for (int j = 0; j < r->p->job_count; j++)
        if (r->held[j])
            r->bound += r->p->jobs[j].penalty;
    return r->bound;
}

/* The problem as it is, whatever its levers. */
static void run_plain(struct run *r, struct solution *out)
{
    struct solver *solver = r->solver;

    arena_reset(solver->arena);
    r->held = arena_array(solver->arena, bool, r->p->job_count + 1);
    quotas_hold(r->p, r->held);
    r->mark = arena_mark(solver->arena);
    out->bound = solve_weighted(r, 1, out);
    if (r->p->limit_watts > 0 && out->watts > r->p->limit_watts)
        limit_search(r->p, solve_weighted, r, out, &solver->spare);
}

/* For levers.h: in memory of its own, what the first run found is still needed. */
static void solve_other(void *self, const struct problem *p, struct solution *out)
{
    struct run *r = self;
    struct run other = {.p = p, .options = r->options, .started_s = r->started_s};

    if (!r->solver->inner)
        r->solver->inner = solver_create(r->solver->seed);
    other.solver = r->solver->inner;
    run_plain(&other, out);
}

static void hold_against_fewer_levers(struct run *r, struct solution *out)
{
    struct levers levers = {.p = r->p,
                            .arena = r->solver->arena,
                            .held = r->held,
                            .price = r->w.price,
                            .worth = r->s.worth,
                            .solve = solve_other,
                            .self = r,
                            .spare = &r->solver->spare};
    double since = clock_cpu_s();

    if (!out_of_time(r))
        levers_run(&levers, out);
    lap(&r->solver->times.levers, &since);
}

void solver_run(struct solver *solver, const struct problem *p,
                const struct solve_options *options, struct solution *out)
{
    struct run r = {.solver = solver, .p = p};

    if (options)
        r.options = *options;
    if (r.options.clock)
        r.started_s = clock_now_s(r.options.clock);
    memset(&solver->times, 0, sizeof(solver->times));
    run_plain(&r, out);
    hold_against_fewer_levers(&r, out);
    out->gap = solution_gap(out);
    solver->worth = r.s.worth;
    memcpy(solver->price, r.w.price, sizeof(solver->price));
}
