/* store_events.h - the numbered log of what happened, for clients that resume
 *
 * Clients ask for what lies behind the last number they saw, so numbers must become
 * visible in their order: take them on one thread, and commit all events in one class. */
#ifndef CORGI_STORE_STORE_EVENTS_H
#define CORGI_STORE_STORE_EVENTS_H

#include "store/reader.h"
#include "store/store.h"

struct store_event {
    uint64_t id; /* store_take_id(STORE_EVENT_ID) */
    double at_s;
    const char *kind; /* job.started and the like */
    uint64_t job;     /* 0: none */
    const char *user; /* owner of the job: who may see it; NULL: everyone */
    const char *data; /* a JSON object */
};

void store_add_event(struct store_batch *batch, const struct store_event *event);

typedef int (*store_event_row)(void *ctx, const struct store_event *event);

/* Those after the number, oldest first; limit 0: 1000. */
int store_read_events(struct store_reader *reader, uint64_t after_id, int limit,
                      store_event_row row, void *ctx, struct err *err);

/* The oldest and newest there are; both 0 when there are none.  A client that resumes
 * before oldest - 1 has missed some. */
int store_read_event_span(struct store_reader *reader, uint64_t *oldest, uint64_t *newest,
                          struct err *err);

#endif
