/* curve.h - the learning curve of an evaluation, as SVG
 *
 * Error against observations or arrivals, one line a method, one panel a target. */
#ifndef CORGI_EVAL_CURVE_H
#define CORGI_EVAL_CURVE_H

#include "eval/results.h"

int curve_write(const struct results *results, const char *path, struct err *err);

#endif
