/* solve.c - the stages in order: the bench and the references call solver_run() with a
 * problem and get a plan and its bound */
#include "lab/solver/solve.h"

#include "base/mem.h"
#include "lab/solver/arena.h"
#include "lab/solver/bound_tasks.h"
#include "lab/solver/candidates.h"
#include "lab/solver/exact.h"
#include "lab/solver/expand.h"
#include "lab/solver/finish_plan.h"
#include "lab/solver/graph.h"
#include "lab/solver/levers.h"
#include "lab/solver/lp.h"
#include "lab/solver/lp_bound.h"
#include "lab/solver/matching.h"
#include "lab/solver/near.h"
#include "lab/solver/prices.h"
#include "lab/solver/sample.h"
#include "lab/solver/solver_caps.h"
#include "lab/solver/solver_gangs.h"
#include "lab/solver/solver_nodes.h"
#include "lab/solver/solver_search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- types for the devices of a pairing -------------------------------------------- */

/* Given who shares with whom, every device takes its cheapest type, within the number
 * there are; the price of an over-full type rises until just enough devices prefer
 * another.  What finds no room is parked. */

#define MAX_ROUNDS 400

struct seat_device {
    int type; /* -1: none */
    int task[2];
};

struct regret {
    double cost; /* of leaving for the next best type */
    int device;
    int other; /* -1: there is none */
};

struct seating {
    const struct work *w;
    int count;
    struct seat_device *devices;
    float *cost; /* (devices, types) */
    int use[PROBLEM_MAX_TYPES];
    double price[PROBLEM_MAX_TYPES];
    struct regret *regrets;
};

static void choose_cheapest(struct seating *s, int d)
{
    const struct work *w = s->w;
    struct seat_device *dev = &s->devices[d];
    float *cost = &s->cost[(size_t)d * (size_t)w->types];
    float best = WORK_NEVER;

    for (int t = 0; t < w->types; t++) {
        cost[t] = dev->task[1] < 0 ? work_alone(w, t, dev->task[0], NULL)
                                   : work_pair(w, t, dev->task[0], dev->task[1], NULL);
        if (cost[t] < best) {
            best = cost[t];
            dev->type = t;
        }
    }
    if (dev->type >= 0)
        s->use[dev->type]++;
}

static struct regret next_best(const struct seating *s, int d)
{
    const float *cost = &s->cost[(size_t)d * (size_t)s->w->types];
    int now = s->devices[d].type;
    struct regret r = {(double)WORK_NEVER, d, -1};
    double best = (double)WORK_NEVER;

    for (int t = 0; t < s->w->types; t++) {
        if (t == now || cost[t] >= WORK_NEVER || (double)cost[t] + s->price[t] >= best)
            continue;
        best = (double)cost[t] + s->price[t];
        r.other = t;
        r.cost = best - (double)cost[now] - s->price[now];
    }
    return r;
}

static int by_regret(const void *a, const void *b)
{
    const struct regret *x = a, *y = b;

    if (x->cost != y->cost)
        return x->cost < y->cost ? -1 : 1;
    return x->device < y->device ? -1 : x->device > y->device;
}

/* Send away from type a the devices that mind least. */
static void relieve(struct seating *s, int a, int excess)
{
    double rise = 0;
    int n = 0;

    for (int d = 0; d < s->count; d++)
        if (s->devices[d].type == a)
            s->regrets[n++] = next_best(s, d);
    qsort(s->regrets, (size_t)n, sizeof(*s->regrets), by_regret);
    for (int q = 0; q < excess; q++) {
        const struct regret *r = &s->regrets[q];

        s->devices[r->device].type = r->other;
        s->use[a]--;
        if (r->other >= 0) {
            s->use[r->other]++;
            rise = r->cost;
        }
    }
    s->price[a] += rise + 1e-3;
}

