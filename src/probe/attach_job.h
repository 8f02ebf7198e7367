/* attach_job.h - measure a job that somebody else has started, and end with it
 *
 * For jobs of Slurm that are not wrapped: a TaskProlog starts `corgi-probe --attach`
 * before the job's first process.  It leaves a process behind that hears the job's
 * heartbeats, sees how busy it is and what its GPUs draw, and is gone when the last
 * process of the job is. */
#pragma once

#include "base/err.h"
#include "probe/job_meter.h"
#include "probe/sender.h"

struct attach_options {
    struct job_meter_options meter; /* marker and dir are set here */
    struct sender_options report;
    const char *slurm_job; /* SLURM_JOB_ID of the processes to measure */
};

/* 0 when it is under way, or another one measures the job here already: the job's
 * environment is on stdout, as a TaskProlog prints it.  -1: nothing was left behind. */
int attach_job(const struct attach_options *options, struct err *err);
