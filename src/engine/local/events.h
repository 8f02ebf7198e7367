/* events.h - what happened, kept until the engine may tell it
 *
 * The sink is called only from dispatch(), and may call the engine from there. */
#ifndef CORGI_ENGINE_LOCAL_EVENTS_H
#define CORGI_ENGINE_LOCAL_EVENTS_H

#include "base/vec.h"
#include "engine/engine.h"

struct queued_event {
    struct engine_event event;
    char *text; /* the event's, ours */
};

struct events {
    vec_of(struct queued_event) queue;
};

/* All that means nothing: NaN, -1, "". */
struct engine_event events_blank(enum engine_event_kind kind);

/* The text is copied; NULL is fine. */
void events_push(struct events *events, struct engine_event event, const char *text);
void events_deliver(struct events *events, const struct engine_sink *sink);
void events_fini(struct events *events);

#endif
