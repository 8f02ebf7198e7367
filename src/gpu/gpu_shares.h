/* gpu_shares.h - joules of each job on a shared device
 *
 * A device has one meter and several jobs.  The draw of each shows when the company
 * changes: intervals with different sets of jobs (and different activity of each) differ
 * in power, and a least-squares fit with idle as a term of its own tells the watts of
 * each job and how sure that is.  Each interval's energy is then divided by the fit, so
 * that the shares of all jobs and of idle always add up to exactly what the meter said.
 *
 * Not thread-safe. */
#pragma once

#include "gpu/gpu_meter.h"

#include <stddef.h>
#include <stdint.h>

#define GPU_SHARES_MAX_TOGETHER 16 /* jobs on one device at a time */

struct gpu_shares;

/* One job on the device during an interval. */
struct gpu_presence {
    uint64_t job;
    double activity; /* its share of the device's utilisation; NaN: not known */
};

struct gpu_share {
    uint64_t job;        /* 0: idle, what the device draws with no job */
    int64_t microjoules; /* these add up exactly */
    double joules;       /* the same as a double */
    double error_joules; /* one standard error: of the division and of the meter */
};

/* The sheet gives the prior: idle watts and the draw of a busy card; may be NULL. */
struct gpu_shares *gpu_shares_create(const struct gpu_sheet *sheet);
void gpu_shares_destroy(struct gpu_shares *shares); /* NULL is fine */

/* An interval in which somebody came or went says nothing of what a set draws: with
 * `blurred` its energy is divided as the others' is, and nothing is learnt from it.
 * ERR_INVALID for joules or times that cannot be, a job named twice, or job 0; ERR_LIMIT
 * beyond GPU_SHARES_MAX_TOGETHER. */
int gpu_shares_add(struct gpu_shares *shares, const struct gpu_interval *interval,
                   const struct gpu_presence *jobs, size_t count, bool blurred,
                   struct err *err);

/* The division as far as it is known now, idle first, then jobs in order of first sight.
 * The microjoules of all, with those of forgotten jobs, are exactly what was added.
 * Writes at most capacity and returns how many there are. */
size_t gpu_shares_all(const struct gpu_shares *shares, struct gpu_share *out,
                      size_t capacity);

/* A job is over and has been reported.  Its energy is settled as it is divided now and
 * stays in the total; what it taught about the others stays in the fit. */
void gpu_shares_forget(struct gpu_shares *shares, uint64_t job);
