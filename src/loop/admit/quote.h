/* quote.h - the stage that answers a request: what can be promised, where, from when on
 *
 * The planner is asked where it would put the job now; what the model says of that place
 * is the quote, at the confidence the planner itself works with.  A request that can
 * never run is refused with the reason, one that by measurements of its kind no type of
 * GPU keeps gets a counter-offer.  Of a kind that is not known yet nothing is promised:
 * the job is taken, runs, and when it was measured for a minute it gets its promise or an
 * offer (quote_settle).  Asking changes nothing: neither the model nor what is planned
 * next. */
#pragma once

#include "base/err.h"
#include "loop/admit/user_quotas.h"
#include "loop/planner.h"

enum quote_verdict {
    QUOTE_ACCEPTED,   /* has a place now */
    QUOTE_QUEUED,     /* can be kept, but not yet: it waits */
    QUOTE_COUNTER,    /* cannot be kept on any type; promised_rate is what can */
    QUOTE_REFUSED,    /* it can never run here */
    QUOTE_UNPROMISED, /* taken, not promised yet: nobody knows */
};

#define QUOTE_MAX_OFFERS 4

/* Ids of jobs that are only asked about have this bit: no job ever has. */
#define QUOTE_ASKED (1ull << 63)

struct quote_offer {
    const char *kind; /* lower_rate, later, other_gpus */
    char text[160];
    double rate, start_s; /* NaN: not part of it */
    int gpus;             /* 0: likewise */
    int type;             /* -1: likewise */
};

struct quote {
    enum quote_verdict verdict;
    char reason[208];
    int replicas;         /* of a service: that share the rate */
    double needed;        /* rate asked for, now */
    double promised_rate; /* NaN: none */
    double confidence;    /* of the promise: the one the planner places with */
    double chance; /* that some type keeps what is needed, as believed; NaN: no need */
    struct estimate rate, watts;            /* watts of its share of each device */
    double joules, joules_low, joules_high; /* NaN: length not known */
    double joules_per_step;
    int type;                   /* -1: none */
    int node;                   /* -1: none */
    uint64_t neighbour;         /* 0: alone */
    int device_count;           /* 0: no place now */
    int devices[LOOP_MAX_GANG]; /* where the planner would put it */
    double start_s, end_s;      /* NaN: not known */
    int offer_count;
    struct quote_offer offers[QUOTE_MAX_OFFERS];
};

/* What a quote is made of. */
struct quote_ground {
    struct optimize_input now;
    const struct job_status **jobs; /* now.jobs, with room for one more behind them, */
    struct job_stamp *stamps;       /* and so now.stamps; NULL: there are none */
    const struct planner *planner;
    const struct plan_terms *terms; /* as of the last plan */
};

/* -1 for a job that is not well formed (admit_check.h), and for one that its user may not
 * have (quota NULL: that is not asked).  A service may be split into as few equal shares
 * as can be promised, max_replicas at most. */
int quote_make(const struct quote_ground *ground, const struct job *job, int max_replicas,
               const struct user_quota_ask *quota, struct quote *quote, struct err *err);

/* A job without a promise is measured this long before it is settled. */
#define QUOTE_SETTLE_S 60.0

/* A place with less of a chance to keep the requirement is not tried for it. */
#define QUOTE_CHANCE_LEAST 0.1

/* The job runs and was measured where it is.  True: *quote is its promise
 * (QUOTE_ACCEPTED), or what can be had when no type gives what it needs (QUOTE_COUNTER).
 * False: it may still have a better place.  ground->jobs may be NULL. */
bool quote_settle(const struct quote_ground *ground, const struct job_status *status,
                  struct quote *quote);
