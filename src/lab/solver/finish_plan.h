/* finish_plan.h - from a placement on types to a solution */
#pragma once

#include "lab/solver/solver_search.h"

/* Fill out (fitted to the problem) with the devices in use, their caps and the jobs'
 * states.  Physical devices come from solver_nodes.h, figures from
 * finish_figures(). */
void finish_devices(const struct search *s, struct solution *out);

/* Take a served job out again: its devices are free, its partners alone and uncapped. */
void finish_remove_job(const struct problem *p, struct solution *out, int job);

/* Cost, watts, progress, unserved and moves of what stands in out. */
void finish_figures(const struct problem *p, struct solution *out);
