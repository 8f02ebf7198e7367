/* gpu_watchdog.c - calls of a backend with a deadline, see gpu_backend.h
 *
 * gpu_devices.c puts one around each backend it opens.  Each call runs on a thread of its
 * own.  The caller waits for the answer or gives up; a call given up on keeps its device
 * taken until the driver returns, and then its answer is thrown away. */
#include "gpu/gpu_backend.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"

#include <stdlib.h>
#include <string.h>

enum call { CALL_LIST, CALL_READ, CALL_LIMIT, CALL_SET_LIMIT };

static const char *const call_names[] = {
    "listing devices", "reading", "reading the power limit", "setting the power limit"};

enum call_state {
    CALL_RUNS,     /* its caller waits for it */
    CALL_DONE,     /* the answer is there, its caller has not taken it yet */
    CALL_GIVEN_UP, /* it runs and nobody waits for it */
};

struct driver_call {
    struct watchdog *watchdog;
    enum call_state state;
    enum call call;
    int device; /* -1: the listing */
    double watts;
    /* The answer. */
    enum gpu_status status;
    struct err err;
    int count;
    struct gpu_device *devices; /* (count) of the listing; owned */
    struct gpu_sample sample;
    struct gpu_limit limit;
};

struct watchdog {
    struct gpu_ops ops;
    struct gpu_backend inner;
    double deadline_s, list_deadline_s;
    pthread_mutex_t mutex; /* guards everything below and the states of calls */
    pthread_cond_t changed;
    int users;                                      /* the owner and every call */
    struct driver_call *calls[GPU_MAX_DEVICES + 1]; /* by device, the listing first */
};

static void carry_out(struct gpu_backend b, struct driver_call *c)
{
    switch (c->call) {
    case CALL_LIST:
        c->devices = mem_array(struct gpu_device, GPU_MAX_DEVICES);
        c->status = b.ops->list(b.self, c->devices, GPU_MAX_DEVICES, &c->count, &c->err);
        break;
    case CALL_READ:
        c->status = b.ops->read(b.self, c->device, &c->sample, &c->err);
        break;
    case CALL_LIMIT:
        c->status = b.ops->limit(b.self, c->device, &c->limit, &c->err);
        break;
    case CALL_SET_LIMIT:
        c->status = b.ops->set_limit(b.self, c->device, c->watts, &c->err);
        break;
    }
}

/* With the mutex held; the last one out frees everything, the mutex too. */
static void leave(struct watchdog *watchdog)
{
    bool last = --watchdog->users == 0;

    pthread_mutex_unlock(&watchdog->mutex);
    if (!last)
        return;
    watchdog->inner.ops->destroy(watchdog->inner.self);
    pthread_cond_destroy(&watchdog->changed);
    pthread_mutex_destroy(&watchdog->mutex);
    free(watchdog);
}

static void *run(void *arg)
{
    struct driver_call *c = arg;
    struct watchdog *watchdog = c->watchdog;

    carry_out(watchdog->inner, c);
    pthread_mutex_lock(&watchdog->mutex);
    if (c->state == CALL_GIVEN_UP) {
        log_info("driver_answers_again", LOG_STR("backend", watchdog->inner.ops->name),
                 LOG_STR("call", call_names[c->call]), LOG_I64("device", c->device));
        watchdog->calls[c->device + 1] = NULL;
        free(c->devices);
        free(c);
    } else {
        c->state = CALL_DONE;
    }
    pthread_cond_broadcast(&watchdog->changed);
    leave(watchdog);
    return NULL;
}

static enum gpu_status hung(const struct driver_call *c, struct err *err)
{
    err_set(err, ERR_SYSTEM, "the driver behind %s does not answer (%s)",
            c->watchdog->inner.ops->name, call_names[c->call]);
    return GPU_HUNG;
}

