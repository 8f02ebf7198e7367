/* round_snapshot.h - a round in three steps, so that another thread can do the long one
 *
 *     d = round_snapshot_create(loop, now_s, 512);        on the loop's thread
 *     round_snapshot_solve(d, &planner, &model);          on any thread, with its own
 * model round_snapshot_apply(d, loop, now_s, ...);          on the loop's thread again
 *
 * A draft is a copy of what the planner reads.  What happened meanwhile is respected:
 * jobs that came wait, jobs that ended are left out, and a plan that no longer fits is
 * refused whole, as a wrong plan would be. */
#ifndef CORGI_LOOP_ROUND_SNAPSHOT_H
#define CORGI_LOOP_ROUND_SNAPSHOT_H

#include "loop/loop.h"

struct round_snapshot;

/* All that run and at most `most` that wait: those of the highest priority, then the
 * first to come.  Solving time grows with them, and the rest could not start anyway. */
struct round_snapshot *round_snapshot_create(struct loop *loop, double now_s,
                                             size_t most);
void round_snapshot_destroy(struct round_snapshot *draft); /* NULL is fine */

void round_snapshot_solve(struct round_snapshot *draft, struct planner *planner,
                          struct model *model);

/* Borrowed actions as loop_round(); the loop's plan then has seats for what the draft
 * knows and what runs, not for all that wait. */
int round_snapshot_apply(struct round_snapshot *draft, struct loop *loop, double now_s,
                         const struct action **actions, size_t *count, struct err *err);

size_t round_snapshot_waiting(
    const struct round_snapshot *draft); /* jobs that wait in the copy */

#endif
