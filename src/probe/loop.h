/* loop.h - a few descriptors and what to call when they are ready
 *
 * epoll with one struct loop_watch a descriptor, which its owner embeds. */
#ifndef CORGI_PROBE_LOOP_H
#define CORGI_PROBE_LOOP_H

#include "base/err.h"

#include <stdint.h>

struct loop_watch {
    int fd; /* -1: not watched */
    uint32_t events;
    void (*ready)(void *ctx, uint32_t events);
    void *ctx;
};

/* CLOCK_MONOTONIC and CLOCK_REALTIME in seconds. */
double loop_now_s(void);
double loop_epoch_s(void);

int loop_open(struct err *err); /* an epoll descriptor; -1: failed */

/* Make the watch be about this descriptor and these events; 0 events or -1 end it.  Call
 * with -1 before closing the descriptor. */
void loop_set(int loop, struct loop_watch *watch, int fd, uint32_t events);

/* Wait so long at most and call what is ready. */
void loop_wait(int loop, double timeout_s);

#endif
