/* reference_place.h - what the same work would have taken in the reference placement
 *
 * In the reference placement every job runs alone and without a power limit on the
 * fastest type that is free when it comes; where none is free it waits for the first that
 * is.  Who sits where there is followed beside the real cluster, with what is believed of
 * rates: Corgi keeps devices free that the reference placement would have filled.
 * docs/decisions/saved-energy.md tells why it is this and not something else. */
#pragma once

#include "loop/estimate/lengths.h"
#include "loop/job_table.h"
#include "model/model.h"

/* Gives a job that comes its type in the reference placement. */
void reference_place(const struct cluster *cluster, const struct model *model,
                     const struct lengths *lengths, struct jobs *jobs,
                     struct job_status *status, double now_s);

/* What a job has done so far. */
struct reference_work {
    double steps;   /* training */
    double seconds; /* a service: as long as it ran, wherever */
    double demand;  /* and the requests/s it was asked for, in the mean */
};

/* Joules, with half a 90 % interval.  NaN: not known. */
struct reference_energy {
    double joules, error;
};

/* What the devices of the job would have taken there for this work, as is believed now.
 * Not known while it rests on a first guess, or while the interval reaches down to
 * nothing. */
struct reference_energy reference_energy(const struct cluster *cluster,
                                         const struct model *model,
                                         const struct job_status *status,
                                         const struct reference_work *work);
