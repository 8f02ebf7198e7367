/* division.h - whose joules a GPU's are, told bit by bit
 *
 * gpu/shares.h divides all that was measured so far anew with each interval; a daemon
 * books what is new and takes nothing back.  So each time the new joules go to those who
 * have been told less than their share, idle among them, in proportion to what they lack:
 * nobody is told twice, the sum always is the meter's, and who shares a device comes to
 * its share as soon as a change of company has shown it.  What a job has been told too
 * much when it leaves it keeps; its error bar was as wide then. */
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

/* Divide the joules that are new since the last call; what the shares leave is idle's.
 * The caller frees *shares.  Returns how many. */
int division_tell(struct division *division, double now_s, double joules,
                  struct engine_share **shares);

#endif
