/* slurm_completions.h - ends of jobs in the file of jobcomp/filetxt
 *
 * Slurm forgets a job MinJobAge after its end; this file remembers.  A line of it is
 *
 *     JobId=7 UserId=ada(1000) GroupId=... Name=train JobState=COMPLETED ... StartTime=
 *     2026-11-18T13:00:45 EndTime=2026-11-18T13:00:48 ... ExitCode=0:0
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct slurm_completion {
    unsigned uid;
    char name[256];
    char state[24];        /* as there: COMPLETED, FAILED, CANCELLED, ... */
    double start_s, end_s; /* epoch, whole seconds; 0: not told */
    int exit_status, signal;
};

/* The last line of this number that ended then or later; false: none, or the last one is
 * of a run that was queued again.  A run that has completed stays so: a slurmctld that
 * was killed forgets that, and fails the same run later, as its node does not know it.
 * Numbers are given again: the caller compares user and name.  The text may begin in the
 * middle of a line. */
bool slurm_completion_find(const char *text, size_t length, const char *job,
                           double since_s, struct slurm_completion *found);
