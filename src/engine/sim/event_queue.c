/* event_queue.c - a binary heap of what will happen; sim_world.c puts events in and takes
 * the next one out */
#include "engine/sim/event_queue.h"

#include "base/vec.h"

#include <assert.h>
#include <math.h>

struct events {
    vec_of(struct event) heap;
    uint64_t next_sequence;
};

struct events *events_create(void)
{
    return mem_new(struct events);
}

void events_destroy(struct events *events)
{
    if (!events)
        return;
    vec_free(&events->heap);
    free(events);
}

static bool before(const struct event *a, const struct event *b)
{
    if (a->at_s != b->at_s)
        return a->at_s < b->at_s;
    if (a->kind != b->kind)
        return a->kind < b->kind;
    if (a->subject != b->subject)
        return a->subject < b->subject;
    return a->sequence < b->sequence;
}

static void swap(struct event *a, struct event *b)
{
    struct event t = *a;

    *a = *b;
    *b = t;
}

void events_push(struct events *events, struct event event)
{
    size_t i = events->heap.count;

    assert(isfinite(event.at_s));
    event.sequence = events->next_sequence++;
    vec_push(&events->heap, event);
    while (i > 0 && before(&events->heap.items[i], &events->heap.items[(i - 1) / 2])) {
        swap(&events->heap.items[i], &events->heap.items[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
}

bool events_peek(const struct events *events, struct event *event)
{
    if (events->heap.count == 0)
        return false;
    *event = events->heap.items[0];
    return true;
}

bool events_pop(struct events *events, struct event *event)
{
    struct event *heap = events->heap.items;
    size_t count, i = 0;

    if (!events_peek(events, event))
        return false;
    count = --events->heap.count;
    heap[0] = heap[count];
    for (;;) {
        size_t least = i, left = 2 * i + 1, right = left + 1;

        if (left < count && before(&heap[left], &heap[least]))
            least = left;
        if (right < count && before(&heap[right], &heap[least]))
            least = right;
        if (least == i)
            return true;
        swap(&heap[i], &heap[least]);
        i = least;
    }
}
