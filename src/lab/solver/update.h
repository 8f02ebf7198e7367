/* update.h - one event on a running placement
 *
 * A job arrives, leaves or is believed to run otherwise: it gets the best place that two
 * devices can make, those it pushed aside a second look, and a few of the records that
 * cost most beyond their worth are improved on the way.  Moves are charged.  Plans drift
 * slowly from the best; a global solve from time to time brings the rest back. */
#pragma once

#include "lab/solver/problem.h"

struct update;

struct update *update_create(uint64_t seed);
void update_destroy(struct update *u); /* NULL is fine */

/* Start from a solution of p's present jobs.  p is borrowed until the next load; jobs may
 * be added behind job_count up to jobs_most and entries changed, each told below.  worth
 * and price are the solver's (solve.h). */
void update_load(struct update *u, const struct problem *p, const struct solution *s,
                 int jobs_most, const double *worth, const double *price);

void update_arrive(struct update *u, int job);
void update_depart(struct update *u, int job);
void update_change(struct update *u, int job); /* need, types or may_share is new */

/* Prices age as jobs come and go: find them anew for the jobs that are here.  Takes as
 * long as the LP of a global solve (5 to 30 ms), so once in a few hundred events. */
void update_reprice(struct update *u);

/* Cost on types as it stands, jobs without a place, jobs moved since the load. */
double update_cost(const struct update *u);
int update_unserved(const struct update *u);
long update_moves(const struct update *u);

/* The placement as a solution of p (fitted): jobs not here count as unserved. */
void update_solution(struct update *u, struct solution *out);
