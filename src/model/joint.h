/* joint.h - what a core believes of several cells together, and after some were measured
 *
 * Playing the same game many times (pairs_game.h) costs little this way: the core is
 * asked once, then only the few cells are conditioned on those shown. */
#pragma once

#include "model/gp.h"

struct joint {
    size_t count;
    double *mean; /* (count) of new measurements */
    double *cov;  /* (count, count) */
};

void joint_fini(struct joint *joint);

/* Of cells that were not observed. */
void joint_of_cells(struct joint *joint, const struct gp *gp, const struct cell *cells,
                    size_t count);

/* Mean and variance (count) once some entries have these values. */
void joint_condition(const struct joint *joint, const size_t *seen, const double *values,
                     size_t seen_count, double *mean, double *var);
