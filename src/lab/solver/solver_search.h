/* solver_search.h - a placement on types, and the local search that improves it
 *
 * A placement is a list of records: a device of some type with one or two tasks, or a
 * parked task that has no device.  A move takes two records, spreads their tasks over at
 * most two devices in the cheapest way, whatever their types, and is made when it saves.
 * The incremental update works on the same records. */
#pragma once

#include "base/rng.h"
#include "lab/solver/host_power.h"
#include "lab/solver/work.h"

#define SEARCH_PARKED (-1)
#define SEARCH_FREE   (-2)
#define SEARCH_LOG    256
/* Watts over its worth that make a record worth a look. */
#define SEARCH_MIN_EXCESS 0.05

struct search_record {
    int type;    /* or SEARCH_PARKED, SEARCH_FREE: the record is not in use */
    int task[2]; /* task[1] is -1 when the first is alone */
    double cost;
};

struct search {
    struct work *w;
    const struct stairs *stairs;   /* NULL: devices cost what their cells say */
    struct search_record *records; /* (room) */
    int *spare;                    /* (room) stack of unused records */
    int *place;                    /* (room) task -> record; -1: not here */
    int count, spares, room;
    int used[PROBLEM_MAX_TYPES];
    int *by_class;    /* (tasks) for sampling partners */
    int *class_start; /* (classes + 1) */
    double cost;
    struct rng rng;
    long evaluations;
    /* What tasks are worth at the prices (lp_bound.h); NULL: not known.  With it, records
     * that cost no more than they are worth need not be looked at: no move can save. */
    const double *worth;      /* (tasks) */
    struct near_index *index; /* near.h; NULL: none */
    /* Tasks put somewhere since the log was cleared, as far as there is room. */
    int log[SEARCH_LOG];
    int log_count;
};

/* Empty; in w's arena, with room for all of w's tasks and spare ones. */
void search_init(struct search *s, struct work *w, const struct stairs *stairs,
                 uint64_t seed);

void search_clear(struct search *s); /* no records, tasks nowhere */

/* Put tasks that are nowhere on a device of this type, or park i (j must be -1). */
void search_put(struct search *s, int type, int i, int j);
void search_park(struct search *s, int i);
void search_drop(struct search *s, int record); /* its tasks are nowhere then */

double search_record_cost(const struct search *s, const struct search_record *r);
bool search_room(const struct search *s, int type);

struct search_move {
    double delta;   /* below 0 when it saves */
    int a, b;       /* types, SEARCH_PARKED */
    int x[2], y[2]; /* tasks on a, tasks on b; -1: none */
};

/* Best way to seat the tasks of records r and q (q -1: of r alone); false, and move left
 * as it is, when none changes the cost by less than limit (at most 0). */
bool search_evaluate(struct search *s, int r, int q, double limit,
                     struct search_move *move);
void search_apply(struct search *s, int r, int q, const struct search_move *move);

/* What a record costs beyond what its tasks are worth: the most a move could save. */
double search_excess(const struct search *s, int record);

/* Best move of record r against all others; true when one was made. */
bool search_best(struct search *s, int r);

/* Try every parked task on every device, or on a sample of them when there are many. */
void search_unpark(struct search *s);

/* Every task against one of each class, or against a sample when there are many classes;
 * returns the moves made. */
long search_pass(struct search *s);
