/* job_effects.h - what was measured of each job itself
 *
 * Jobs of one class are alike, not equal: each has factors of its own that nobody told.
 * A job is measured again and again in the place it holds, so that place is answered
 * from its own windows; what sets it apart from its class there is carried, shrunk, to
 * the places it never was.  Gone when the job ends: the class keeps what it taught. */
#pragma once

#include "model/running.h"
#include "model/model_types.h"

#include <math.h>

#define JOB_EFFECTS_MAX_PLACES 12
/* A place known as badly as this share of a window says nothing. */
#define JOB_EFFECTS_TIMES_LEAST 1e-3

struct job_place {
    uint64_t key; /* type, neighbours, spread */
    int type;
    bool spread;
    int neighbours;
    int others[LOOP_MAX_SHARE - 1];   /* their kinds, sorted */
    double busy[LOOP_MAX_SHARE - 1];  /* how busy they were at the last window: what is
                                         kept here is for neighbours as busy as that */
    double asked[LOOP_MAX_SHARE - 1]; /* requests/s asked of them then; 0: none counted */
    double cap_watts;                 /* at the last window, */
    double speed;       /* and what it was believed to leave, log; neither is saved */
    struct drift drift; /* of no times: nothing is believed yet */
    double far;         /* sum of windows in a row that may be wrong, or a change */
    int far_count;
    double expected, expected_var; /* before its first window */
    struct drift past; /* before a change that may have been none; no times: none */
    bool sure;         /* what is believed was expected, or said twice: others may know */
    double squares;    /* of surprises, each scaled to the noise of one window */
    double surprises;
    double told;  /* what its class was told last; NaN: nothing */
    double at_s;  /* last window, */
    double gap_s; /* and how long after the one before */
    uint64_t stamp;
};

struct job_factor { /* of the log rate alone on a type, against the class */
    double mean, var;
    uint64_t version; /* of what it was made from; 0: never made */
};

struct job_own {
    uint64_t job;
    bool here;
    int cls;
    int count;
    struct job_place places[JOB_EFFECTS_MAX_PLACES];
    uint64_t version; /* another one after every window, never one it had before */
};

struct job_effects {
    struct map *index;            /* job id -> items */
    vec_of(struct job_own) items; /* of jobs that are here, and rooms for others */
    vec_of(size_t) unused;
};

struct job_effects *job_effects_create(void);
void job_effects_destroy(struct job_effects *book); /* NULL is fine */

/* A job of a class begins or ends; version: where its own starts. */
void job_effects_begin(struct job_effects *book, uint64_t job, int cls, uint64_t version);
void job_effects_end(struct job_effects *book, uint64_t job);

/* Borrowed until the next job begins; NULL when it never began. */
struct job_own *job_effects_find(const struct job_effects *book, uint64_t job);

/* What jobs of a class told of rates alone was off by this much: add it. */
void job_effects_rebase(struct job_effects *book, int cls, double by);

/* The key of a place: the kinds beside it in any order. */
uint64_t job_effects_key(int type, const int *others, int neighbours, bool spread);

const struct job_place *job_effects_place(const struct job_own *own,
                                          uint64_t key); /* NULL: never was there */

/* The place, new if need be: then the one not seen for longest gives way. */
struct job_place *job_effects_place_take(struct job_own *own, uint64_t key);

/* How windows in general behave: their noise, and how fast rates wander, as variance a
 * second. */
struct window_noise {
    double var, drift;
};

/* What is believed of a place by everything but its own windows, and which share of
 * windows is wrong. */
struct window_prior {
    double mean, var;
    double wrong;
};

/* What became of a window. */
struct window_fate {
    bool kept;    /* it counts; else it is a question, which further ones answer */
    bool changed; /* a sudden change was found */
    int wrong;    /* earlier windows that were not repeated */
    /* Its squared distance from what the place's last windows said, scaled to the noise
     * of one window, and what of it noise does not explain; NaN both where there is
     * nothing to compare. */
    double surprise, wander;
};
struct window_fate job_effects_push(struct job_place *place, double value, double at_s,
                                    const struct window_noise *noise,
                                    const struct window_prior *prior);

/* All windows of a place were taken under other circumstances: see drift_shift(). */
void job_effects_shift(struct job_place *place, double by);

/* What the place's windows come to was worked out elsewhere, with this sd of the log: it
 * takes the place of what was believed. */
void job_effects_set(struct job_place *place, double value, double sd_log, double at_s,
                     const struct window_noise *noise);

/* The variance of a new window there. */
double job_effects_window_var(const struct job_place *place,
                              const struct window_noise *noise);

/* One place's evidence on a type: a deviation from the class and its variance, summed by
 * precision. */
struct job_evidence {
    double precision, weighted;
};

/* What sets a job apart on one type, from evidence on all (types of them): factors have
 * variance var, and correlate between types by rho. */
struct job_factor job_effects_combine(const struct job_evidence *evidence, int type_count,
                                      int type, double var, double rho);

/* For checkpoints: jobs whose classes, and places whose kinds are left out are left out
 * too.  Reading starts from an empty book, for so many of each. */
struct job_effects_counts {
    int types;
    size_t classes, kinds;
};
void job_effects_code(struct job_effects *book, const struct job_effects_counts *counts,
                      struct codec *c);

/* Every job that is here, in no order that means anything; ends with NULL. */
const struct job_own *job_effects_next(const struct job_effects *book,
                                       const struct job_own *after);
