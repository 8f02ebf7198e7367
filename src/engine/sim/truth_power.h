/* truth_power.h - what a device of the simulated cluster really draws, and what a power
 * limit takes of its speed
 *
 * The loop believes one formula (world/power.h) for every card and job.  What was
 * measured differs from card to card and from job to job, so the truth is drawn from
 * measurements: for each class of jobs on each type, once and for all.  truth.c asks;
 * nothing that decides may. */
#pragma once

#include "world/gpu_sheet.h"
#include "world/power.h"

#include <stdbool.h>
#include <stdint.h>

/* One of the jobs on a device. */
struct truth_draw {
    double watts;  /* what the class draws alone at full load, idle included */
    double active; /* how much of that work it does now, 0 to 1 */
    double flat;   /* of its dynamic power, the share that is there at any load */
    uint64_t key;  /* of its class on this type */
};

/* Watts of a device without a limit. */
double truth_power_open(const struct gpu_sheet *gpu, const struct truth_draw *draws,
                        int count);

/* The same under a limit, never above it, and what is left of each job's speed; cap_watts
 * 0 means none, one below the card's least acts as the least. */
double truth_power_limited(const struct gpu_sheet *gpu, const struct truth_draw *draws,
                           int count, double cap_watts, double *speed);

/* What no drawn curve does better than, for a device that draws so much without a limit.
 */
struct power_capped truth_power_best(const struct gpu_sheet *gpu, double open_watts,
                                     double cap_watts);

/* The flat share of a service, from nearly none to what was measured of language models
 * at a twentieth of their load; those that batch are flatter. */
double truth_power_flat(uint64_t hidden, bool batches);
