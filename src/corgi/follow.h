/* follow.h - events of the daemon as they happen, over lost connections too */
#ifndef CORGI_CORGI_FOLLOW_H
#define CORGI_CORGI_FOLLOW_H

#include "base/err.h"
#include "base/json.h"
#include "corgi/daemon.h"
#include "http/client.h"

#include <stdbool.h>

struct follow {
    const struct daemon_args *daemon;
    const char *job;   /* ends with this job; NULL: all jobs, for ever */
    const char *types; /* with commas between; NULL: all */
    const char *last;  /* resume behind this id; NULL: from now on */
    /* data: parsed, NULL when it is not JSON; false ends it; NULL: only wait for the job.
     */
    bool (*event)(void *ctx, const struct client_event *event,
                  const struct json_value *data);
    void *ctx;
    /* What came of the job: */
    char state[32];    /* "" while it has not ended: done, failed or cancelled */
    bool ended_before; /* no event said so: it had ended before they began */
};

/* Until event() says so or the job has ended: 0.  -1 when the daemon cannot be reached at
 * all, or not for half a minute after it could. */
int follow_events(struct follow *f, struct err *err);

#endif
