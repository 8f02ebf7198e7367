/* event_queue.h - the simulator's future, in order
 *
 * A heap by time; events of the same time come out in the order they were put in, so a
 * run does not depend on how the heap happens to balance. */
#ifndef CORGI_LAB_SIM_EVENT_QUEUE_H
#define CORGI_LAB_SIM_EVENT_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

enum event_kind {
    EVENT_ARRIVAL,     /* subject: request */
    EVENT_READY,       /* subject: request; its pause is over */
    EVENT_FINISH,      /* subject: request; stamp tells a stale one */
    EVENT_AWAKE,       /* subject: node */
    EVENT_NODE_FAILS,  /* subject: node */
    EVENT_NODE_REPAIR, /* subject: node */
    EVENT_TICK,        /* demand moves, probes report */
    EVENT_ROUND,       /* the loop's timer */
};

struct event {
    double at_s;
    uint64_t sequence; /* filled by events_push */
    enum event_kind kind;
    int subject;
    unsigned stamp;
};

struct events;

struct events *events_create(void);
void events_destroy(struct events *events); /* NULL is fine */
void events_push(struct events *events, struct event event);
bool events_pop(struct events *events, struct event *event); /* false: none left */
bool events_peek(const struct events *events, struct event *event);

#endif
