/* kinds.h - what the model says of the jobs at hand, asked as seldom as may be
 *
 * The optimizer needs rates and watts of every job, and of every two that may share, on
 * every type.  Up to KINDS_MOST jobs each is a kind of its own; beyond, jobs with the
 * same descriptor are one kind and its first job is asked for.  Answers on pairs are kept
 * from round to round; they are asked again when what the model says of either alone has
 * changed, when the two share right now, and in turn as time goes by. */
#ifndef CORGI_LOOP_OPTIMIZE_KINDS_H
#define CORGI_LOOP_OPTIMIZE_KINDS_H

#include "loop/planner.h"

#define KINDS_MOST 256
/* What is hoped for is exceeded with this probability. */
#define KINDS_HOPE 0.1

struct kinds;

struct kinds_alone {
    double rate;     /* at the job's confidence */
    double expected; /* the model's best guess */
    double hope;     /* what it may turn out to be, see KINDS_HOPE */
    double watts;
    double fits;
};

struct kinds_pair {
    float rate[2];     /* of the first and the second, at their confidence; 0: cannot */
    float expected[2]; /* the model's best guess */
    float hope[2];     /* what they may turn out to be */
    float watts;
};

struct kinds *kinds_create(void);
void kinds_destroy(struct kinds *kinds); /* NULL is fine */

/* Begin a round: sort the input's jobs into kinds and ask for what has changed. */
void kinds_load(struct kinds *kinds, const struct optimize_input *in);

int kinds_count(const struct kinds *kinds);
int kinds_of(const struct kinds *kinds, size_t job); /* index in the input */
const struct job_status *kinds_job(const struct kinds *kinds, int kind);

/* Without a cap.  The second is asked when first wanted. */
const struct kinds_alone *kinds_alone_on(const struct kinds *kinds, int kind, int type);
struct kinds_pair kinds_pair_on(struct kinds *kinds, int a, int b, int type);

/* Three or four together, asked each time; false: memory hardly suffices. */
bool kinds_group_on(struct kinds *kinds, const int *members, int count, int type,
                    float *rate, float *watts);

/* Factor on the rate when a gang of this kind spans nodes; 1 with one device. */
double kinds_spread(const struct kinds *kinds, int kind);

/* Questions put to the model so far, for tests. */
long kinds_asked(const struct kinds *kinds);

#endif
