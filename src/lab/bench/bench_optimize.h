/* bench_optimize.h - `corgi bench optimize`: how fast and how near
 *
 * Draws instances, runs the optimizer and, if asked, the reference solvers on the same
 * ones, and prints processor time, cost, bound and gap; with churn also the time of
 * single events.  JSON: {"runs": [...], "growth": {...}, "churn": [...]}; with small the
 * share of small instances near their optimum, see bench_small.h. */
#pragma once

#include "lab/bench/bench_run.h"

#include <stdio.h>

/* 0, or -1 with a sentence: a file that cannot be read, a solver nobody knows, a plan the
 * checker refuses. */
int bench_optimize_main(const struct bench_optimize_options *options, FILE *out,
                        struct err *err);
