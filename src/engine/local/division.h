/* division.h - whose joules a GPU's are, told bit by bit
 *
 * gpu/shares.h divides all that was measured so far anew with each interval; a daemon
 * books what is new.  So what is told of a job is the difference to what was told before.
 * It can be negative: a change of company has shown that somebody else drew it.  Jobs
 * that have left can still be corrected for a while. */
#ifndef CORGI_ENGINE_LOCAL_DIVISION_H
#define CORGI_ENGINE_LOCAL_DIVISION_H

#include "engine/engine.h"
#include "gpu/meter.h"

struct division;

struct division *division_create(const struct gpu_sheet *sheet);
void division_destroy(struct division *division); /* NULL is fine */

/* On CLOCK_MONOTONIC, as the intervals. */
void division_join(struct division *division, uint64_t job, double now_s);
void division_leave(struct division *division, uint64_t job, double now_s);

/* What share of the device a job was seen to use; NaN: not known. */
typedef double division_activity(void *ctx, uint64_t job);

void division_add(struct division *division, const struct gpu_interval *interval,
                  division_activity *activity, void *ctx);

/* What is new since the last call, jobs without idle; the caller frees *shares.  Returns
 * how many. */
int division_tell(struct division *division, double now_s, struct engine_share **shares);

#endif
