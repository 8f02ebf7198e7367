/* outbox.c - see outbox.h */
#include "engine/local/outbox.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

struct engine_event outbox_blank(enum engine_event_kind kind)
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

void outbox_push(struct outbox *outbox, struct engine_event event, const char *text)
{
    vec_push(&outbox->queue, (struct queued_event){event, mem_strdup(text ? text : "")});
}

void outbox_deliver(struct outbox *outbox, const struct engine_sink *sink)
{
    while (outbox->queue.count > 0) {
        struct outbox now = *outbox;

        *outbox = (struct outbox){0}; /* the sink may cause more */
        vec_each (struct queued_event, q, &now.queue) {
            q->event.text = q->text;
            sink->event(sink->ctx, &q->event);
        }
        outbox_fini(&now);
    }
}

void outbox_fini(struct outbox *outbox)
{
    vec_each (struct queued_event, q, &outbox->queue)
        free(q->text);
    vec_free(&outbox->queue);
}
