/* curve.h - the learning curve of an evaluation, as SVG
 *
 * Error against observations or arrivals, one line a method, one panel a target. */
#ifndef CORGI_LAB_EVAL_CURVE_H
#define CORGI_LAB_EVAL_CURVE_H

#include "lab/eval/eval_results.h"

int curve_write(const struct results *results, const char *path, struct err *err);

#endif
