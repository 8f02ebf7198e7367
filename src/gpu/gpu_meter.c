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

#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

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

/* ---- the thread -------------------------------------------------------------------- */

#define RESCAN_LOST_S 5.0
#define RESCAN_S      60.0

struct sampler_slot {
    bool known;   /* it was read once: the meter is set up */
    bool pending; /* there is something to take */
    enum gpu_status told;
    struct gpu_meter meter;
    struct gpu_reading reading;
};

struct gpu_sampler {
    struct gpu *gpu;
    double period_s;
    int fd;
    pthread_t thread;
    pthread_mutex_t mutex; /* guards what is below */
    pthread_cond_t wake;
    bool stopping;
    int next; /* device to take first */
    struct sampler_slot slots[GPU_MAX_DEVICES];
};

/* One interval for two that follow each other; the less certain method names it. */
static void merge(struct gpu_interval *into, const struct gpu_interval *next)
{
    into->to_s = next->to_s;
    into->joules += next->joules;
    into->error_joules += next->error_joules;
    if (next->method == GPU_METHOD_MODEL ||
        (into->method == GPU_METHOD_ENERGY && next->method != GPU_METHOD_ENERGY))
        into->method = next->method;
}

static void signal_pending(struct gpu_sampler *sampler)
{
    uint64_t one = 1;

    /* Full means that it is readable already. */
    if (write(sampler->fd, &one, sizeof(one)) < 0)
        return;
}

/* With the mutex held. */
static void note(struct gpu_sampler *sampler, int device, enum gpu_status status,
                 const struct gpu_sample *sample, const struct err *err)
{
    struct sampler_slot *slot = &sampler->slots[device];
    struct gpu_interval interval;

    if (status != GPU_OK && slot->known && slot->told == status)
        return;
    if (!slot->known)
        gpu_meter_init(&slot->meter, gpu_device(sampler->gpu, device)->sheet);
    slot->known = true;
    slot->told = status;
    if (!slot->pending)
        slot->reading = (struct gpu_reading){.device = device};
    slot->pending = true;
    slot->reading.status = status;
    if (status != GPU_OK) {
        slot->reading.err = *err;
        return;
    }
    slot->reading.sample = *sample;
    if (!gpu_meter_add(&slot->meter, sample, &interval))
        return;
    if (slot->reading.has_interval)
        merge(&slot->reading.interval, &interval);
    else
        slot->reading.interval = interval;
    slot->reading.has_interval = true;
}

/* True when a device is lost. */
static bool read_all(struct gpu_sampler *sampler)
{
    int count = gpu_count(sampler->gpu);
    bool lost = false;

    for (int i = 0; i < count; i++) {
        struct gpu_sample sample;
        struct err err = {0};
        enum gpu_status status = gpu_read(sampler->gpu, i, &sample, &err);

        lost = lost || status == GPU_LOST;
        pthread_mutex_lock(&sampler->mutex);
        note(sampler, i, status, &sample, &err);
        pthread_mutex_unlock(&sampler->mutex);
    }
    return lost;
}

/* Until the next period begins; true when it is time to end. */
static bool sleep_until(struct gpu_sampler *sampler, double at_s)
{
    bool stopping;

    pthread_mutex_lock(&sampler->mutex);
    while (!sampler->stopping && thread_wait_until(&sampler->wake, &sampler->mutex, at_s))
        ;
    stopping = sampler->stopping;
    pthread_mutex_unlock(&sampler->mutex);
    return stopping;
}

static void *work(void *arg)
{
    struct gpu_sampler *sampler = arg;
    double next_s = clock_wall_s(), scanned_s = next_s;

    do {
        bool lost = read_all(sampler);
        double now = clock_wall_s();

        signal_pending(sampler);
        if (now - scanned_s > (lost ? RESCAN_LOST_S : RESCAN_S)) {
            gpu_rescan(sampler->gpu);
            scanned_s = clock_wall_s();
        }
        /* Late by more than a period: go on from now instead of catching up. */
        next_s = fmax(next_s + sampler->period_s, now);
    } while (!sleep_until(sampler, next_s));
    return NULL;
}

static void end(struct gpu_sampler *sampler)
{
    if (sampler->fd >= 0)
        close(sampler->fd);
    pthread_cond_destroy(&sampler->wake);
    pthread_mutex_destroy(&sampler->mutex);
    free(sampler);
}

struct gpu_sampler *gpu_sampler_start(struct gpu *gpu, double period_s, struct err *err)
{
    struct gpu_sampler *sampler;

    if (!(period_s >= 0.01 && period_s <= 3600)) {
        err_set(err, ERR_INVALID, "a sampling period of %g s is not from 0.01 to 3600 s",
                period_s);
        return NULL;
    }
    sampler = mem_new(struct gpu_sampler);
    sampler->gpu = gpu;
    sampler->period_s = period_s;
    pthread_mutex_init(&sampler->mutex, NULL);
    thread_cond_init(&sampler->wake);
    sampler->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (sampler->fd < 0 || thread_start(&sampler->thread, work, sampler) != 0) {
        err_set(err, ERR_SYSTEM, "cannot start the thread that reads the devices");
        end(sampler);
        return NULL;
    }
    return sampler;
}

void gpu_sampler_stop(struct gpu_sampler *sampler)
{
    if (!sampler)
        return;
    pthread_mutex_lock(&sampler->mutex);
    sampler->stopping = true;
    pthread_cond_broadcast(&sampler->wake);
    pthread_mutex_unlock(&sampler->mutex);
    pthread_join(sampler->thread, NULL);
    end(sampler);
}

int gpu_sampler_fd(const struct gpu_sampler *sampler)
{
    return sampler->fd;
}

bool gpu_sampler_take(struct gpu_sampler *sampler, struct gpu_reading *reading)
{
    bool found = false;
    uint64_t count;

    pthread_mutex_lock(&sampler->mutex);
    for (int i = 0; i < GPU_MAX_DEVICES && !found; i++) {
        struct sampler_slot *slot =
            &sampler->slots[(sampler->next + i) % GPU_MAX_DEVICES];

        if (!slot->pending)
            continue;
        *reading = slot->reading;
        slot->pending = false;
        slot->reading.has_interval = false;
        sampler->next = (reading->device + 1) % GPU_MAX_DEVICES;
        found = true;
    }
    /* All taken: quiet until the next period.  A later note writes again. */
    if (!found && read(sampler->fd, &count, sizeof(count)) < 0)
        count = 0;
    pthread_mutex_unlock(&sampler->mutex);
    return found;
}
