/* reference.h - other ways to solve the same problem, to compare with and to test against
 *
 *   brute    every assignment, for a handful of jobs
 *   cbc      an integer count per (type, job or pair), exactly one place a job, on CBC
 *   exact    the same with only the columns that duals and a known plan do not rule out
 *   paper    a binary per (device, job or pair) with rows of raw throughput, on CBC
 *   colgen   column generation to the LP optimum on CLP, rounded and repaired
 *   gavel    the packed max-min fairness LP of Gavel on CLP: another objective, the same
 *            jobs; for its time only
 *
 * All take jobs on one device and devices that are only counted. */
#pragma once

#include "base/err.h"
#include "lab/solver/problem.h"

struct reference_result {
    bool proven;      /* solved to the end within the time */
    bool has_plan;    /* out holds a plan that can be checked */
    double objective; /* NaN: none */
    double bound;     /* NaN: none */
};

/* ERR_UNSUPPORTED for problems these forms cannot say, ERR_NOT_FOUND for another name. */
int reference_run(const char *name, const struct problem *p, double limit_s,
                  struct solution *out, struct reference_result *result, struct err *err);

const char *const *reference_names(int *count);
