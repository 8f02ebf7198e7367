/* run_job.h - run a command, hand its output on, measure and report it, end as it did */
#pragma once

#include "base/err.h"
#include "probe/job_meter.h"
#include "probe/sender.h"

#include <stdbool.h>

struct run_job_options {
    struct job_meter_options meter; /* dir is for pid and status, too */
    struct sender_options report;
    const char *output;
    double output_bytes; /* most of it on disk; 0: no limit */
    double grace_s;
    int environment_fd; /* the job's environment, see job_environment.h; -1: ours */
    char *const *argv;
};

/* The exit status to end with: the job's, or 128 and its signal; 126 or 127 when it could
 * not be started.  -1 with err when the options cannot be used: nothing was started. */
int run_job(const struct run_job_options *options, struct err *err);
