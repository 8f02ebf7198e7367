/* update.c - events on a running plan: bench_run.c --churn tells them one by one and
 * asks for cost and moves */
#include "lab/solver/update.h"

#include "base/mem.h"
#include "lab/solver/lp_bound.h"
#include "lab/solver/solver_caps.h"
#include "lab/solver/finish_plan.h"
#include "lab/solver/near.h"
#include "lab/solver/solver_nodes.h"
#include "lab/solver/prices.h"
#include "lab/solver/solver_search.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RIPPLES        2 /* looks at what an event touched */
#define REPAIRS        4 /* records improved on the way */
#define MORE_REPAIRS   6 /* while records are few; more than that gain nothing */
#define FEW            2000
#define NEAR           12   /* partners tried */
#define MAX_LP_COLUMNS 8000 /* beyond, prices stay as they are */

/* Worth of the tasks of one class at the load, by need: what a newcomer is worth. */
struct worth_curve {
    int first, count;
};

struct point {
    int cls;
    float need;
    double worth;
};

struct update {
    uint64_t seed;
    struct arena *arena;
    const struct problem *p;
    struct work w;
    struct stairs stairs;
    struct search s;
    int *first_task;            /* (jobs_most) -1: not here */
    double *worth;              /* (room of w) */
    struct point *points;       /* (tasks at the load) by class, then need */
    struct worth_curve *curves; /* (classes) */
    int jobs_most;
    long moves;
    struct lp *lp; /* NULL until prices were found anew */
};

struct update *update_create(uint64_t seed)
{
    struct update *u = mem_new(struct update);

    u->seed = seed;
    u->arena = arena_create();
    return u;
}

void update_destroy(struct update *u)
{
    if (!u)
        return;
    arena_destroy(u->arena);
    lp_destroy(u->lp);
    free(u);
}

static int tasks_of(const struct update *u, int job)
{
    return u->p->classes[u->p->jobs[job].class_id].devices;
}

static int by_class_need(const void *a, const void *b)
{
    const struct point *x = a, *y = b;

    if (x->cls != y->cls)
        return x->cls < y->cls ? -1 : 1;
    return x->need < y->need ? -1 : x->need > y->need;
}

static void load_curves(struct update *u)
{
    int tasks = 0;

    memset(u->curves, 0, (size_t)u->w.classes * sizeof(*u->curves));
    for (int i = 0; i < u->w.tasks; i++)
        if (u->s.place[i] >= 0)
            u->points[tasks++] = (struct point){u->w.cls[i], u->w.need[i], u->worth[i]};
    qsort(u->points, (size_t)tasks, sizeof(*u->points), by_class_need);
    for (int i = 0; i < tasks; i++) {
        struct worth_curve *c = &u->curves[u->points[i].cls];

        if (c->count++ == 0)
            c->first = i;
    }
}

/* Worth of the task of the class that needs the next most; of the neediest for one that
 * needs still more, which may be too little: a few looks too many, none too few. */
static double guess_worth(const struct update *u, int i)
{
    const struct worth_curve *c = &u->curves[u->w.cls[i]];
    int low = 0, high = c->count;

    if (c->count == 0)
        return -INFINITY;
    while (low < high) {
        int mid = (low + high) / 2;

        if (u->points[c->first + mid].need < u->w.need[i])
            low = mid + 1;
        else
            high = mid;
    }
    return u->points[c->first + (low > 0 ? low - 1 : 0)].worth;
}

/* Put the solution's devices into the search, jobs without one are parked. */
static void load_devices(struct update *u, const struct solution *s)
{
    size_t mark = arena_mark(u->arena);
    int *next = arena_array(u->arena, int, u->p->job_count + 1);

    memset(next, 0, ((size_t)u->p->job_count + 1) * sizeof(int));
    for (int d = 0; d < s->device_count; d++) {
        const struct solution_device *dev = &s->devices[d];
        int task[2] = {-1, -1};

        for (int e = 0; e < 2; e++) /* a third and a fourth are parked: pairs only here */
            if (dev->jobs[e] >= 0)
                task[e] = u->first_task[dev->jobs[e]] + next[dev->jobs[e]]++;
        search_put(&u->s, u->p->variants[dev->variant].type, task[0], task[1]);
    }
    for (int i = 0; i < u->w.tasks; i++)
        if (u->s.place[i] < 0)
            search_park(&u->s, i);
    arena_release(u->arena, mark);
}

