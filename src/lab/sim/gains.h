/* gains.h - who gains and who loses between two rows of a sweep
 *
 * The requests are put into groups, by user, by day or by kind, and the waits, ends,
 * energy and broken needs of each group are compared run by run. */
#pragma once

#include "lab/sim/sweep.h"

struct real_schedule;

struct gains_group {
    const char *name;          /* borrowed */
    int number;                /* as the question counts */
    double jobs;               /* a run */
    double gpu_h;              /* from start to end of its jobs as it was, a run */
    double wait_was_h, wait_h; /* mean until the start */
    double kwh_was;            /* of its jobs' GPUs, a run */
    struct sweep_mean sooner;  /* percent less time from submission to end */
    struct sweep_mean saved;   /* percent less energy of its jobs' GPUs */
    struct sweep_mean kept;    /* points more of its jobs' time with their need met */
    double broken_was, broken; /* percent of that time without */
    bool services;             /* they end when they are told to: `kept` counts */
};

struct gains_question {
    const struct sweep_row *was, *now;
    size_t groups;
    /* The group of a request: -1 for none. */
    int (*group)(const void *ctx, size_t job, const struct sim_job_result *result);
    const char *(*name)(const void *ctx, int group);
    const void *ctx;
    const struct real_schedule *real; /* starts and ends as it was; NULL: as simulated */
};

/* An array of those that have requests, by GPU-hours, which the caller frees. */
struct gains_group *gains_of(const struct gains_question *question, size_t *count);

/* What became better or worse beyond the interval: the time from submission to end, and
 * for services the time with their need met. */
enum gains_lot { GAINS_GAINS, GAINS_LOSES, GAINS_SAME };
extern const char *const gains_lot_names[]; /* gains, loses, same */
enum gains_lot gains_lot(const struct gains_group *group);
