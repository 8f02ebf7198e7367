/* plan.h - building plans, shared by every planner */
#pragma once

#include "loop/planner.h"

/* Start over for this input: a seat a job in input order, all waiting for capacity, caps
 * as in force, nodes as they are.  Memory is reused from round to round. */
void plan_reset(struct plan *plan, const struct optimize_input *in);
void plan_fini(struct plan *plan);

/* Give a job its devices, or keep a running job where it is. */
void plan_seat(struct plan *plan, size_t seat, const int *devices, int count);
void plan_keep(struct plan *plan, const struct optimize_input *in, size_t seat);
/* The same seat as another plan gives it. */
void plan_take_seat(struct plan *plan, size_t seat, const struct plan *from, size_t at);

/* Say what was done for a job that falls short. */
void plan_note_mend(struct plan *plan, const struct plan_mend *mend);

/* The power limits a planner may set on a card, the first 0 for none, the others from the
 * highest down; returns how many. */
#define PLAN_CAPS_MOST 11
int plan_cap_levels(const struct gpu_sheet *gpu, double watts[PLAN_CAPS_MOST]);

/* The usual rule for sleep: wake what has a seat; let a node sleep when it has had no job
 * for idle_s, of others neither, and none is planned for it. */
void plan_sleep_idle(struct plan *plan, const struct optimize_input *in, double idle_s);
