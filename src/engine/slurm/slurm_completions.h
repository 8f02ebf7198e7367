/* slurm_completions.h - ends of jobs in the books that outlast MinJobAge
 *
 * Slurm forgets a job MinJobAge after its end.  The file of jobcomp/filetxt remembers; a
 * line of it is
 *
 *     JobId=7 UserId=ada(1000) GroupId=... Name=train JobState=COMPLETED ... StartTime=
 *     2026-11-18T13:00:45 EndTime=2026-11-18T13:00:48 ... ExitCode=0:0
 *
 * slurmdbd has a record of each time that a job was submitted or queued again. */
#pragma once

#include "engine/slurm/slurm_mark.h"

#include <stdbool.h>
#include <stddef.h>

struct slurm_completion {
    unsigned uid;
    char name[256];        /* "": the book does not tell */
    char state[24];        /* as there: COMPLETED, FAILED, CANCELLED, ... */
    double start_s, end_s; /* epoch, whole seconds; 0: not told */
    int exit_status, signal;
    bool marked; /* with the mark that was asked for: nobody else's */
};

/* The last line of this number that ended then or later; false: none, or the last one is
 * of a run that was queued again.  A run that has completed stays so: a slurmctld that
 * was killed forgets that, and fails the same run later, as its node does not know it.
 * Numbers are given again: the caller compares user and name.  The text may begin in the
 * middle of a line. */
bool slurm_completion_find(const char *text, size_t length, const char *job,
                           double since_s, struct slurm_completion *found);

/* A record of slurmdbd of one number. */
struct slurm_accounted {
    struct slurm_completion job; /* end 0: it has not ended */
    double submit_s;
    bool queued_again;              /* by Slurm: the next record goes on */
    char digest[SLURM_DIGEST_SIZE]; /* of its mark; "": it has none, or not any more */
};

/* The record that tells how the job of these ended, which was alive at since_s, was
 * submitted then or later (0: not known) and whose digest ends so (NULL or "": not
 * known).  Numbers are given again, with another time of submission; a job that was
 * queued again has several records.  NULL: none tells. */
const struct slurm_accounted *slurm_accounted_find(const struct slurm_accounted *records,
                                                   size_t count, double since_s,
                                                   double submit_s, const char *mark);
