/* gpu_sampler.c - the thread that reads all devices, see gpu_sampler.h
 *
 * The local engine's gpus.c starts it, waits on its descriptor and takes the readings. */
#include "gpu/gpu_sampler.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"

#include <math.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

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
