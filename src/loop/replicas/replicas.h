/* replicas.h - how many replicas a service should have
 *
 * The demand measured over all replicas decides: more at once, so that the next replica
 * is there before the latency breaks; fewer only after it has been less for a while;
 * none, where the service allows it, when nobody asks; one again when requests come.  A
 * replica that fails is replaced after a pause that doubles with each failure in a row.
 *
 * The daemon and the simulator gather the facts, carry out what is decided and keep the
 * state between two decisions. */
#pragma once

#include "loop/types.h"

/* What is remembered of a service from one decision to the next. */
struct replicas_state {
    double less_since_s;    /* fewer would do; NaN: not so */
    double idle_since_s;    /* nobody asks; NaN: not so */
    double late_s;          /* when a replica was last added for latency; NaN: never */
    double failed_s;        /* when a replica last failed; NaN: never */
    int failures;           /* in a row */
    int running;            /* replicas that had devices at the last decision */
    double running_since_s; /* since when so many; NaN: no decision yet */
};

/* One replica that has not ended. */
struct replica {
    int number;         /* 1: the service's own job */
    bool has_devices;   /* or waits for them */
    double rate;        /* requests/s it can do, as far as is known; NaN: not known */
    double demand;      /* requests/s asked of it; NaN: not measured */
    double demand_at_s; /* when that was measured */
    double latency_s;   /* 99th percentile as measured; NaN: not measured */
};

struct replicas_facts {
    const struct job *share;        /* a replica's job: its share of what was asked for */
    const struct replica *replicas; /* (count) the service's own job is the first */
    int count;
    int max;
    bool scale_to_zero; /* is allowed */
    bool at_zero;       /* it was scaled to zero; the own job waits for requests */
    double asked;       /* requests/s that reach a service at zero; NaN: not known */
    double now_s;
};

struct replicas_decision {
    int wanted;       /* replicas, pending ones included; 0: none, the own job waits */
    char reason[160]; /* empty: all stays as it is */
};

#define REPLICAS_NEW                                                                     \
    ((struct replicas_state){.less_since_s = NAN,                                        \
                             .idle_since_s = NAN,                                        \
                             .late_s = NAN,                                              \
                             .failed_s = NAN,                                            \
                             .running_since_s = NAN})

/* What should be done now; the state is brought up to date. */
struct replicas_decision replicas_decide(struct replicas_state *state,
                                         const struct replicas_facts *facts);

/* A replica of the service has failed. */
void replicas_failed(struct replicas_state *state, double now_s);

/* Requests/s asked of all replicas together; NaN: not measured. */
double replicas_demand(const struct replica *replicas, int count);
/* Replicas that have devices. */
int replicas_running(const struct replica *replicas, int count);

/* The number a new replica gets: the lowest that is free. */
int replicas_free_number(const struct replica *replicas, int count);
/* The index of the replica to end first: the highest number.  -1 when there is none but
 * the service's own job. */
int replicas_last(const struct replica *replicas, int count);
