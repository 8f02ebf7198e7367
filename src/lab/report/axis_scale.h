/* axis_scale.h - numbers to places on a chart, and where its ticks are */
#ifndef CORGI_LAB_REPORT_AXIS_SCALE_H
#define CORGI_LAB_REPORT_AXIS_SCALE_H

#include <stdbool.h>
#include <stddef.h>

#define SCALE_MAX_TICKS 12

struct scale {
    double from, to;       /* numbers; from < to */
    double at_from, at_to; /* their places; the second may be the smaller one */
    bool log;              /* from > 0 then */
};

/* A range without extent gets one, so any two finite numbers will do. */
struct scale scale_linear(double from, double to, double at_from, double at_to);

/* By decades; what is not positive counts as `least`. */
struct scale scale_log(double least, double to, double at_from, double at_to);

/* Never outside the two places: what is beyond the range lies on its edge, NaN at its
 * beginning. */
double scale_at(const struct scale *s, double value);

/* Round numbers within the range, about as many as wanted (powers of ten on a log scale);
 * returns how many.  *digits is how many behind the point tell them apart. */
int scale_ticks(const struct scale *s, int wanted, double ticks[SCALE_MAX_TICKS],
                int *digits);

#endif