/* What stands now is where everybody is: moves are charged from here. */
static void settle(struct update *u, int record)
{
    struct search_record *r = &u->s.records[record];

    for (int e = 0; e < 2; e++) {
        if (r->task[e] < 0)
            continue;
        u->w.now_type[r->task[e]] = r->type >= 0 ? r->type : -1;
        u->w.now_mate[r->task[e]] = r->type >= 0 ? r->task[!e] : -1;
    }
    u->s.cost -= r->cost;
    r->cost = search_record_cost(&u->s, r);
    u->s.cost += r->cost;
}

void update_load(struct update *u, const struct problem *p, const struct solution *s,
                 int jobs_most, const double *worth, const double *price)
{
    int spare = 0;

    arena_reset(u->arena);
    u->p = p;
    u->moves = 0;
    for (int j = p->job_count; j < jobs_most; j++)
        spare += p->classes[p->jobs[j].class_id].devices;
    work_build(&u->w, p, u->arena, NULL, spare);
    caps_prune(&u->w);
    work_find_floors(&u->w);
    memcpy(u->w.price, price, sizeof(u->w.price));
    u->first_task = arena_array(u->arena, int, jobs_most + 1);
    u->worth = arena_array(u->arena, double, u->w.room + 1);
    for (int j = 0, i = 0; j < jobs_most; j++) {
        u->first_task[j] = j < p->job_count ? i : -1;
        i += tasks_of(u, j);
    }
    memcpy(u->worth, worth, (size_t)u->w.tasks * sizeof(double));
    u->points = arena_array(u->arena, struct point, u->w.room + 1);
    u->curves = arena_array(u->arena, struct worth_curve, u->w.classes);
    u->jobs_most = jobs_most;
    stairs_build(&u->stairs, &u->w);
    search_init(&u->s, &u->w, &u->stairs, u->seed);
    u->s.worth = u->worth;
    load_devices(u, s);
    load_curves(u);
    for (int r = 0; r < u->s.count; r++)
        settle(u, r);
}

/* The tasks of the jobs that are here, as problem of their own; cells are the same. */
static void work_of_present(struct update *u, struct work *w, bool *away)
{
    struct problem here = *u->p;
    int spare = 0;

    here.job_count = u->jobs_most;
    here.device_count = here.node_count = 0; /* nobody's move is charged */
    for (int j = 0; j < u->jobs_most; j++) {
        away[j] = u->first_task[j] < 0;
        spare += j >= u->p->job_count ? tasks_of(u, j) : 0;
    }
    work_build(w, &here, u->arena, away, spare);
    w->p = u->p;
    w->cell1 = u->w.cell1;
    w->cell2 = u->w.cell2;
    memcpy(w->open, u->w.open, sizeof(w->open));
    work_find_floors(w);
}

void update_reprice(struct update *u)
{
    size_t mark = arena_mark(u->arena);
    bool *away = arena_array(u->arena, bool, u->jobs_most + 1);
    struct prices_plan plan;
    struct work w;
    double *worth;

    work_of_present(u, &w, away);
    if (!u->lp)
        u->lp = lp_create();
    worth = arena_array(u->arena, double, w.tasks + 1);
    if (prices_size(&w) <= MAX_LP_COLUMNS && prices_from_classes(&w, u->lp, &plan)) {
        bound_from(&w, w.pi, worth);
        memcpy(u->w.price, w.price, sizeof(w.price));
        for (int i = 0, e = 0; i < w.tasks; i++) {
            e = i > 0 && w.job[i] == w.job[i - 1] ? e + 1 : 0;
            u->worth[u->first_task[w.job[i]] + e] = worth[i];
        }
        load_curves(u);
    }
    arena_release(u->arena, mark);
}

/* Jobs that the records touched by an event moved away from where they were; then the
 * new places are the present ones. */
static void count_and_settle(struct update *u)
{
    struct search *s = &u->s;

    for (int x = 0; x < s->log_count; x++) {
        int i = s->log[x], r = s->place[i];
        const struct search_record *rec;
        int mate;

        if (r < 0)
            continue;
        rec = &s->records[r];
        mate = rec->task[rec->task[0] == i];
        if (u->w.now_type[i] >= 0 && (rec->type != u->w.now_type[i] ||
                                      (mate >= 0 && mate != u->w.now_mate[i] &&
                                       u->w.now_type[mate] == rec->type && i > mate)))
            u->moves++;
    }
    for (int x = 0; x < s->log_count; x++)
        if (s->place[s->log[x]] >= 0)
            settle(u, s->place[s->log[x]]);
    s->log_count = 0;
}

static int find_parked(const struct update *u)
{
    int worst = -1;

    for (int r = 0; r < u->s.count; r++)
        if (u->s.records[r].type == SEARCH_PARKED &&
            (worst < 0 || u->s.records[r].cost > u->s.records[worst].cost))
            worst = r;
    return worst;
}