/* With the mutex held: make the call and wait for its answer.  The device is free. */
static enum gpu_status wait_for_answer(struct watchdog *watchdog, struct driver_call *c,
                                       double until_s, struct err *err)
{
    struct driver_call *running = mem_new(struct driver_call);
    pthread_t thread;

    *running = *c;
    if (thread_start(&thread, run, running) != 0) {
        free(running);
        err_set(err, ERR_SYSTEM, "cannot start a thread to ask the driver");
        return GPU_FAILED;
    }
    watchdog->users++;
    watchdog->calls[c->device + 1] = running;
    while (running->state == CALL_RUNS &&
           thread_wait_until(&watchdog->changed, &watchdog->mutex, until_s))
        ;
    if (running->state == CALL_RUNS) {
        running->state = CALL_GIVEN_UP;
        pthread_detach(thread);
        pthread_cond_broadcast(&watchdog->changed);
        return hung(c, err);
    }
    watchdog->calls[c->device + 1] = NULL;
    pthread_cond_broadcast(&watchdog->changed);
    *c = *running;
    free(running);
    pthread_mutex_unlock(&watchdog->mutex);
    pthread_join(thread, NULL); /* it has left and only returns */
    pthread_mutex_lock(&watchdog->mutex);
    if (c->status != GPU_OK && err)
        *err = c->err;
    return c->status;
}

/* The answer comes into the call.  Two callers may want the same device: the second waits
 * for the first, not longer than the deadline. */
static enum gpu_status ask(struct watchdog *watchdog, struct driver_call *c,
                           struct err *err)
{
    double seconds =
        c->call == CALL_LIST ? watchdog->list_deadline_s : watchdog->deadline_s;
    double until_s = clock_wall_s() + seconds;
    struct driver_call *const *before = &watchdog->calls[c->device + 1];
    enum gpu_status status = GPU_HUNG;
    bool given_up = false;

    c->watchdog = watchdog;
    pthread_mutex_lock(&watchdog->mutex);
    while (*before && (*before)->state != CALL_GIVEN_UP &&
           thread_wait_until(&watchdog->changed, &watchdog->mutex, until_s))
        ;
    if (*before) {
        hung(c, err);
    } else {
        status = wait_for_answer(watchdog, c, until_s, err);
        given_up = status == GPU_HUNG;
    }
    pthread_mutex_unlock(&watchdog->mutex);
    if (given_up)
        log_warn("driver_hangs", LOG_STR("backend", watchdog->inner.ops->name),
                 LOG_STR("call", call_names[c->call]), LOG_I64("device", c->device),
                 LOG_NUM("after_s", seconds));
    return status;
}

static enum gpu_status watchdog_list(void *self, struct gpu_device *devices, int capacity,
                                     int *count, struct err *err)
{
    struct driver_call c = {.call = CALL_LIST, .device = -1};
    enum gpu_status status = ask(self, &c, err);

    if (status == GPU_OK) {
        *count = c.count < capacity ? c.count : capacity;
        memcpy(devices, c.devices, (size_t)*count * sizeof(*devices));
    }
    free(c.devices);
    return status;
}

static enum gpu_status watchdog_read(void *self, int device, struct gpu_sample *sample,
                                     struct err *err)
{
    struct driver_call c = {.call = CALL_READ, .device = device};
    enum gpu_status status = ask(self, &c, err);

    if (status == GPU_OK)
        *sample = c.sample;
    return status;
}

static enum gpu_status watchdog_limit(void *self, int device, struct gpu_limit *limit,
                                      struct err *err)
{
    struct driver_call c = {.call = CALL_LIMIT, .device = device};
    enum gpu_status status = ask(self, &c, err);

    if (status == GPU_OK)
        *limit = c.limit;
    return status;
}

static enum gpu_status watchdog_set_limit(void *self, int device, double watts,
                                          struct err *err)
{
    struct driver_call c = {.call = CALL_SET_LIMIT, .device = device, .watts = watts};

    return ask(self, &c, err);
}

static void watchdog_destroy(void *self)
{
    struct watchdog *watchdog = self;

    pthread_mutex_lock(&watchdog->mutex);
    leave(watchdog);
}

struct gpu_backend gpu_watchdog(struct gpu_backend inner, double deadline_s,
                                double list_deadline_s)
{
    struct watchdog *watchdog = mem_new(struct watchdog);

    watchdog->inner = inner;
    watchdog->deadline_s = deadline_s;
    watchdog->list_deadline_s = list_deadline_s;
    watchdog->users = 1;
    watchdog->ops = (struct gpu_ops){.name = inner.ops->name,
                                     .list = watchdog_list,
                                     .read = watchdog_read,
                                     .limit = watchdog_limit,
                                     .set_limit = watchdog_set_limit,
                                     .destroy = watchdog_destroy};
    pthread_mutex_init(&watchdog->mutex, NULL);
    thread_cond_init(&watchdog->changed);
    return (struct gpu_backend){.ops = &watchdog->ops, .self = watchdog};
}