static void balance(struct seating *s)
{
    for (int round = 0; round < MAX_ROUNDS; round++) {
        int worst = -1, excess = 0;

        for (int t = 0; t < s->w->types; t++)
            if (s->use[t] - s->w->devices[t] > excess) {
                excess = s->use[t] - s->w->devices[t];
                worst = t;
            }
        if (worst < 0)
            return;
        relieve(s, worst, excess);
    }
    for (int d = 0; d < s->count; d++) { /* it went round in circles: cut */
        int t = s->devices[d].type;

        if (t >= 0 && s->use[t] > s->w->devices[t]) {
            s->use[t]--;
            s->devices[d].type = -1;
        }
    }
}

static void put_all(const struct seating *s, struct search *to)
{
    for (int d = 0; d < s->count; d++) {
        const struct seat_device *dev = &s->devices[d];

        if (dev->type >= 0) {
            search_put(to, dev->type, dev->task[0], dev->task[1]);
            continue;
        }
        search_park(to, dev->task[0]);
        if (dev->task[1] >= 0)
            search_park(to, dev->task[1]);
    }
}

/* Put all of g's tasks into the empty placement s. */
static void seating_run(const struct graph *g, struct search *to)
{
    struct seating s = {.w = g->w};
    size_t mark = arena_mark(g->w->arena);
    size_t n = (size_t)g->tasks;

    s.devices = arena_array(g->w->arena, struct seat_device, n);
    s.cost = arena_array(g->w->arena, float, n *(size_t)g->w->types);
    s.regrets = arena_array(g->w->arena, struct regret, n);
    for (int i = 0; i < g->tasks; i++) {
        if (g->mate[i] >= 0 && g->mate[i] < i)
            continue;
        s.devices[s.count] = (struct seat_device){-1, {i, g->mate[i]}};
        choose_cheapest(&s, s.count++);
    }
    balance(&s);
    put_all(&s, to);
    arena_release(g->w->arena, mark);
}

/* ---- the whole --------------------------------------------------------------------- */

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
#define CANDIDATES     20 /* partners looked at for each task */

struct solver {
    uint64_t seed;
    struct arena *arena;
    struct lp *lp;
    const double *worth; /* of the last run, in the arena */
    double price[PROBLEM_MAX_TYPES];
    struct solution spare;
    struct solver *inner; /* for problems solved on the way; NULL until there is one */
};

struct solver_pass {
    struct solver *solver;
    const struct problem *p;
    struct solve_options options;
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
    solver_destroy(solver->inner);
    free(solver);
}

const double *solver_worth(const struct solver *solver)
{
    return solver->worth;
}

const double *solver_price(const struct solver *solver)
{
    return solver->price;
}

/* Where jobs of a class differ the bound by classes is loose. */
static void bound_each_task(struct solver_pass *r)
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
static bool find_prices(struct solver_pass *r)
{
    bool lp = !r->options.no_lp && prices_size(&r->w) <= MAX_LP_COLUMNS &&
              prices_from_classes(&r->w, r->solver->lp, &r->plan);

    if (!lp)
        sample_prices(&r->w, r->w.tasks < 5000 ? 300 : 600, 16);
    if (lp)
        r->bound = bound_from(&r->w, r->w.pi, r->proven);
    if (lp && r->w.tasks <= BOUND_TASKS_MOST && bound_tasks_differ(&r->w))
        bound_each_task(r);
    return lp;
}

static void match(struct solver_pass *r, struct graph *g, bool from_lp)
{
    int rounds = from_lp ? (r->w.tasks <= ONE_ROUND ? 1 : 2) : 3;

    for (int round = 0; round < rounds; round++) {
        candidates_find(g, BLOCK, round);
        matching_run(g, BID_WATTS);
        if (!from_lp && round + 1 < rounds)
            sample_step(g, 30.0 / (1 + round));
    }
}

static double gap_on_types(const struct solver_pass *r, const struct search *s)
{
    double bound = r->bound - bound_constant(&r->w);

    return (s->cost - bound) / (fabs(bound) + 1);
}

/* Where the matching does not fit the devices there are, the LP's counts are the better
 * start. */
static void choose_start(struct solver_pass *r)
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