/* One of the dearest records beyond their worth; sampled, so that one which cannot be
 * helped is not looked at for ever. */
static int find_dear(struct update *u)
{
    double most = 0;
    int dear = -1;

    for (int x = 0; x < 64 && u->s.count > 0; x++) {
        int r = (int)rng_below(&u->s.rng, (size_t)u->s.count);
        double excess = search_excess(&u->s, r);

        if (u->s.records[r].type != SEARCH_FREE && excess > most && isfinite(excess)) {
            most = excess;
            dear = r;
        }
    }
    return dear;
}

static void repair(struct update *u)
{
    int parked = find_parked(u);
    int repairs = u->s.count - u->s.spares < FEW ? MORE_REPAIRS : REPAIRS;

    if (parked >= 0)
        near_best(&u->s, parked, NEAR);
    for (int x = 0; x < repairs; x++) {
        int dear = find_dear(u);

        if (dear >= 0)
            near_best(&u->s, dear, NEAR);
    }
    count_and_settle(u);
}

/* A gang is served whole or not at all. */
static void keep_whole(struct update *u, int job)
{
    int first = u->first_task[job], count = tasks_of(u, job), placed = 0;

    for (int e = 0; e < count; e++)
        placed += u->s.records[u->s.place[first + e]].type >= 0;
    if (placed == 0 || placed == count)
        return;
    for (int e = 0; e < count; e++) {
        int r = u->s.place[first + e], type = u->s.records[r].type, other;

        if (type < 0)
            continue;
        other = u->s.records[r].task[u->s.records[r].task[0] == first + e];
        search_drop(&u->s, r);
        search_park(&u->s, first + e);
        if (other >= 0)
            search_put(&u->s, type, other, -1);
    }
}

static void seat(struct update *u, int job)
{
    int first = u->first_task[job], count = tasks_of(u, job);

    for (int e = 0; e < count; e++)
        for (int x = 0; x <= RIPPLES; x++)
            if (!near_best(&u->s, u->s.place[first + e], NEAR))
                break;
    if (count > 1)
        keep_whole(u, job);
}

void update_arrive(struct update *u, int job)
{
    int first = u->w.tasks;

    work_add_job(&u->w, job);
    u->first_task[job] = first;
    for (int i = first; i < u->w.tasks; i++) {
        u->worth[i] = guess_worth(u, i);
        search_park(&u->s, i);
    }
    seat(u, job);
    count_and_settle(u);
    repair(u);
}

/* Take a task away; its partner, if any, gets another look. */
static void remove_task(struct update *u, int i, bool look)
{
    int r = u->s.place[i], type = u->s.records[r].type;
    int other = u->s.records[r].task[u->s.records[r].task[0] == i];

    search_drop(&u->s, r);
    if (other < 0)
        return;
    u->w.now_mate[other] = -1;
    if (work_alone(&u->w, type, other, NULL) < WORK_NEVER)
        search_put(&u->s, type, other, -1);
    else
        search_park(&u->s, other);
    for (int x = 0; look && x <= RIPPLES; x++)
        if (!near_best(&u->s, u->s.place[other], NEAR))
            break;
}

void update_depart(struct update *u, int job)
{
    int first = u->first_task[job];

    assert(first >= 0);
    for (int e = 0; e < tasks_of(u, job); e++)
        remove_task(u, first + e, true);
    u->first_task[job] = -1;
    count_and_settle(u);
    repair(u);
}

void update_change(struct update *u, int job)
{
    int first = u->first_task[job], count = tasks_of(u, job);

    assert(first >= 0);
    for (int e = 0; e < count; e++) {
        int i = first + e, r = u->s.place[i];

        work_refresh_task(&u->w, i);
        u->worth[i] = guess_worth(u, i);
        if (u->s.records[r].type >= 0 &&
            search_record_cost(&u->s, &u->s.records[r]) >= (double)WORK_NEVER) {
            remove_task(u, i, false);
            search_park(&u->s, i);
        }
    }
    seat(u, job);
    count_and_settle(u);
    repair(u);
}

double update_cost(const struct update *u)
{
    return u->s.cost;
}

int update_unserved(const struct update *u)
{
    int count = 0;

    for (int r = 0; r < u->s.count; r++) {
        const struct search_record *rec = &u->s.records[r];

        count += rec->type == SEARCH_PARKED &&
                 rec->task[0] == u->first_task[u->w.job[rec->task[0]]];
    }
    return count;
}

long update_moves(const struct update *u)
{
    return u->moves;
}

void update_solution(struct update *u, struct solution *out)
{
    solution_fit(out, u->p);
    finish_devices(&u->s, out);
    nodes_assign(u->p, u->arena, out);
    finish_figures(u->p, out);
}
