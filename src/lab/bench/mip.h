/* mip.h - integer programs, for the reference solvers
 *
 * The one door to the MIP library; the program is built with loop/optimize/lp.h. */
#pragma once

#include "lab/solver/lp.h"

struct mip_result {
    bool proven; /* optimal within the gap asked for */
    bool found;  /* values hold an integer solution */
    double objective;
    double bound;
};

/* integer (columns); values (columns) is filled when a solution was found.  With a plan
 * that is known already no time goes into looking for a first one: with its heuristics
 * the library also ends the process on some of our small programs. */
struct mip_result mip_solve(const struct lp *lp, const bool *integer, double limit_s,
                            double gap, bool plan_known, double *values);
