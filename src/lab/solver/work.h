/* work.h - a problem made ready for the stages: tasks, thresholds and priced cells
 *
 * Every stage of the pipeline works on tasks (one device's share of a job) and on types
 * as a whole; which physical device it is comes last (solver_nodes.h).  What a task may
 * not use has an infinite threshold there, so inner loops test one comparison. */
#pragma once

#include "lab/solver/arena.h"
#include "lab/solver/problem.h"

/* Cost of what cannot be: larger than any sum of real costs, small enough for floats. */
#define WORK_NEVER 1e9f

struct work {
    const struct problem *p;
    struct arena *arena;
    int types, classes, variants;
    int tasks;      /* in use */
    int room;       /* arrays below hold this many */
    int *job;       /* (room) */
    int *cls;       /* (room) */
    float *need;    /* (room) mean threshold over the types it may use: for ordering */
    float *thr;     /* (room, types) least table rate; INFINITY: may not use the type */
    float *drag;    /* (room) on whoever shares with it; 0: it does not share */
    float *penalty; /* (room) of the job, divided by its tasks */
    int *now_type;  /* (room) -1: new, moves free of charge */
    int *now_mate;  /* (room) task it shares with now; -1: alone */
    int *pin;       /* (room) device it must stay on; -1: none */
    float *cell1;   /* (variants, classes) cost alone */
    float *cell2;   /* (variants, classes, classes) cost of a pair; WORK_NEVER */
    double open[PROBLEM_MAX_TYPES];  /* watts a device in use adds beside its own */
    double price[PROBLEM_MAX_TYPES]; /* of a device, from the dual side; at least 0 */
    int devices[PROBLEM_MAX_TYPES];
    float *pi; /* (room) what a task is worth at these prices */
    double move_watts;
    float *floor1;            /* (classes) least of cell1 over variants */
    float *floor2;            /* (classes, classes) least of cell2 */
    const float *pair_least;  /* (tasks, tasks) least of pair_table over types */
    const float *alone_table; /* (types, tasks) NULL: not tabulated */
    const float *pair_table;  /* (types, tasks, tasks) */
    bool gangs;               /* some job has several tasks */
    bool pins;                /* some task is pinned */
};

/* Fill *w from p, in the arena's memory; spare: tasks that may be added later.  skip
 * (jobs, NULL for none) leaves jobs out: they get no tasks. */
void work_build(struct work *w, const struct problem *p, struct arena *arena,
                const bool *skip, int spare);

/* Take job j's tasks in (again), as its entry in the problem stands now. */
void work_add_job(struct work *w, int j);
void work_refresh_task(struct work *w, int task);

/* Tasks sorted by class, then by need, most demanding first. */
void work_order(const struct work *w, int *order);

/* Cost of a task alone, or of a pair, on a type with its best cap, moves included, the
 * type's price not; WORK_NEVER when a need would not be met.  *variant may be NULL.
 * These compute; work_alone() and work_pair() below look into the table if there is one.
 */
float work_alone_slow(const struct work *w, int type, int i, int *variant);
float work_pair_slow(const struct work *w, int type, int i, int j, int *variant);

/* Lower bounds by class, from the cells as they stand (after pruning caps). */
void work_find_floors(struct work *w);

/* For small cases: compute all of them once.  Not to be followed by changes. */
void work_tabulate(struct work *w);

/* False when a pin stands against i alone (j < 0) or i and j together. */
bool work_pins_allow(const struct work *w, int i, int j);

/* Moves charged when the task(s) get a device of this type. */
static inline double work_move1(const struct work *w, int type, int i)
{
    return w->now_type[i] >= 0 && w->now_type[i] != type ? w->move_watts : 0;
}

static inline double work_move2(const struct work *w, int type, int i, int j)
{
    int stays, moves;

    if (w->move_watts <= 0 || (w->now_mate[i] == j && w->now_type[i] == type))
        return 0;
    stays = w->now_type[i] == type || w->now_type[j] == type;
    moves = (w->now_type[i] >= 0) + (w->now_type[j] >= 0) - stays;
    return moves > 0 ? w->move_watts * moves : 0;
}

static inline float work_alone(const struct work *w, int type, int i, int *variant)
{
    if (w->alone_table && !variant)
        return w->alone_table[(size_t)type * (size_t)w->tasks + (size_t)i];
    return work_alone_slow(w, type, i, variant);
}

static inline float work_pair(const struct work *w, int type, int i, int j, int *variant)
{
    if (w->pair_table && !variant)
        return w->pair_table[((size_t)type * (size_t)w->tasks + (size_t)i) *
                                 (size_t)w->tasks +
                             (size_t)j];
    return work_pair_slow(w, type, i, j, variant);
}

/* A lower bound on the cost of {i}, {i, j} or nothing on any type, parked included. */
static inline float work_least(const struct work *w, int i, int j)
{
    float least;

    if (i < 0)
        return 0;
    if (j >= 0)
        return w->pair_least ? w->pair_least[(size_t)i * (size_t)w->tasks + (size_t)j]
                             : w->floor2[(size_t)w->cls[i] * (size_t)w->classes +
                                         (size_t)w->cls[j]];
    least = w->floor1[w->cls[i]];
    return least < w->penalty[i] ? least : w->penalty[i];
}
