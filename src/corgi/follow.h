/* follow.h - events of the daemon as they happen, over lost connections too */
#ifndef CORGI_CORGI_FOLLOW_H
#define CORGI_CORGI_FOLLOW_H

#include "base/err.h"
#include "base/json.h"
#include "corgi/daemon.h"
#include "http/client.h"

#include <stdbool.h>

struct follow {
    struct client *client;
    const char *job;   /* NULL: all */
    const char *types; /* with commas between; NULL: all */
    const char *last;  /* resume behind this id; NULL: from now on */
    /* data: parsed, NULL when it is not JSON; false ends it. */
    bool (*event)(void *ctx, const struct client_event *event,
                  const struct json_value *data);
    /* The stream has begun, once for every connection; false ends it; NULL: go on. */
    bool (*begun)(void *ctx);
    void *ctx;
};

/* Until event() or begun() says so: 0.  -1 when the daemon cannot be reached at all, or
 * not for half a minute after it could. */
int follow_events(const struct follow *f, struct err *err);

/* The state of a job now, asked through a client that follows nothing. */
int follow_look(struct client *client, const char *job, char *state, size_t size,
                struct err *err);

bool follow_is_end(const char *state); /* done, failed or cancelled */

/* Wait for the end of a job; its state then. */
int follow_job(const struct daemon_args *daemon, const char *job, char *state,
               size_t size, struct err *err);

#endif
