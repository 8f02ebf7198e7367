/* quote_score.h - was what a quote said true?
 *
 * The simulator asks for a quote for every request, as the daemon does, and compares:
 * where the job was put with the place that was named, the rate of its first window there
 * with the rate that was expected, its start with the one that was told, what it took
 * there with the energy that was told.  None of it changes the run. */
#pragma once

#include "loop/loop.h"

/* What was quoted to one job, until it is compared. */
struct quote_kept {
    enum quote_verdict verdict;
    int type, device_count;
    int devices[LOOP_MAX_GANG];
    uint64_t neighbour;
    double asked_s, start_s; /* start NaN: not told */
    struct estimate rate;
    double watts_per_rate; /* joules a step, or a request, of each device */
    bool started, at_place, measured;
};

struct quote_score {
    long quotes, accepted, queued, counter, refused, unpromised;
    long started_at_once;    /* of the accepted */
    long at_place;           /* of those, where the quote said */
    long measured, covered;  /* first windows at the quoted place; inside the interval */
    double rate_log_error;   /* sum of |log(measured / quoted)| over them */
    double energy_log_error; /* the same of joules a step, of those alone on a device */
    long energies;
    long starts;          /* queued jobs that started and were told when */
    long starts_unknown;  /* that were not told */
    double start_error_s; /* sum of |start - told| */
    double start_wait_s;  /* sum of their waits */
};

void quote_score_asked(struct quote_score *score, struct quote_kept *kept,
                       const struct quote *quote, double now_s);

/* The job has its first devices. */
void quote_score_started(struct quote_score *score, struct quote_kept *kept,
                         const struct action *action, double now_s);

/* A window of the job was learned from. */
void quote_score_measured(struct quote_score *score, struct quote_kept *kept,
                          const struct loop_observed *seen);
