/* gpu_watchdog.c - calls of a backend with a deadline, see gpu_watchdog.h
 *
 * gpu_devices.c puts one around each backend it opens.  A lane is one helper thread with
 * room for one request.  The caller waits for the answer or gives up; a request given up
 * on keeps the lane taken until the driver returns, its answer is thrown away, and the
 * lane is as good as new. */
#include "gpu/gpu_watchdog.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"

#include <stdlib.h>
#include <string.h>

enum call { CALL_LIST, CALL_READ, CALL_LIMIT, CALL_SET_LIMIT };

static const char *const call_names[] = {
    "listing devices", "reading", "reading the power limit", "setting the power limit"};

enum lane_state {
    LANE_FREE,
    LANE_TAKEN,   /* a request waits or runs, its caller waits for it */
    LANE_DONE,    /* the answer is there, its caller has not taken it yet */
    LANE_GIVEN_UP /* a request runs that nobody waits for */
};

struct driver_call {
    enum call call;
    int device;
    double watts;
};

struct driver_answer {
    enum gpu_status status;
    struct err err;
    int count;
    struct gpu_device *devices; /* (GPU_MAX_DEVICES) of the listing lane only */
    struct gpu_sample sample;
    struct gpu_limit limit;
};

struct watchdog;

struct lane {
    struct watchdog *watchdog;
    pthread_t thread;
    pthread_cond_t changed;
    bool started;
    bool asked; /* there is a request the helper has not begun */
    enum lane_state state;
    struct driver_call request;
    struct driver_answer answer;
};

struct watchdog {
    struct gpu_ops ops;
    struct gpu_backend inner;
    double deadline_s, list_deadline_s;
    pthread_mutex_t mutex; /* guards everything below and all lanes */
    bool closing;
    int users; /* the owner and every helper */
    struct lane *lanes[GPU_MAX_DEVICES + 1];
};

static void carry_out(struct gpu_backend b, const struct driver_call *request,
                      struct driver_answer *answer)
{
    int device = request->device;

    answer->err = (struct err){0};
    switch (request->call) {
    case CALL_LIST:
        answer->status = b.ops->list(b.self, answer->devices, GPU_MAX_DEVICES,
                                     &answer->count, &answer->err);
        break;
    case CALL_READ:
        answer->status = b.ops->read(b.self, device, &answer->sample, &answer->err);
        break;
    case CALL_LIMIT:
        answer->status = b.ops->limit(b.self, device, &answer->limit, &answer->err);
        break;
    case CALL_SET_LIMIT:
        answer->status = b.ops->set_limit(b.self, device, request->watts, &answer->err);
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
    for (size_t i = 0; i < sizeof(watchdog->lanes) / sizeof(watchdog->lanes[0]); i++) {
        if (!watchdog->lanes[i])
            continue;
        pthread_cond_destroy(&watchdog->lanes[i]->changed);
        free(watchdog->lanes[i]->answer.devices);
        free(watchdog->lanes[i]);
    }
    watchdog->inner.ops->destroy(watchdog->inner.self);
    pthread_mutex_destroy(&watchdog->mutex);
    free(watchdog);
}

static void *help(void *arg)
{
    struct lane *lane = arg;
    struct watchdog *watchdog = lane->watchdog;

    pthread_mutex_lock(&watchdog->mutex);
    for (;;) {
        while (!lane->asked && !watchdog->closing)
            pthread_cond_wait(&lane->changed, &watchdog->mutex);
        if (!lane->asked)
            break;
        lane->asked = false;
        pthread_mutex_unlock(&watchdog->mutex);
        carry_out(watchdog->inner, &lane->request, &lane->answer);
        pthread_mutex_lock(&watchdog->mutex);
        if (lane->state == LANE_GIVEN_UP) {
            log_info("driver_answers_again",
                     LOG_STR("backend", watchdog->inner.ops->name),
                     LOG_STR("call", call_names[lane->request.call]),
                     LOG_I64("device", lane->request.device));
            lane->state = LANE_FREE;
        } else {
            lane->state = LANE_DONE;
        }
        pthread_cond_broadcast(&lane->changed);
    }
    leave(watchdog);
    return NULL;
}

static struct lane *lane_for(struct watchdog *watchdog, const struct driver_call *request,
                             struct err *err)
{
    struct lane **slot =
        &watchdog->lanes[request->call == CALL_LIST ? 0 : request->device + 1];
    struct lane *lane = *slot;

