/* energy_booking.h - a GPU's joules, booked to its jobs bit by bit
 *
 * gpu/gpu_shares.h divides all that was measured so far anew with each interval; a daemon
 * books what is new and takes nothing back.  So the new joules go to the jobs that have
 * been told less than their share, and to idle, in proportion to what each lacks: the sum
 * is always the meter's, and a job that shares a device comes to its share as soon as a
 * change of company has shown it.  A job that has been told too much when it leaves keeps
 * it; its error bar was as wide then. */
#pragma once

#include "engine/engine.h"
#include "gpu/gpu_meter.h"

struct energy_booking;

struct energy_booking *energy_booking_create(const struct gpu_sheet *sheet);
void energy_booking_destroy(struct energy_booking *booking); /* NULL is fine */

/* On CLOCK_MONOTONIC, as the intervals. */
void energy_booking_join(struct energy_booking *booking, uint64_t job, double now_s);
void energy_booking_leave(struct energy_booking *booking, uint64_t job, double now_s);

/* The share of the device that a job was seen to use; NaN: not known. */
typedef double energy_booking_activity(void *ctx, uint64_t job);

void energy_booking_add(struct energy_booking *booking,
                        const struct gpu_interval *interval,
                        energy_booking_activity *activity, void *ctx);

/* Divide the joules that are new since the last call; what the shares leave is idle's.
 * The caller frees *shares.  Returns how many. */
int energy_booking_tell(struct energy_booking *booking, double now_s, double joules,
                        struct engine_share **shares);
