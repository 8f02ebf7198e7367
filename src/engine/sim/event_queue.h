/* event_queue.h - the simulated world's future, in order
 *
 * A heap by time.  Events of one time come out by kind and subject, so that what happens
 * does not depend on the order in which it was asked for.  Probes look last: what they
 * tell is how things are when all else of that moment has happened. */
#ifndef CORGI_ENGINE_SIM_EVENT_QUEUE_H
#define CORGI_ENGINE_SIM_EVENT_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

enum event_kind {
    EVENT_NODE_FAILS, /* subject of the first three: node */
    EVENT_NODE_UP,
    EVENT_AWAKE,   /* stamp tells a stale one */
    EVENT_DRIFT,   /* rates of all classes move */
    EVENT_FINISH,  /* subject from here on: job.  Its work is done or its time over */
    EVENT_READY,   /* its node is awake and its checkpoint read */
    EVENT_SPEED,   /* its environment changes its speed */
    EVENT_DEMAND,  /* of a service: look what is asked of it */
    EVENT_MEASURE, /* a probe reports */
    EVENT_POWER,   /* no subject: tell what every device has drawn */
    EVENT_KINDS,
};

struct event {
    double at_s;
    uint64_t sequence; /* filled by events_push */
    enum event_kind kind;
    uint64_t subject;
    uint64_t stamp;
};

struct events;

struct events *events_create(void);
void events_destroy(struct events *events); /* NULL is fine */
void events_push(struct events *events, struct event event);
bool events_pop(struct events *events, struct event *event); /* false: none left */
bool events_peek(const struct events *events, struct event *event);

#endif
