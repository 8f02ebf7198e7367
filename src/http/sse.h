/* sse.h - live events to many clients, none of whom can hold up the others
 *
 * Each client has a bounded buffer; one that does not read is dropped with a reason
 * rather than grow.  A client that comes back with Last-Event-ID is first fed what it
 * missed, page by page as it reads, through the replay callback, and then joins the live
 * ones without a gap.  Everything on the reactor's thread. */
#pragma once

#include "http/reactor.h"
#include "http/request.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sse_hub;
struct sse_page;

#define SSE_EVERYBODY ((uid_t)-1)

struct sse_event {
    uint64_t id;      /* grows; 0: of no lasting interest, is not replayed */
    const char *type; /* one word: "job", "device" */
    const char *data; /* JSON */
    uint64_t job;     /* it is about; 0: none */
    uid_t
        owner; /* only this user and those who see all get it; SSE_EVERYBODY: everyone */
};

/* What a client wants to hear. */
struct sse_subscription {
    uint64_t job; /* 0: all */
    uid_t owner;  /* of the client: gets its own events and everybody's; SSE_EVERYBODY:
                     those of all */
    const char *types; /* words with commas between; NULL: all */
};

enum sse_replay {
    SSE_REPLAY_DONE, /* the page holds all there is */
    SSE_REPLAY_MORE, /* the page is full, ask again */
    SSE_REPLAY_LOST, /* some events after that id are not kept any more */
};

struct sse_config {
    size_t buffer_bytes; /* a client may be behind by; 0: 256 kB */
    int max_clients;     /* 0: 2000 */
    double heartbeat_s;  /* a comment when nothing happens; 0: 15 */
    double stall_s;      /* a client that takes nothing for so long is dropped; 0: 60 */
    /* Give the events with an id greater than `after`, oldest first, to sse_page_add()
     * until it says false.  Those the client does not want are passed over there.  NULL:
     * nothing is kept. */
    enum sse_replay (*replay)(void *ctx, uint64_t after, struct sse_page *page);
    void *ctx;
};

struct sse_hub *sse_hub_create(struct reactor *r, const struct sse_config *config);
void sse_hub_destroy(struct sse_hub *hub); /* ends the streams; NULL is fine */

/* Answer a request with a stream.  Reads Last-Event-ID (or the query `last_event_id`, for
 * those who cannot set headers); `newest` is the id of the newest event there is, which
 * the client is told first.  The request is answered in any case: with 400 for an id that
 * is no number, with 503 when there are too many clients. */
void sse_hub_join(struct sse_hub *hub, struct request *request,
                  const struct sse_subscription *wanted, uint64_t newest);

void sse_hub_send(struct sse_hub *hub, const struct sse_event *event);

/* False: the page is full and the event was not taken. */
bool sse_page_add(struct sse_page *page, const struct sse_event *event);

/* Say goodbye to all clients, who may come back to the next daemon: event "bye" with
 * {"reason":...}. */
void sse_hub_close(struct sse_hub *hub, const char *reason);

struct sse_stats {
    int clients;
    size_t buffered_bytes;
};

void sse_hub_stats(const struct sse_hub *hub, struct sse_stats *stats);
