/* slurm_jobs.h - the jobs a Slurm cluster has run, from `sacct -P`
 *
 * Needed columns: JobID, Submit, AllocTRES, and Elapsed, ElapsedRaw or Start and End.
 * Used if there: Eligible, Start, ReqTRES, NNodes, NodeList, State, User, JobName.
 * Others are passed over. */
#pragma once

#include "lab/traces/arrivals.h"
#include "lab/traces/slurm_nodes.h"

struct slurm_job {
    struct arrival arrival; /* ran_on is "" when the type is not told */
    double start_s;
};

struct slurm_jobs {
    size_t count;
    struct slurm_job *jobs; /* in the order of the file */
    /* How many were not taken, and why. */
    size_t without_gpus, never_ran, steps;
    /* Of those taken, */
    size_t still_running; /* that may go on for longer than is told */
    size_t shards;        /* that had a part of a GPU */
    size_t type_asked;    /* whose user named a type */
    size_t type_unknown;
    bool named; /* there are names of jobs */
};

/* *jobs is filled or untouched; err names file and line.  nodes (NULL: none) tell the
 * type of GPUs where the job's record does not; names as in slurm_nodes.h. */
int slurm_jobs_load(struct slurm_jobs *jobs, const char *path,
                    const struct slurm_nodes *nodes, const char *names, struct err *err);
void slurm_jobs_fini(struct slurm_jobs *jobs);
