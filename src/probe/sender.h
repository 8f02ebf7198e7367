/* sender.h - reports on their way to an engine that may not be there
 *
 * To a Unix datagram socket as lines of probe_report.h, or by HTTP as JSON with the same
 * keys. A report that cannot be sent waits for the next try; of rates only the newest
 * waits. Nothing here blocks, and nothing here is an error for the job. */
#pragma once

#include "base/err.h"
#include "probe/fetch.h"
#include "probe/probe_report.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/un.h>

#define SENDER_MAX_WAITING 8

struct sender {
    int fd; /* of the datagram socket; -1: HTTP or nobody */
    struct sockaddr_un path;
    bool http;
    struct fetch fetch; /* runs while the first that waits is on its way: to be watched */
    struct probe_report waiting[SENDER_MAX_WAITING]; /* oldest first */
    int count;
    uint64_t failures;
};

/* target: "unix:PATH", "http://ADDRESS:PORT/PATH"; NULL: nobody listens. */
struct sender *sender_create(const char *target,
                             struct err *err); /* NULL: wrong target */
void sender_destroy(struct sender *sender);    /* NULL is fine */

void sender_send(struct sender *sender, const struct probe_report *report, double now_s);

/* Try again what waits; HTTP also when the descriptor of fetch is ready. */
void sender_retry(struct sender *sender, double now_s);

/* The last tries before the probe ends, for at most this long. */
void sender_finish(struct sender *sender, double limit_s);
