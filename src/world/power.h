/* power.h - watts and speed of a device under load and under a power cap
 *
 * draw = idle + (tdp - idle) * f(busy), f concave: half the work draws more than half the
 * dynamic power.  A cap above the peaks of the draw changes nothing; a binding cap lowers
 * the clock, which slows the busy part of a step and leaves the rest.  The shape is
 * fitted to public power-limit sweeps and is a model, no measurement: reports say so. */
#pragma once

#include "world/gpu_sheet.h"

/* Watts of a device whose jobs together use this share (0..1) of it, without a cap. */
double power_draw_watts(const struct gpu_sheet *gpu, double busy);

/* The reverse: the share in use of a device that draws this much without a cap. */
double power_busy(const struct gpu_sheet *gpu, double watts);

struct power_capped {
    double watts; /* never above the cap in force, nor above the draw without one */
    double speed; /* factor on the rate of the jobs, in (0, 1] */
};

/* The same under a cap; cap_watts 0 means none.  A cap below cap_min_watts acts as the
 * minimum, as the driver would refuse it. */
struct power_capped power_under_cap(const struct gpu_sheet *gpu, double busy,
                                    double cap_watts);
