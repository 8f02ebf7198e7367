/* gavel_policy.h - heterogeneity-aware policies in the manner of Gavel, shared by
 * gavel*.c
 *
 * A linear program says which share of its time each job, or each pair of jobs on one
 * device, shall spend on each GPU type; rounds realise the shares: who has got the least
 * of what was promised goes first.  Objectives: max-min fairness of throughput relative
 * to an equal share of the cluster; or throughput per cost, with requirements kept, where
 * cost is dollars or the watts of devices and hosts. */
#pragma once

#include "base/map.h"
#include "base/vec.h"
#include "loop/cluster.h"
#include "lab/policy/choose.h"
#include "lab/policy/device_caps.h"
#include "lab/bound/lp.h"

/* The length of a round; shares are realised in units of it. */
#define GAVEL_ROUND_S 360.0

enum gavel_objective { GAVEL_MAXMIN, GAVEL_COST, GAVEL_ENERGY };

/* One way to use devices of a type: a job, or two jobs on one device. */
struct gavel_column {
    int job, other; /* of the input; other -1: alone */
    int type;
    double rate[2];   /* of each, relative to its best type alone */
    double shortfall; /* requirement missed by, as a share, the worst of them */
    double watts;     /* of a device with them, and its share of the host */
    bool now;         /* this is how they run at present */
    double stay;      /* what moves it spares are worth, see gavel_columns.c */
    double share;     /* of the time, from the program */
};

/* What is believed of a job on a type, alone. */
struct gavel_alone {
    double rate; /* relative to its best type */
    double sure; /* at the confidence asked for, of its own */
    double watts;
    double shortfall;
    bool fits;
};

/* A belief on two jobs on one type. */
struct gavel_pair {
    double rate[2], sure[2];
    double watts;
    double fits;
};

/* What a job was promised on each type and has not got yet, in rounds. */
struct gavel_credit {
    double rounds[CLUSTER_MAX_TYPES];
};

struct gavel_waiting {
    size_t at; /* in the planner's input */
    double last_start_s;
};

struct gavel {
    enum gavel_objective objective;
    bool packed;
    struct lp *lp;
    vec_of(struct gavel_waiting) waiting;
    vec_of(size_t) window; /* (job_count) where the planner's input has each job */
    vec_of(const struct job_status *) window_jobs;
    int job_count, type_count;
    vec_of(struct gavel_alone) alone; /* (jobs, types) */
    vec_of(double) best_rate;         /* (jobs) on the best type alone */
    vec_of(struct gavel_column) columns;
    int devices[CLUSTER_MAX_TYPES]; /* usable ones of each type */
    struct map *pair_index;         /* pairs and type -> pairs, emptied now and then */
    vec_of(struct gavel_pair) pairs;
    double pairs_since_s;
    struct map *credit_index; /* job -> credits */
    vec_of(struct gavel_credit) credits;
    uint64_t expected; /* hash of who runs once the last plan is carried out */
    double news_s;     /* when it last turned out otherwise: somebody came or went */
    double solved_s;   /* NaN before the first */
    struct occupancy occupancy;
    struct choose choose;
    vec_of(int) order;   /* columns by priority */
    vec_of(int) seat_of; /* (jobs) its column; -1: none */
};

static inline struct gavel_alone *gavel_alone(struct gavel *g, int job, int type)
{
    return &g->alone.items[(long)job * g->type_count + type];
}

/* In the following, job and input mean those of the window: who runs and the head of the
 * queue; only plans have seats in the order of the planner's input.
 *
 * gavel_columns.c: what could be done with the devices, as believed now. */
void gavel_collect(struct gavel *g, const struct optimize_input *in);

/* gavel_solve.c: fill the columns' shares. */
void gavel_solve(struct gavel *g, const struct optimize_input *in);
double gavel_price(const struct gpu_sheet *gpu); /* dollars an hour */

/* gavel_seats.c: turn shares into seats for this round. */
void gavel_seat(struct gavel *g, const struct optimize_input *in, struct plan *plan);
