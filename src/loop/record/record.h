/* record.h - the stage that takes measurements in
 *
 * A measurement is a number from outside: it is checked, put beside what was running
 * where, and given a noise that shrinks with the length of its window.  Windows that
 * straddle a change of place or neighbours are refused, for they tell of neither. */
#pragma once

#include "base/err.h"
#include "loop/job_table.h"

/* A source that doubts its rate more than this teaches nothing: the probe tells a rate it
 * has read off two printed steps with a doubt of two thirds. */
#define RECORD_DOUBT_MOST 0.7

/* Why a window teaches nothing. */
enum record_refusal {
    RECORD_TAKEN,
    RECORD_NOT_RUNNING, /* no such job runs */
    RECORD_NUMBERS,     /* a number that cannot be */
    RECORD_STRADDLES,   /* the window began before its devices last changed */
    RECORD_DOUBTED,     /* the source is not sure enough of it */
    RECORD_REASONS
};
const char *record_refusal_name(enum record_refusal refusal);

/* Fill *seen from a measurement of a running job.  stable_since_s: when the devices of
 * the job last changed their jobs or cap.  Says what is wrong with a window that cannot
 * be used: ERR_NOT_FOUND for a job that does not run, else ERR_INVALID. */
enum record_refusal record_observe(const struct measurement *m, struct jobs *jobs,
                                   const struct cluster *cluster, double stable_since_s,
                                   struct observation *seen, struct err *err);
