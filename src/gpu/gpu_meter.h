/* gpu_meter.h - joules of intervals from samples of one device
 *
 * An interval is what lies between two samples.  Where the device counts energy, it is
 * the difference of the counter; where it only tells power, the trapezoid of watts; where
 * it tells nothing, the model.  Counters wrap, fall back to zero when a driver is loaded
 * again, and jump: a difference that no device of its kind could have drawn in that time
 * is refused and the power takes its place.  A gap without samples is never invented: it
 * is added to gap_s and draws nothing. */
#pragma once

#include "gpu/gpu_devices.h"

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

/* ---- all devices read and metered on a thread of its own --------------------------- */

/* For a daemon whose one thread must not wait for drivers: the sampler reads every device
 * once a period and keeps a reading a device until it is taken.  A reading that is not
 * taken in time grows: newest sample, energy since the last one taken.  Devices that are
 * lost are looked for again every few seconds, new ones now and then. */
struct gpu_sampler;

struct gpu_reading {
    int device;
    enum gpu_status status;
    struct err err;           /* when status is not GPU_OK */
    struct gpu_sample sample; /* when it is */
    bool has_interval;        /* energy since the last reading that was taken */
    struct gpu_interval interval;
};

/* gpu is borrowed and may be used by others meanwhile.  ERR_INVALID unless the period is
 * from 10 ms to an hour. */
struct gpu_sampler *gpu_sampler_start(struct gpu *gpu, double period_s, struct err *err);

/* Returns when the thread has ended, after at most one deadline of a call. */
void gpu_sampler_stop(struct gpu_sampler *sampler); /* NULL is fine */

/* Readable when there is something to take; belongs to the sampler. */
int gpu_sampler_fd(const struct gpu_sampler *sampler);

/* The next reading, in turn over the devices; false when there is none.  A device whose
 * status is not GPU_OK is reported when that begins, not again every period. */
bool gpu_sampler_take(struct gpu_sampler *sampler, struct gpu_reading *reading);
