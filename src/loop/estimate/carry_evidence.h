/* carry_evidence.h - how much the network of rates alone is worth here
 *
 * Whenever a rate that had been carried over is measured, each weight is charged with the
 * error it would have made.  The one with the least is taken, held back towards the
 * shipped one. */
#ifndef CORGI_LOOP_ESTIMATE_CARRY_EVIDENCE_H
#define CORGI_LOOP_ESTIMATE_CARRY_EVIDENCE_H

#include "loop/estimate/rates.h"

enum { CARRY_STEPS = 11 }; /* weights 0, 0.1 .. 1 */

struct carry_evidence {
    double error[CARRY_STEPS]; /* sums of relative errors */
    double count;
    double groups; /* what belongs together errs together: so many told of it */
};

/* What was said of a cell before it was measured; fresh: the first of its group (a job,
 * or a family where whole families are held out). */
void carry_evidence_add(struct carry_evidence *evidence, const struct rates_guess *said,
                        double truth, bool fresh);

double carry_evidence_weight(const struct carry_evidence *evidence);

#endif
