/* power.c - the shape of power and speed under load and cap, see power.h
 *
 * The constants were fitted once, by random search on the mean of |log speed| and |log
 * watts| errors, to the public power-limit sweeps of Zeus (NSDI'23): 1391 settings of
 * training jobs under limits of 100 to 275 W on P100, V100, Quadro RTX 6000 and A40, with
 * the utilisation worked back from the draw at full limit.  What remains on the same
 * sweeps: speed 6.0 % mean and 2.8 % median, watts 3.6 % mean; where the draw exceeds
 * the limit, speed 9.5 % mean and 3.7 % median, watts 4.3 % mean.  The A40 below half
 * its limit is the worst: it slows more than this says. */
#include "world/power.h"

#include <math.h>

/* f(busy) = busy^CONCAVITY.  Chosen, not found: with the others fitted anew for each, 0.5
 * to 1.2 leave about the same error (speed 5.9 to 6.2 %, watts 3.6 %). */
#define CONCAVITY 0.7

/* Dynamic power at clock x of the full one: FLOOR + (1 - FLOOR) x^STEEPNESS.  Leakage and
 * memory draw whatever the clock; the rest falls with clock and voltage. */
#define FLOOR     0.32
#define STEEPNESS 3.8

/* Under this clock the voltage is at its lowest and power falls in line with speed. */
#define LOW_CLOCK 0.25

/* A limit holds at every moment, the draw is a mean: a job that keeps the device partly
 * busy has peaks above its mean by up to this share, and they meet the limit first. */
#define PEAK 0.54

static double clamp(double x, double low, double high)
{
    return x < low ? low : x > high ? high : x;
}

/* Written so that NaN counts as idle. */
static double share(double busy)
{
    return busy > 0 ? fmin(busy, 1) : 0;
}

double power_draw_watts(const struct gpu_sheet *gpu, double busy)
{
    return gpu->idle_watts +
           (gpu->tdp_watts - gpu->idle_watts) * pow(share(busy), CONCAVITY);
}

double power_busy(const struct gpu_sheet *gpu, double watts)
{
    double dynamic =
        (watts - gpu->idle_watts) / fmax(gpu->tdp_watts - gpu->idle_watts, 1e-9);

    return pow(share(dynamic), 1 / CONCAVITY);
}

/* The clock at which dynamic power is this share of that at full clock. */
static double clock_for(double power)
{
    double low = FLOOR + (1 - FLOOR) * pow(LOW_CLOCK, STEEPNESS);

    if (power < low)
        return LOW_CLOCK * power / low;
    return pow((power - FLOOR) / (1 - FLOOR), 1 / STEEPNESS);
}

struct power_capped power_under_cap(const struct gpu_sheet *gpu, double busy,
                                    double cap_watts)
{
    double draw = power_draw_watts(gpu, busy), idle = gpu->idle_watts;
    double used = (draw - idle) / fmax(gpu->tdp_watts - idle, 1e-9);
    double peak = fmin(gpu->tdp_watts, idle + (draw - idle) * (1 + PEAK * (1 - used)));
    double cap = fmax(cap_watts, gpu->cap_min_watts);
    double allowed;

    busy = share(busy);
    if (!(cap_watts > 0) || gpu->cap_min_watts <= 0 || peak <= cap)
        return (struct power_capped){.watts = draw, .speed = 1};
    /* Checked sheets keep the lowest cap above idle; others must not divide by zero. */
    allowed = clamp((cap - idle) / (peak - idle), 0.01, 1);
    return (struct power_capped){
        .watts = fmin(cap, idle + (draw - idle) * allowed),
        .speed = 1 / (1 - busy + busy / clock_for(allowed)),
    };
}
