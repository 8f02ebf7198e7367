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

/* Clocks of a machine and of a job on another one differ by so much. */
#define RECORD_CLOCKS_APART_S 1.0

/* Why a window teaches nothing. */
enum record_refusal {
    RECORD_TAKEN,
    RECORD_NOT_RUNNING, /* no such job runs */
    RECORD_NUMBERS,     /* a number that cannot be */
    RECORD_STRADDLES,   /* the window began before its devices last changed */
    RECORD_DOUBTED,     /* the source is not sure enough of it */
    /* It is not so, whoever says it. */
    RECORD_CONTRADICTED,    /* the engine saw too little work for so many steps */
    RECORD_OUTSIDE,         /* the window is not within the life of the attempt */
    RECORD_OVERLAPS,        /* a window of the same time was taken already */
    RECORD_ENGINE_MEASURES, /* told by the job, and the engine measures it itself */
    RECORD_REASONS
};
const char *record_refusal_name(enum record_refusal refusal);

/* Nothing is shown, stored or counted of a window that cannot be as it was told. */
bool record_refusal_is_false(enum record_refusal refusal);

/* The attempt that a job reports about by itself, not through its engine. */
struct record_attempt {
    double began_s, now_s; /* it has run from, to */
    double told_s;         /* end of the last window that was taken; NaN: none */
    bool measured;         /* its engine told a window that was taken */
};

/* May a window that a job tells of itself be taken?  It lies within the attempt, after
 * the one before, and the engine does not see the same by itself. */
enum record_refusal record_own_word(const struct measurement *m,
                                    const struct record_attempt *attempt,
                                    struct err *err);

/* Fill *seen from a measurement of a running job.  stable_since_s: when the devices of
 * the job last changed their jobs or cap.  Says what is wrong with a window that cannot
 * be used: ERR_NOT_FOUND for a job that does not run, else ERR_INVALID. */
enum record_refusal record_observe(const struct measurement *m, struct jobs *jobs,
                                   const struct cluster *cluster, double stable_since_s,
                                   struct observation *seen, struct err *err);
