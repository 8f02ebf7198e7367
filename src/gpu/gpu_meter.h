/* gpu_meter.h - joules of intervals from samples of one device
 *
 * An interval is what lies between two samples.  Where the device counts energy, it is
 * the difference of the counter; where it only tells power, the trapezoid of watts; where
 * it tells nothing, the model.  Counters wrap, fall back to zero when a driver is loaded
 * again, and jump: a difference that no device of its kind could have drawn in that time
 * is refused and the power takes its place.  A gap without samples is never invented: it
 * is added to gap_s and draws nothing. */
#ifndef CORGI_GPU_GPU_METER_H
#define CORGI_GPU_GPU_METER_H

#include "gpu/gpu_backend.h"

/* Beyond this between two samples, power readings say nothing of what was between them.
 * An energy counter bridges any gap in which it was not reset. */
#define GPU_METER_MAX_GAP_S 60.0

struct gpu_interval {
    double from_s, to_s;
    double joules;
    double error_joules;    /* one standard error: sensor, edges and what was not seen */
    enum gpu_method method; /* not ENERGY where a counter was not believed */
};

struct gpu_meter {
    double most_watts; /* nothing of this kind draws more on average */
    bool started;
    double at_s; /* of the last sample that counted */
    double watts;
    double watts_error;
    enum gpu_method watts_method;
    double energy_joules; /* last counter value; NaN: none */
    double total_joules;  /* since the first sample */
    double total_bias;    /* error of it that is the same every time: adds up */
    double total_noise2;  /* error of it that differs each time, squared */
    double gap_s;         /* time nobody knows anything of */
};

/* The sheet may be NULL: then a bound that holds for every card. */
void gpu_meter_init(struct gpu_meter *meter, const struct gpu_sheet *sheet);

/* True when the sample ends an interval, which is then in *interval.  The first sample
 * ends none, nor does one that is not later than the last or knows nothing of power. */
bool gpu_meter_add(struct gpu_meter *meter, const struct gpu_sample *sample,
                   struct gpu_interval *interval);

/* One standard error of the total. */
double gpu_meter_error(const struct gpu_meter *meter);

#endif
