/* drift.c - see drift.h */
#include "loop/refine/drift.h"

#include <math.h>

/* A window further off than this, in the log, is odd: twice the noise one expects. */
#define ODD_LOG 0.12

/* Odd windows in a row on one side that make a change. */
#define ODD_RUN 2

/* The memory: a window's weight never falls below one over this. */
#define MEMORY 8.0

static void absorb(struct drift *d, double value)
{
    d->times = fmin(d->times + 1, MEMORY);
    d->mean += (value - d->mean) / d->times;
}

bool drift_push(struct drift *d, double value)
{
    double off = value - d->mean;

    if (d->times <= 0 || fabs(off) <= ODD_LOG) {
        d->odd = 0;
        d->odd_count = 0;
        absorb(d, value);
        return false;
    }
    if (d->odd_count > 0 && (d->odd / d->odd_count - d->mean) * off < 0) {
        d->odd = 0;
        d->odd_count = 0;
    }
    d->odd += value;
    d->odd_count++;
    if (d->odd_count < ODD_RUN) {
        absorb(d, d->mean + copysign(ODD_LOG, off));
        return false;
    }
    *d = (struct drift){.mean = d->odd / d->odd_count, .times = d->odd_count};
    return true;
}

void drift_shift(struct drift *d, double by)
{
    d->mean += by;
    d->odd += d->odd_count * by;
}
