/* sender.h - reports on their way to an engine that may not be there
 *
 * As lines of probe_report.h, to a Unix datagram socket or to corgi-report, which is
 * started for an address and delivers them there.  A report that cannot be sent waits for
 * the next try; of rates only the newest waits.  Nothing here blocks, and nothing here is
 * an error for the job. */
#pragma once

#include "base/err.h"
#include "probe/probe_report.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/un.h>

#define SENDER_MAX_WAITING 8
#define SENDER_STOP        "stop"      /* corgi-report's only word: the run must end */
#define SENDER_RUN         "CORGI_RUN" /* the run's id, in the job's environment */

struct sender_options {
    const char *target;     /* "unix:PATH", "https://...", "http://..."; NULL: nobody */
    const char *ca;         /* of https: PEM file, whom to trust; NULL: the system's */
    const char *token_file; /* of an address; NULL: see report_spool.h */
    bool whole;             /* of an address: the command is all of the job */
};

struct sender {
    int fd;         /* -1: nobody listens */
    bool connected; /* to corgi-report; else datagrams go to the path */
    struct sockaddr_un path;
    struct probe_report waiting[SENDER_MAX_WAITING]; /* oldest first */
    int count;
    uint64_t failures;
};

/* NULL: wrong target, or corgi-report could not be started. */
struct sender *sender_create(const struct sender_options *options, struct err *err);
void sender_destroy(struct sender *sender); /* NULL is fine */

void sender_send(struct sender *sender, const struct probe_report *report);

/* Where corgi-report answers; -1: nobody does.  True once it has said that the run must
 * end; *gone when it will say nothing any more. */
int sender_answers(const struct sender *sender);
bool sender_must_stop(const struct sender *sender, bool *gone);

/* Try again what waits. */
void sender_retry(struct sender *sender);

/* The last tries before the probe ends, for at most this long. */
void sender_finish(struct sender *sender, double limit_s);
