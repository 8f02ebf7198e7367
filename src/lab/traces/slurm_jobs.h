/* slurm_jobs.h - the jobs a Slurm cluster has run, from `sacct -P`
 *
 * Needed columns: JobID, Submit, AllocTRES, and Elapsed, ElapsedRaw or Start and End.
 * Used if there: Eligible, Start, ReqTRES, NNodes, NodeList, State, User, JobName,
 * Partition, AdminComment (counters of probe/jobstats.h), ConsumedEnergyRaw.  A daemon's
 * record has GpuUse, UnusedGpus, Rate, Need and Watts beside them
 * (corgi/slurm_export.h).  Others are passed over. */
#pragma once

#include "base/intern.h"
#include "lab/traces/arrivals.h"
#include "lab/traces/slurm_nodes.h"

struct slurm_job {
    struct arrival arrival; /* ran_on is "" when the type is not told; its time is as
                               Slurm tells it */
    double start_s;
    char *hosts;        /* NodeList: where it ran; "": not told */
    double gpu_use;     /* mean of its GPUs, 0..1, by jobstats; NaN: not told */
    double gpu_gb;      /* held on the GPU that held most, likewise */
    double consumed_j;  /* what Slurm itself has metered; NaN: not told */
    double rate;        /* steps/s it was measured to do; NaN: not told */
    int unused_gpus;    /* of its GPUs, by jobstats: never used */
    bool still_running; /* it may go on for longer than is told */
};

struct slurm_jobs {
    size_t count;
    struct slurm_job *jobs; /* in the order of the file */
    struct intern *users;   /* their names, by arrival.owner */
    /* How many were not taken, and why. */
    size_t without_gpus, never_ran, steps;
    size_t before; /* see slurm_jobs_since() */
    /* Of those taken, */
    size_t still_running; /* that may go on for longer than is told */
    size_t shards;        /* that had a part of a GPU */
    size_t type_asked;    /* whose user named a type */
    size_t bound;         /* whose partition's nodes are told */
    size_t type_unknown;
    size_t counted;         /* with counters of jobstats */
    size_t counted_short;   /* too short for them, by its own word */
    size_t counted_damaged; /* whose counters cannot be read */
    size_t metered;         /* with energy of Slurm's own */
    size_t measured;        /* with the rate they had, */
    size_t needs_told;      /* and with what they need */
    size_t drew;            /* with what their GPUs drew */
    bool named;             /* there are names of jobs */
};

/* *jobs is filled or untouched; err names file and line.  nodes (NULL: none) tell the
 * type of GPUs where the job's record does not; names as in slurm_nodes.h. */
int slurm_jobs_load(struct slurm_jobs *jobs, const char *path,
                    const struct slurm_nodes *nodes, const char *names, struct err *err);

/* Keep those that ended in the last so many seconds before the last end; 0: all. */
void slurm_jobs_since(struct slurm_jobs *jobs, double since_s);
void slurm_jobs_fini(struct slurm_jobs *jobs);
