/* slurm.h - an operator's own cluster and jobs, from what Slurm prints
 *
 * Jobs from sacct (slurm_jobs.h); nodes from sinfo or scontrol (slurm_nodes.h), or
 * guessed from how many GPUs were in use at once.  Slurm does not know what a job needs
 * or how fast it is: it is taken to need about the rate it had where it ran, and the
 * notes say all that was assumed. */
#pragma once

#include "base/str.h"
#include "lab/traces/slurm_jobs.h"

struct slurm_options {
    const char *jobs;       /* file */
    const char *jobs_named; /* what it is called in notes; NULL: by its path */
    const char *nodes;      /* file; NULL: guessed */
    const char *names;      /* of GPU types, see slurm_nodes.h; NULL: none */
    bool any_type;          /* a type a user asked for is a wish, no condition */
    double since_s; /* only jobs that ended in so many last seconds of the list; 0: all
                     */
};

struct slurm {
    struct arrivals arrivals;
    struct slurm_jobs jobs; /* as they were read; the arrivals' records */
    double first_s;         /* Slurm's time of the first arrival */
    struct cluster *cluster;
    struct str notes; /* of the jobs: sentences, each ends with a newline */
    struct str cluster_notes;
};

/* *slurm is filled or untouched; err names file, line and what to do. */
int slurm_load(struct slurm *slurm, const struct slurm_options *options, struct err *err);
void slurm_fini(struct slurm *slurm);

/* The same from what is read already, without a copy of the jobs: jobs and nodes (NULL:
 * none) are left as they are but for types nobody told, which become the fastest of the
 * cluster. */
int slurm_build(struct slurm *slurm, struct slurm_jobs *jobs,
                const struct slurm_nodes *nodes, const struct slurm_options *options,
                struct err *err);

/* What was found and assumed, without the cluster's part when it is not used; returns
 * out's text. */
const char *slurm_notes(const struct slurm *slurm, bool other_cluster, struct str *out);
