/* solver_gangs.h - jobs on several devices run whole or not at all
 *
 * Matching and search see single tasks.  Here gangs of which a task found no place are
 * completed, or taken out so that what they held serves others: the least harm first. */
#pragma once

#include "lab/solver/solver_search.h"

/* A gang spread over nodes may run slower.  Where a job can still meet its need that way,
 * ask for it from the start; the others must come onto one node (solver_nodes.h).  After
 * the bound: this only makes needs larger. */
void gangs_tighten(struct work *w);

/* bound_from() with needs as they were before tightening. */
double gangs_bound(struct work *w, double *proven);

/* Afterwards every job of s has all its tasks on devices or none.  Jobs taken out are in
 * no record. */
void gangs_settle(struct search *s);
