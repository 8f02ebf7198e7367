/* outbox.h - what happened, kept until the engine may tell it
 *
 * The sink is called only from dispatch(), and may call the engine from there. */
#ifndef CORGI_ENGINE_LOCAL_OUTBOX_H
#define CORGI_ENGINE_LOCAL_OUTBOX_H

#include "base/vec.h"
#include "engine/engine.h"

struct queued_event {
    struct engine_event event;
    char *text;                  /* the event's, ours */
    struct engine_share *shares; /* likewise */
};

struct outbox {
    vec_of(struct queued_event) queue;
};

/* All that means nothing: NaN, -1, "". */
struct engine_event outbox_blank(enum engine_event_kind kind);

/* The text and the shares are copied; NULL is fine. */
void outbox_push(struct outbox *outbox, struct engine_event event, const char *text);
void outbox_deliver(struct outbox *outbox, const struct engine_sink *sink);
void outbox_fini(struct outbox *outbox);

#endif
