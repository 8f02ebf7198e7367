/* device_caps.h - power limits for policies that are a placement and nothing else
 *
 * The best limit of a device by what is believed of its jobs: the least energy for what
 * they do, among the limits Corgi's planner may set too (plan_cap_levels), as long as
 * their requirements hold.  What a limit does to draw and rate is taken from the model of
 * the card (world/power.h), for everybody alike. */
#pragma once

#include "lab/policy/occupancy.h"

struct device_cap {
    double cap_watts; /* 0: none */
    double watts;     /* drawn under it, */
    double speed;     /* and what is left of the rates */
};

/* How a policy chooses. */
struct device_cap_rule {
    double slowest;    /* speed a limit must leave, whatever was asked for */
    bool against_peak; /* time costs the card's peak, as Zeus weighs it, instead of the
                          host's watts */
};

/* The best limit of a card that draws so many watts without one.  host_watts: what runs
 * beside it for as long as the work takes; progress: the work ends the sooner the faster;
 * else it lasts, whatever the rate. */
struct device_cap device_cap_best(const struct gpu_sheet *gpu, double watts,
                                  double slowest, double host_watts, bool progress);

/* The same by a policy's rule, of what a combination is believed to do: jobs that have to
 * keep a requirement leave a margin. */
struct device_cap device_cap_of(const struct optimize_input *in, int device,
                                const struct job_status *const *jobs, int count,
                                const struct prediction *p,
                                const struct device_cap_rule *rule);

/* Set the limit of every device with jobs that do not come or go in this plan. */
void device_caps_write(const struct occupancy *o, const struct optimize_input *in,
                       struct plan *plan, const struct device_cap_rule *rule);
