/* slurm_export.h - the daemon's record of a watched cluster, as sacct and sinfo print it
 *
 * Columns of sacct.txt that are ours: GpuUse, UnusedGpus and GpuMemoryGb, what jobstats
 * counted; Rate and Need, steps/s as measured and as asked for; Watts, what each of its
 * GPUs drew.  ConsumedEnergyRaw is what exporters or probes metered of a job's GPUs.  Of
 * sinfo.txt: HOST_WATTS, what the machine draws without its GPUs. */
#pragma once

#include "base/command.h"

#define SLURM_EXPORT_JOBS  "sacct.txt"
#define SLURM_EXPORT_NODES "sinfo.txt"

/* Both files, in a folder that is made if need be, of jobs that were submitted so many
 * seconds ago at most (0: of all).  Returns the exit status after saying what is wrong,
 * else 0. */
int slurm_export_write(const struct command_call *call, double since_s,
                       const char *folder, size_t *written);
