/* slurm_detach.h - giving Slurm its jobs back
 *
 * Speaks with Slurm through the helper alone: no daemon has to run, and one that runs
 * sees that the jobs are not its own any more. */
#pragma once

#include "base/err.h"

#include <stdbool.h>

struct slurm_detach {
    const char *helper;   /* a program, or unix:PATH */
    const char *settings; /* file of job_submit_corgi; it is put aside */
    bool dry_run;         /* only say what would be done */
};

/* Prints a line for each job.  Returns how many are Slurm's again, or would be; -1: it
 * could not be finished, and err says why. */
int slurm_detach_run(const struct slurm_detach *how, struct err *err);
