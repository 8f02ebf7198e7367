/* quote_score.h - was what a quote said true?
 *
 * What each job was quoted is kept until it can be compared: the place where it was put
 * with the one that was named, the rate of its first window there with the rates quoted
 * at several confidences, its start with the one that was told, what it took with the
 * energy that was told.  The loop counts it, so that a daemon shows what a simulation
 * shows. */
#pragma once

#include "loop/types.h"

/* Of a rate quoted at one of these, so many first windows should keep it. */
#define QUOTE_LEVELS 3
extern const double quote_levels[QUOTE_LEVELS];

/* Errors of a start are counted in steps of this share of the wait. */
#define QUOTE_START_STEP 0.05
#define QUOTE_START_BINS 41 /* the last has all that are further off */

/* First windows at quoted places. */
struct quote_windows {
    long measured;
    long kept[QUOTE_LEVELS]; /* not below the rate at each confidence */
};

struct quote_score {
    long started_at_once; /* jobs that were to start at once and did */
    long at_place;        /* of those, where the quote said */
    /* By what the quote rested on, alone or beside another job, training or service. */
    struct quote_windows windows[ESTIMATE_SOURCES][2][2];
    long covered;            /* inside the interval */
    double rate_log_error;   /* sum of |log(measured / quoted)| over all windows */
    double energy_log_error; /* the same of joules a step, of those alone on a device */
    long energies;
    long starts;         /* jobs that had to wait, were told until when, and started */
    long starts_good;    /* and within QUOTE_START_GOOD of what was told */
    long starts_unknown; /* that were not told */
    /* Of |start - told| by the wait, waits below QUOTE_START_LEAST_S taken as that. */
    long start_errors[QUOTE_START_BINS];
};

/* A start is told well when it is off by a fifth of the wait at most, or by 30 s. */
#define QUOTE_START_GOOD    0.2
#define QUOTE_START_LEAST_S 150.0

/* The job has its first devices. */
void quote_score_started(struct quote_score *score, struct job_status *status,
                         double now_s);

/* A window of the job was learned from. */
void quote_score_measured(struct quote_score *score, struct job_status *status,
                          const struct observation *seen);

/* All windows together. */
struct quote_windows quote_score_windows(const struct quote_score *score);

/* The median error of a start, as a share of the wait; NaN: none was told. */
double quote_score_start_median(const struct quote_score *score);
