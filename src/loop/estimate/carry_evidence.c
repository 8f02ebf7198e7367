/* carry_evidence.c - see carry_evidence.h */
#include "loop/estimate/carry_evidence.h"

#include "loop/estimate/carry.h"

#include <math.h>

/* One guess that is off by orders of magnitude must not decide. */
#define ERROR_MAX 2.0

/* What it costs to move all of the weight, in relative error: as in refine/blend.c. */
#define WEIGHT_COST 0.02

/* The shipped weight counts as so many groups. */
#define PRIOR_GROUPS 10.0

static double weight_at(int step)
{
    return (double)step / (CARRY_STEPS - 1);
}

void carry_evidence_add(struct carry_evidence *e, const struct rates_guess *said,
                        double truth, bool fresh)
{
    for (int i = 0; i < CARRY_STEPS; i++) {
        struct rates_guess g = *said;

        rates_mix(&g, weight_at(i));
        e->error[i] += fmin(fabs(expm1(g.mean - truth)), ERROR_MAX);
    }
    e->count++;
    e->groups += fresh;
}

double carry_evidence_weight(const struct carry_evidence *e)
{
    double least = INFINITY, best = CARRY_WEIGHT;

    if (e->count <= 0 || e->groups <= 0)
        return best;
    for (int i = 0; i < CARRY_STEPS; i++) {
        double moved = fabs(weight_at(i) - CARRY_WEIGHT);
        double loss =
            e->error[i] / e->count + WEIGHT_COST * moved * (1 + PRIOR_GROUPS / e->groups);

        if (loss < least) {
            least = loss;
            best = weight_at(i);
        }
    }
    return best;
}
