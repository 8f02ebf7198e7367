/* loop.c - see loop.h */
#include "probe/loop.h"

#include <math.h>
#include <sys/epoll.h>
#include <time.h>

#define MAX_EVENTS 16

static double clock_s(clockid_t id)
{
    struct timespec t;

    clock_gettime(id, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double loop_now_s(void)
{
    return clock_s(CLOCK_MONOTONIC);
}

double loop_epoch_s(void)
{
    return clock_s(CLOCK_REALTIME);
}

int loop_open(struct err *err)
{
    int loop = epoll_create1(EPOLL_CLOEXEC);

    return loop < 0 ? err_sys(err, "cannot make an epoll descriptor") : loop;
}

void loop_set(int loop, struct loop_watch *watch, int fd, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = watch};

    if (fd < 0 || events == 0)
        fd = -1;
    if (watch->fd == fd && (fd < 0 || watch->events == events))
        return;
    if (watch->fd >= 0 && watch->fd != fd)
        epoll_ctl(loop, EPOLL_CTL_DEL, watch->fd, NULL);
    if (fd >= 0 &&
        epoll_ctl(loop, watch->fd == fd ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &event) < 0)
        fd = -1;
    watch->fd = fd;
    watch->events = events;
}

void loop_wait(int loop, double timeout_s)
{
    struct epoll_event events[MAX_EVENTS];
    int timeout_ms = (int)ceil(fmin(fmax(timeout_s, 0), 3600) * 1e3);
    int count = epoll_wait(loop, events, MAX_EVENTS, timeout_ms);

    for (int i = 0; i < count; i++) {
        struct loop_watch *watch = events[i].data.ptr;

        if (watch->fd >= 0) /* a callback before may have ended it */
            watch->ready(watch->ctx, events[i].events);
    }
}
