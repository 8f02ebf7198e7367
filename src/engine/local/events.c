/* events.c - see events.h */
#include "engine/local/events.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

struct engine_event events_blank(enum engine_event_kind kind)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (struct engine_event){
        .kind = kind,
        .at_s = (double)t.tv_sec + (double)t.tv_nsec / 1e9,
        .node = 0,
        .device = -1,
        .steps = NAN,
        .source = "",
        .confidence = NAN,
        .watts = NAN,
        .joules = NAN,
        .measurement = {.rate = NAN, .window_s = NAN, .device_watts = NAN},
        .text = "",
    };
}

void events_push(struct events *events, struct engine_event event, const char *text)
{
    vec_push(&events->queue, (struct queued_event){event, mem_strdup(text ? text : "")});
}

void events_deliver(struct events *events, const struct engine_sink *sink)
{
    while (events->queue.count > 0) {
        struct events now = *events;

        *events = (struct events){0}; /* the sink may cause more */
        vec_each (struct queued_event, q, &now.queue) {
            q->event.text = q->text;
            sink->event(sink->ctx, &q->event);
        }
        events_fini(&now);
    }
}

void events_fini(struct events *events)
{
    vec_each (struct queued_event, q, &events->queue)
        free(q->text);
    vec_free(&events->queue);
}
