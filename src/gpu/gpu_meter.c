/* gpu_meter.c - samples to intervals of energy, see gpu_meter.h
 *
 * The sampler and `corgi devices` add each sample they read; the intervals are what
 * energy is booked by.
 *
 * Errors are of two kinds.  A sensor that reads five percent high does so every time:
 * such errors add up over intervals.  What a power reading misses between two samples,
 * and when exactly a counter was updated, differs each time: such errors add up in
 * squares. */
#include "gpu/gpu_meter.h"

#include <math.h>
#include <string.h>

/* A counter is updated up to ten times a second, at moments of its own. */
#define COUNTER_EDGE_S 0.1
/* Energy counters and power readings come from the same sensors. */
#define COUNTER_BIAS 0.05

/* Above the board's power for moments; a mean above twice is no power of this card. */
#define MOST_OVER_TDP 2.0
#define MOST_WATTS    4000.0 /* a card we know nothing of */

/* A live device counts something: a counter that stands still for so long is broken. */
#define FROZEN_S 10.0

void gpu_meter_init(struct gpu_meter *meter, const struct gpu_sheet *sheet)
{
    memset(meter, 0, sizeof(*meter));
    meter->most_watts = sheet ? MOST_OVER_TDP * sheet->tdp_watts : MOST_WATTS;
    meter->energy_joules = NAN;
    meter->watts = NAN;
}

struct error {
    double bias, noise; /* joules */
};

/* Between two readings the power may have been anywhere: a uniform spread between them
 * would leave |difference| / sqrt(12), and as much again for what happened in between. */
static double unseen(double before, double after, double seconds)
{
    return fabs(after - before) / sqrt(6) * seconds;
}

static bool counter_step(const struct gpu_meter *meter, const struct gpu_sample *sample,
                         struct gpu_interval *interval, struct error *error)
{
    double seconds = interval->to_s - interval->from_s;
    double step = sample->energy_joules - meter->energy_joules;
    double watts = step / seconds;

    if (isnan(step))
        return false;
    if (step < 0 || step > meter->most_watts * (seconds + COUNTER_EDGE_S) ||
        (step == 0 && seconds > FROZEN_S))
        return false;
    interval->joules = step;
    interval->method = GPU_METHOD_ENERGY;
    error->bias = COUNTER_BIAS * step;
    error->noise = watts * COUNTER_EDGE_S / sqrt(6);
    return true;
}

static bool power_step(const struct gpu_meter *meter, const struct gpu_sample *sample,
                       struct gpu_interval *interval, struct error *error)
{
    double seconds = interval->to_s - interval->from_s;

    if (isnan(meter->watts) || isnan(sample->watts) || seconds > GPU_METER_MAX_GAP_S)
        return false;
    /* A mean of the last second covers a short interval by itself. */
    interval->joules = sample->method == GPU_METHOD_AVERAGE && seconds <= 1.5
                           ? sample->watts * seconds
                           : (meter->watts + sample->watts) / 2 * seconds;
    /* One modelled end makes it a model. */
    interval->method =
        meter->watts_method == GPU_METHOD_MODEL ? GPU_METHOD_MODEL : sample->method;
    error->bias = (meter->watts_error + sample->watts_error) / 2 * seconds;
    error->noise = unseen(meter->watts, sample->watts, seconds);
    return true;
}

static void remember(struct gpu_meter *meter, const struct gpu_sample *sample)
{
    meter->started = true;
    meter->at_s = sample->at_s;
    meter->watts = sample->watts;
    meter->watts_error = isfinite(sample->watts_error) ? sample->watts_error : 0;
    meter->watts_method = sample->method;
    meter->energy_joules = sample->energy_joules;
}

bool gpu_meter_add(struct gpu_meter *meter, const struct gpu_sample *sample,
                   struct gpu_interval *interval)
{
    struct gpu_interval found = {.from_s = meter->at_s, .to_s = sample->at_s};
    struct error error = {0};
    bool known = isfinite(sample->watts) || isfinite(sample->energy_joules);
    bool ends;

    if (!known || !isfinite(sample->at_s) ||
        (meter->started && sample->at_s <= meter->at_s))
        return false;
    ends = meter->started && (counter_step(meter, sample, &found, &error) ||
                              power_step(meter, sample, &found, &error));
    if (meter->started && !ends)
        meter->gap_s += found.to_s - found.from_s;
    remember(meter, sample);
    if (!ends)
        return false;
    found.error_joules = hypot(error.bias, error.noise);
    meter->total_joules += found.joules;
    meter->total_bias += error.bias;
    meter->total_noise2 += error.noise * error.noise;
    *interval = found;
    return true;
}

double gpu_meter_error(const struct gpu_meter *meter)
{
    return sqrt(meter->total_bias * meter->total_bias + meter->total_noise2);
}
