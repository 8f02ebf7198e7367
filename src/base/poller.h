/* poller.h - a few descriptors and what to call when they are ready
 *
 * epoll with one struct poller_watch for each descriptor, which its owner embeds. */
#pragma once

#include "base/err.h"

#include <stdint.h>

struct poller_watch {
    int fd; /* -1: not watched */
    uint32_t events;
    void (*ready)(void *ctx, uint32_t events);
    void *ctx;
};

int poller_open(struct err *err); /* an epoll descriptor; -1: failed */

/* Make the watch be about this descriptor and these events; 0 events or -1 end it.  Call
 * with -1 before closing the descriptor. */
void poller_set(int poller, struct poller_watch *watch, int fd, uint32_t events);

/* Wait so long at most and call what is ready. */
void poller_wait(int poller, double timeout_s);
