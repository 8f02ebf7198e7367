/* prediction_table.h - what the model says of the jobs at hand, asked as seldom as may be
 *
 * The optimizer needs rates and watts of every job, and of every two that may share, on
 * every type.  Up to PREDICTION_TABLE_MOST jobs each is a kind of its own; beyond, jobs
 * with the same descriptor are one kind and its first job is asked for.  Answers on pairs
 * are kept from round to round; they are asked again when what the model says of either
 * alone has changed, when the two share right now, and in turn as time goes by. */
#pragma once

#include "loop/cluster.h"
#include "loop/planner.h"

#define PREDICTION_TABLE_MOST 256
/* What is hoped for is exceeded with this probability. */
#define PREDICTION_TABLE_HOPE 0.1

struct prediction_table;

struct table_alone {
    double rate;     /* at the job's confidence */
    double expected; /* the model's best guess */
    double hope;     /* what it may turn out to be, see PREDICTION_TABLE_HOPE */
    double watts;
    double fits;
};

struct table_pair {
    bool fits;         /* into the memory, as far as is believed */
    float rate[2];     /* of the first and the second, at their confidence */
    float expected[2]; /* the model's best guess */
    float hope[2];     /* what they may turn out to be */
    float watts;
};

/* What is known of one kind without a cap; valid until the next round begins. */
struct table_kind {
    uint64_t key;
    long round;                   /* last used in; 0: never */
    long asked;                   /* last asked for in; 0: never */
    const struct job_status *job; /* who stands for the kind */
    struct table_alone alone[CLUSTER_MAX_TYPES];
    double spread; /* factor on the rate when a gang spans nodes; 1 with one device */
    double seen[CLUSTER_MAX_TYPES]; /* rate alone when pairs were last forgotten, */
    double demand;                  /* and requests asked for */
};

struct prediction_table *prediction_table_create(void);
void prediction_table_destroy(struct prediction_table *table); /* NULL is fine */

/* Begin a round: sort the input's jobs into kinds and ask for what has changed; of many
 * jobs only for a part of that, a larger one at ease, when nobody waits for the plan.
 * was (job_count): which job of the last round each was, unchanged; -1, or NULL for all:
 * none.  Returned is the kind of each job, in the input's order, borrowed until the next
 * round. */
const struct table_kind *const *prediction_table_load(struct prediction_table *table,
                                                      const struct optimize_input *in,
                                                      const int *was, bool at_ease);

/* Two that share a device; the model is asked when they are first wanted. */
struct table_pair prediction_table_pair_on(struct prediction_table *table,
                                           const struct table_kind *a,
                                           const struct table_kind *b, int type);
