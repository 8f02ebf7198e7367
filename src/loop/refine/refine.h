/* refine.h - the stage that corrects beliefs by what was seen
 *
 * Before the model absorbs an observation its own prediction is scored: the loop knows at
 * any time how good its estimates are, and whether its 90 % intervals hold. */
#pragma once

#include "loop/types.h"
#include "model/model.h"

struct refine_score {
    long observations;
    double abs_log_error; /* running mean of |log(observed / predicted)|, recent weigh
                             more */
    double coverage;      /* share of observations inside the 90 % interval, likewise */
    long first_sights;    /* predictions of cells never measured */
    double first_abs_log_error; /* running mean over those alone */
    double first_newest;        /* |log(observed / predicted)| of the newest of those */
};

/* Does the window say what a prediction can be held against?  What a service can do is
 * inferred: a guess says nothing of another guess. */
bool refine_is_measured(const struct observation *seen);

/* Score what the model expects of an observation it has yet to absorb: *expected is its
 * prediction; returned is |log(observed / predicted)| of the rate. */
double refine_note(struct model *model, const struct observation *seen,
                   struct refine_score *score, struct prediction *expected);
