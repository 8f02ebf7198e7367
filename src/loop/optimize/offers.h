/* offers.h - what would make a job possible that the plan leaves out
 *
 * Never a silent no: the rate it could have now, the time after which it could have what
 * it asked, the number of devices it could have now. */
#ifndef CORGI_LOOP_OPTIMIZE_OFFERS_H
#define CORGI_LOOP_OPTIMIZE_OFFERS_H

#include "loop/optimize/problem.h"

enum offer_reason {
    OFFER_HELD,     /* its owner's quota is used up */
    OFFER_RATE,     /* no device of this cluster would meet its need, even alone */
    OFFER_CAPACITY, /* some would, but all are taken */
};

struct offer {
    int job;
    enum offer_reason reason;
    double rate;      /* the best it could have right now; 0: nothing is free */
    int rate_type;    /* where; -1 */
    int rate_beside;  /* job it would share with; -1: alone */
    double most_rate; /* the best it could ever have here, alone */
    int devices;      /* free now on which its need would be met, of those it asked for */
    double wait_s;    /* until enough such devices are free; INFINITY: not known */
};

/* An offer for each job without a place, in the order of the problem; at most `most`.
 * ends_s (jobs, may be NULL): seconds until each job is done, INFINITY where not known.
 * Returns how many. */
int offers_make(const struct problem *p, const struct solution *s, const double *ends_s,
                struct offer *offers, int most);

#endif
