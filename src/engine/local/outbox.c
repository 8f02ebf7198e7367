/* outbox.c - see outbox.h */
#include "engine/local/outbox.h"

#include "base/clock.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

struct engine_event outbox_blank(enum engine_event_kind kind)
{
    return (struct engine_event){
        .kind = kind,
        .at_s = clock_epoch_s(),
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
    struct queued_event queued = {.event = event, .text = mem_strdup(text ? text : "")};

    if (event.share_count > 0)
        queued.shares =
            mem_dup(event.shares, (size_t)event.share_count, sizeof(*event.shares));
    vec_push(&outbox->queue, queued);
}

void outbox_deliver(struct outbox *outbox, const struct engine_sink *sink)
{
    while (outbox->queue.count > 0) {
        struct outbox now = *outbox;

        *outbox = (struct outbox){0}; /* the sink may cause more */
        vec_each (struct queued_event, q, &now.queue) {
            q->event.text = q->text;
            q->event.shares = q->shares;
            sink->event(sink->ctx, &q->event);
        }
        outbox_fini(&now);
    }
}

void outbox_fini(struct outbox *outbox)
{
    vec_each (struct queued_event, q, &outbox->queue) {
        free(q->text);
        free(q->shares);
    }
    vec_free(&outbox->queue);
}
