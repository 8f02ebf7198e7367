/* rates_evidence.c - what the network that carries rates over is worth here: classes.c
 * tells of each cell that had been carried over and is measured now */
#include "model/rates.h"

#include <math.h>

/* The network's share of a rate carried over while nothing speaks for another: the best
 * on synthetic worlds with families held out. */
#define NET_WEIGHT 0.5

/* One guess that is off by orders of magnitude must not decide. */
#define ERROR_MAX 2.0

/* What it costs to move all of the weight, in relative error: as in blend.c. */
#define WEIGHT_COST 0.02

/* The shipped weight counts as so many groups. */
#define PRIOR_GROUPS 10.0

static double weight_at(int step)
{
    return (double)step / (RATES_STEPS - 1);
}

void rates_evidence_add(struct rates_evidence *e, const struct rates_guess *said,
                        double truth, bool fresh)
{
    for (int i = 0; i < RATES_STEPS; i++) {
        struct rates_guess g = *said;

        rates_mix(&g, weight_at(i));
        e->error[i] += fmin(fabs(expm1(g.mean - truth)), ERROR_MAX);
    }
    e->count++;
    e->groups += fresh;
}

double rates_evidence_weight(const struct rates_evidence *e)
{
    double least = INFINITY, best = NET_WEIGHT;

    if (e->count <= 0 || e->groups <= 0)
        return best;
    for (int i = 0; i < RATES_STEPS; i++) {
        double moved = fabs(weight_at(i) - NET_WEIGHT);
        double loss =
            e->error[i] / e->count + WEIGHT_COST * moved * (1 + PRIOR_GROUPS / e->groups);

        if (loss < least) {
            least = loss;
            best = weight_at(i);
        }
    }
    return best;
}

void rates_learn_weight(struct rates *r, int job, int gpu, double log_rate)
{
    struct rates_guess said = rates_predict(r, job, gpu);

    if (!said.corrected)
        return;
    rates_evidence_add(&r->evidence, &said, log_rate, said.basis == RATES_ONE);
    r->weight = rates_evidence_weight(&r->evidence);
}
