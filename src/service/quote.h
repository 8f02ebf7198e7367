/* quote.h - what could be promised of a job now: rate, energy, start, place, neighbour
 *
 * Asks the model and looks at what is free; changes nothing.  The answer is an
 * expectation save for the rate, which is the promise. */
#ifndef CORGI_SERVICE_QUOTE_H
#define CORGI_SERVICE_QUOTE_H

#include "service/service_private.h"

enum quote_verdict { QUOTE_ACCEPTED, QUOTE_QUEUED, QUOTE_COUNTER, QUOTE_REFUSED };

#define QUOTE_MAX_OFFERS 4

struct quote_offer {
    const char *kind; /* lower_rate, later, other_gpus */
    char text[160];
    double rate, start_s, joules; /* NaN: not part of it */
    int gpus;                     /* 0: likewise */
    int type;                     /* -1: likewise */
};

struct quote {
    enum quote_verdict verdict;
    char reason[208];
    int replicas;         /* of a service: that share the rate */
    double needed;        /* rate asked for, now */
    double promised_rate; /* NaN: none */
    double confidence;
    struct estimate rate, watts;            /* watts of its share of each device */
    double joules, joules_low, joules_high; /* NaN: length not known */
    double joules_per_step;
    int type;              /* -1: none */
    int node;              /* -1: none */
    uint64_t neighbour;    /* 0: alone */
    double start_s, end_s; /* NaN: not known */
    int offer_count;
    struct quote_offer offers[QUOTE_MAX_OFFERS];
};

/* The job must have passed admit_check(); its id may be 0. */
void quote_make(struct service *s, const struct job *job, struct quote *q);

/* A service with several replicas: split into as few shares as can be promised. */
void quote_service(struct service *s, const struct job *job, int max_replicas,
                   struct quote *q);

void quote_json(struct json_out *out, const struct service *s, const struct quote *q);
const char *quote_verdict_name(enum quote_verdict verdict);

#endif