    if (!lane) {
        lane = *slot = mem_new(struct lane);
        lane->watchdog = watchdog;
        if (request->call == CALL_LIST)
            lane->answer.devices = mem_array(struct gpu_device, GPU_MAX_DEVICES);
        thread_cond_init(&lane->changed);
    }
    if (!lane->started) {
        if (thread_start(&lane->thread, help, lane) != 0) {
            err_set(err, ERR_SYSTEM, "cannot start a thread to ask the driver");
            return NULL;
        }
        lane->started = true;
        watchdog->users++;
    }
    return lane;
}

static enum gpu_status hung(const struct watchdog *watchdog,
                            const struct driver_call *request, struct err *err)
{
    err_set(err, ERR_SYSTEM, "the driver behind %s does not answer (%s)",
            watchdog->inner.ops->name, call_names[request->call]);
    return GPU_HUNG;
}

/* Two callers may want the same device: the second waits for the first, not longer than
 * the deadline. */
static bool wait_for(struct lane *lane, struct watchdog *watchdog, enum lane_state wanted,
                     double until_s)
{
    while (lane->state != wanted) {
        if (lane->state == LANE_GIVEN_UP)
            return false;
        if (!thread_wait_until(&lane->changed, &watchdog->mutex, until_s))
            return lane->state == wanted;
    }
    return true;
}

/* With the mutex held: leaves the lane DONE, its answer to be copied, or fails. */
static struct lane *ask(struct watchdog *watchdog, const struct driver_call *request,
                        enum gpu_status *status, struct err *err)
{
    double seconds =
        request->call == CALL_LIST ? watchdog->list_deadline_s : watchdog->deadline_s;
    double until_s = clock_wall_s() + seconds;
    struct lane *lane = lane_for(watchdog, request, err);

    *status = GPU_FAILED;
    if (!lane)
        return NULL;
    if (!wait_for(lane, watchdog, LANE_FREE, until_s)) {
        *status = hung(watchdog, request, err);
        return NULL;
    }
    lane->state = LANE_TAKEN;
    lane->request = *request;
    lane->asked = true;
    pthread_cond_broadcast(&lane->changed);
    if (!wait_for(lane, watchdog, LANE_DONE, until_s)) {
        lane->state = LANE_GIVEN_UP;
        *status = hung(watchdog, request, err);
        log_warn("driver_hangs", LOG_STR("backend", watchdog->inner.ops->name),
                 LOG_STR("call", call_names[request->call]),
                 LOG_I64("device", request->device), LOG_NUM("after_s", seconds));
        return NULL;
    }
    *status = lane->answer.status;
    if (*status != GPU_OK && err)
        *err = lane->answer.err;
    return lane;
}

static void give_back(struct lane *lane)
{
    lane->state = LANE_FREE;
    pthread_cond_broadcast(&lane->changed);
}

static enum gpu_status watchdog_list(void *self, struct gpu_device *devices, int capacity,
                                     int *count, struct err *err)
{
    struct watchdog *watchdog = self;
    struct driver_call request = {.call = CALL_LIST, .device = -1};
    enum gpu_status status;
    struct lane *lane;

    pthread_mutex_lock(&watchdog->mutex);
    lane = ask(watchdog, &request, &status, err);
    if (lane && status == GPU_OK) {
        *count = lane->answer.count < capacity ? lane->answer.count : capacity;
        memcpy(devices, lane->answer.devices, (size_t)*count * sizeof(*devices));
    }
    if (lane)
        give_back(lane);
    pthread_mutex_unlock(&watchdog->mutex);
    return status;
}

/* The calls for one device; what is asked for goes where `out` of its type is not NULL.
 */
static enum gpu_status device_call(struct watchdog *watchdog, struct driver_call request,
                                   struct gpu_sample *sample, struct gpu_limit *limit,
                                   struct err *err)
{
    enum gpu_status status;
    struct lane *lane;

    pthread_mutex_lock(&watchdog->mutex);
    lane = ask(watchdog, &request, &status, err);
    if (lane && status == GPU_OK && sample)
        *sample = lane->answer.sample;
    if (lane && status == GPU_OK && limit)
        *limit = lane->answer.limit;
    if (lane)
        give_back(lane);
    pthread_mutex_unlock(&watchdog->mutex);
    return status;
}

static enum gpu_status watchdog_read(void *self, int device, struct gpu_sample *sample,
                                     struct err *err)
{
    struct driver_call request = {.call = CALL_READ, .device = device};

    return device_call(self, request, sample, NULL, err);
}

static enum gpu_status watchdog_limit(void *self, int device, struct gpu_limit *limit,
                                      struct err *err)
{
    struct driver_call request = {.call = CALL_LIMIT, .device = device};

    return device_call(self, request, NULL, limit, err);
}

static enum gpu_status watchdog_set_limit(void *self, int device, double watts,
                                          struct err *err)
{
    struct driver_call request = {
        .call = CALL_SET_LIMIT, .device = device, .watts = watts};

    return device_call(self, request, NULL, NULL, err);
}

/* Helpers that are free are waited for, so that nothing is left running in the usual
 * case; stuck ones are let go. */
static void watchdog_destroy(void *self)
{
    struct watchdog *watchdog = self;
    pthread_t joinable[GPU_MAX_DEVICES + 1];
    size_t count = 0;

    pthread_mutex_lock(&watchdog->mutex);
    watchdog->closing = true;
    for (size_t i = 0; i < sizeof(watchdog->lanes) / sizeof(watchdog->lanes[0]); i++) {
        struct lane *lane = watchdog->lanes[i];

        if (!lane || !lane->started)
            continue;
        if (lane->state == LANE_GIVEN_UP)
            pthread_detach(lane->thread);
        else
            joinable[count++] = lane->thread;
        pthread_cond_broadcast(&lane->changed);
    }
    pthread_mutex_unlock(&watchdog->mutex);
    for (size_t i = 0; i < count; i++)
        pthread_join(joinable[i], NULL);
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
    return (struct gpu_backend){.ops = &watchdog->ops, .self = watchdog};
}
