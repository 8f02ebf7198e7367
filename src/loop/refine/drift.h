/* drift.h - the value of one cell as measurements come in, and whether it has changed
 *
 * Every measurement is a window; old ones lose weight.  A sudden change (driver update,
 * throttling) shows as two windows in a row far off on the same side: then the past is
 * dropped and the new level learned at once.  One odd window alone moves little. */
#ifndef CORGI_LOOP_REFINE_DRIFT_H
#define CORGI_LOOP_REFINE_DRIFT_H

#include <stdbool.h>

struct drift {
    double mean;  /* of the log value */
    double times; /* windows behind it, fading */
    double odd;   /* sum of windows in a row that were far off */
    int odd_count;
};

/* Take a window; true when a sudden change was found and the past dropped. */
bool drift_push(struct drift *drift, double value);

/* All windows so far were taken under other circumstances: they would have been this much
 * higher. */
void drift_shift(struct drift *drift, double by);

#endif
