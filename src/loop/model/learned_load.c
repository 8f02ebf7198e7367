/* learned_load.c - neighbours that work part of the time, see learned.h
 *
 * A service that is asked for half of what it can do leaves its neighbours alone half of
 * the time.  So what is kept of two classes is the speed beside who works all the time,
 * and a service's watts are those at full load; demands come in when they are asked for.
 */
#include "loop/model/learned_state.h"

#include <math.h>

/* Slower or faster than this beside another is noise. */
#define FULL_MIN 0.02
#define FULL_MAX 1.25

double learned_at_work(double demand, double rate)
{
    return demand > 0 ? fmin(1, demand / fmax(rate, 1e-12)) : 1;
}

double learned_relative_at(double full, double busy)
{
    return log(1 - (1 - exp(full)) * busy);
}

double learned_relative_full(double at, double busy, double *gain)
{
    double speed = exp(at), full = 1 - (1 - speed) / busy;

    full = fmin(fmax(full, FULL_MIN), FULL_MAX);
    *gain = fmax(speed / (full * busy), 1);
    return log(full);
}

/* What the member can do there at most, everybody at work. */
static double least_rate(struct learned *l, const struct learned_member *m)
{
    return exp(learned_own_rate(l, m) + learned_beside_busy(l, m).mean);
}

double learned_eased(struct learned *l, const struct learned_member *m,
                     const struct own_place *place)
{
    struct learned_member then = *m;

    if (m->neighbours == 0)
        return 0;
    for (int i = 0; i < m->neighbours; i++)
        then.busy[i] = place->busy[i];
    return learned_beside(l, m).mean - learned_beside(l, &then).mean;
}

void learned_fill_busy(struct learned *l, struct learned_member *members, int count)
{
    double load[LOOP_MAX_SHARE];

    for (int k = 0; k < count; k++)
        load[k] = members[k].demand > 0 && count > 1
                      ? learned_at_work(members[k].demand, least_rate(l, &members[k]))
                      : 1;
    for (int i = 0; i < count; i++)
        for (int k = 0; k < members[i].neighbours; k++)
            members[i].busy[k] = load[members[i].who[k]];
}
