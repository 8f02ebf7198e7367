/* poller.c - waiting on descriptors, see poller.h
 *
 * corgi-probe waits here between all it does; the local engine asks here what is ready
 * when the daemon calls its dispatch(). */
#include "base/poller.h"

#include <math.h>
#include <stddef.h>
#include <sys/epoll.h>

#define MAX_EVENTS 16

int poller_open(struct err *err)
{
    int poller = epoll_create1(EPOLL_CLOEXEC);

    return poller < 0 ? err_sys(err, "cannot make an epoll descriptor") : poller;
}

void poller_set(int poller, struct poller_watch *watch, int fd, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = watch};

    if (fd < 0 || events == 0)
        fd = -1;
    if (watch->fd == fd && (fd < 0 || watch->events == events))
        return;
    if (watch->fd >= 0 && watch->fd != fd)
        epoll_ctl(poller, EPOLL_CTL_DEL, watch->fd, NULL);
    if (fd >= 0 && epoll_ctl(poller, watch->fd == fd ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd,
                             &event) < 0)
        fd = -1;
    watch->fd = fd;
    watch->events = events;
}

void poller_wait(int poller, double timeout_s)
{
    struct epoll_event events[MAX_EVENTS];
    int timeout_ms = (int)ceil(fmin(fmax(timeout_s, 0), 3600) * 1e3);
    int count = epoll_wait(poller, events, MAX_EVENTS, timeout_ms);

    for (int i = 0; i < count; i++) {
        struct poller_watch *watch = events[i].data.ptr;

        if (watch->fd >= 0) /* a callback before may have ended it */
            watch->ready(watch->ctx, events[i].events);
    }
}
