/* draft.h - a round in three steps, so that another thread can do the long one
 *
 *     d = draft_create(loop, now_s, 512);        on the loop's thread
 *     draft_solve(d, &planner, &model);          on any thread, with its own model
 *     draft_apply(d, loop, now_s, ...);          on the loop's thread again
 *
 * A draft is a copy of what the planner reads.  What happened meanwhile is respected:
 * jobs that came wait, jobs that ended are left out, and a plan that no longer fits is
 * refused whole, as a wrong plan would be. */
#ifndef CORGI_LOOP_DRAFT_H
#define CORGI_LOOP_DRAFT_H

#include "loop/round.h"

struct draft;

/* All that run and at most `most` that wait: those of the highest priority, then the
 * first to come.  Solving time grows with them, and the rest could not start anyway. */
struct draft *draft_create(struct loop *loop, double now_s, size_t most);
void draft_destroy(struct draft *draft); /* NULL is fine */

void draft_solve(struct draft *draft, struct planner *planner, struct model *model);

/* Borrowed actions as loop_round(); the loop's plan then has seats for what the draft
 * knows and what runs, not for all that wait. */
int draft_apply(struct draft *draft, struct loop *loop, double now_s,
                const struct action **actions, size_t *count, struct err *err);

size_t draft_waiting(const struct draft *draft); /* jobs that wait in the copy */

#endif
