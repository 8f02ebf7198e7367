/* event_queue.h - the simulated world's future, in order
 *
 * A heap by time; events of the same time come out in the order they were put in, so a
 * run does not depend on how the heap happens to balance.  Probes look last: what they
 * tell is how things are when all else of that moment has happened. */
#ifndef CORGI_ENGINE_SIM_EVENT_QUEUE_H
#define CORGI_ENGINE_SIM_EVENT_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

enum event_kind {
    /* subject: job; the job keeps the stamp of the valid event of each kind */
    EVENT_READY,   /* its node is awake and its checkpoint read */
    EVENT_FINISH,  /* its work is done or its time over */
    EVENT_MEASURE, /* a probe reports */
    EVENT_DEMAND,  /* of a service: look what is asked of it */
    EVENT_SPEED,   /* its environment changes its speed */
    EVENT_OF_JOB,  /* how many kinds a job has */
    /* subject: node */
    EVENT_AWAKE, /* stamp tells a stale one */
    EVENT_NODE_FAILS,
    EVENT_NODE_UP,
    /* no subject */
    EVENT_POWER, /* tell what every device has drawn */
    EVENT_DRIFT, /* rates of all classes move */
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
