/* explain.h - why here: the best other places of a job and what they would cost
 *
 * Everybody else stays where the plan has them; the job alone goes elsewhere.  For the
 * ledger and `corgi why`. */
#ifndef CORGI_LOOP_OPTIMIZE_EXPLAIN_H
#define CORGI_LOOP_OPTIMIZE_EXPLAIN_H

#include "loop/optimize/arena.h"
#include "loop/optimize/problem.h"

enum explain_verdict {
    EXPLAIN_POSSIBLE,
    EXPLAIN_TAKEN,    /* it would do, but no device of the type is free */
    EXPLAIN_TOO_SLOW, /* a need would not be met: the job's or the other's */
};

struct explain_option {
    int type;
    int other;         /* job it would share with; -1: alone */
    double more_watts; /* cost over the plan's; meaningless when too slow */
    enum explain_verdict verdict;
};

/* Other places of a job on one device, possible ones first, cheapest first; at most
 * `most`.  Returns how many; 0 for gangs. */
int explain_job(const struct problem *p, struct arena *arena, const struct solution *s,
                int job, struct explain_option *options, int most);

#endif
