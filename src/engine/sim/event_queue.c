/* event_queue.c - the simulated world's future, in order: a heap by time; sim_world.c
 * puts events in and takes the next one out
 *
 * Events of one time come out by kind and subject, so that what happens does not depend
 * on the order in which it was asked for.  Probes look last: what they tell is how things
 * are when all else of that moment has happened. */
#include "engine/sim/sim_engine_private.h"

#include <assert.h>
#include <math.h>

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

bool events_pop(struct events *events, struct event *event)
{
    struct event *heap = events->heap.items;
    size_t count, i = 0;

    if (events->heap.count == 0)
        return false;
    *event = heap[0];
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