static void descend(struct solver_pass *r)
{
    int passes = r->w.tasks <= 2000 ? 2 : 1;
    long moves = 1;

    for (int pass = 0; pass < passes; pass++)
        if (search_pass(&r->s) == 0)
            break;
    for (int pass = 0;
         pass < FOCUS_PASSES && moves > 0 && gap_on_types(r, &r->s) > GOOD_GAP; pass++) {
        double before = gap_on_types(r, &r->s);

        moves = near_focus(&r->s, FOCUS_EFFORT);
        if (before - gap_on_types(r, &r->s) < WORTH_A_PASS)
            break;
    }
}

/* By prices of classes, matching and local search. */
static void solve_large(struct solver_pass *r)
{
    bool lp = find_prices(r);
    struct graph g;

    gangs_tighten(&r->w);
    graph_init(&g, &r->w, r->w.tasks < CANDIDATES ? r->w.tasks : CANDIDATES);
    match(r, &g, lp);
    if (!lp)
        r->bound = gangs_bound(&r->w, r->proven);
    stairs_build(&r->stairs, &r->w);
    search_init(&r->s, &r->w, &r->stairs, r->solver->seed);
    r->s.worth = r->proven;
    seating_run(&g, &r->s);
    choose_start(r);
    descend(r);
}

static double bound_of_gangs(struct solver_pass *r)
{
    for (int i = 0; i < r->w.tasks && r->s.worth; i++)
        r->w.pi[i] = (float)r->s.worth[i];
    return gangs_bound(&r->w, NULL);
}

/* By the places of single tasks. */
static void solve_small(struct solver_pass *r)
{
    struct work *w = &r->w;
    double on_types;

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
    exact_run(&r->s, r->solver->lp, r->proven, &on_types);
    if (!w->gangs || r->p->node_count == 0)
        r->bound = fmax(r->bound, on_types + bound_constant(w));
    else /* that one is of needs that were tightened: another from its duals */
        r->bound = bound_of_gangs(r);
    if (r->s.worth)
        return;
    r->bound = gangs_bound(w, r->proven); /* no LP */
    r->s.worth = r->proven;
}

/* The problem as it is, whatever its levers. */
static void run_plain(struct solver_pass *r, struct solution *out)
{
    struct arena *arena = r->solver->arena;

    arena_reset(arena);
    solution_fit(out, r->p);
    work_build(&r->w, r->p, arena, NULL, 0);
    caps_prune(&r->w);
    work_find_floors(&r->w);
    r->proven = arena_array(arena, double, r->w.tasks + 1);
    r->bound = -INFINITY;
    if (r->w.tasks <= POLISH_TASKS && !r->options.no_lp)
        solve_small(r);
    else
        solve_large(r);
    gangs_settle(&r->s);
    finish_devices(&r->s, out);
    nodes_assign(r->p, arena, out);
    finish_figures(r->p, out);
    out->bound = r->bound;
}

/* For levers.h: in memory of its own, what the first run found is still needed. */
static void solve_other(void *self, const struct problem *p, struct solution *out)
{
    struct solver_pass *r = self;
    struct solver_pass other = {.p = p, .options = r->options};

    if (!r->solver->inner)
        r->solver->inner = solver_create(r->solver->seed);
    other.solver = r->solver->inner;
    run_plain(&other, out);
}

static void hold_against_fewer_levers(struct solver_pass *r, struct solution *out)
{
    struct levers levers = {.p = r->p,
                            .arena = r->solver->arena,
                            .price = r->w.price,
                            .worth = r->s.worth,
                            .solve = solve_other,
                            .self = r,
                            .spare = &r->solver->spare};

    levers_run(&levers, out);
}

void solver_run(struct solver *solver, const struct problem *p,
                const struct solve_options *options, struct solution *out)
{
    struct solver_pass r = {.solver = solver, .p = p};

    if (options)
        r.options = *options;
    run_plain(&r, out);
    hold_against_fewer_levers(&r, out);
    out->gap = solution_gap(out);
    solver->worth = r.s.worth;
    memcpy(solver->price, r.w.price, sizeof(solver->price));
}
