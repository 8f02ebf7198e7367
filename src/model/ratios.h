/* ratios.h - closed forms for rates alone: what jobs like this one did, and what a
 * network sees of that
 *
 * Used by rates.c and, as baselines, by `corgi eval`. */
#pragma once

#include "model/kernel.h"
#include "model/stat_network.h"
#include "model/trust.h"

/* Whose a job is: what a family's name means is its user's to say. */
struct ratios_owner {
    int user;
    int family;   /* by its name, over all users; -1: none told */
    double voice; /* what the job counts among all: no user counts for more than most */
};

struct ratios_view {
    const struct job_trait *jobs;
    const struct gpu_trait *gpus;
    int job_count, gpu_count;
    const double *seen; /* (jobs, WORLD_MAX_GPUS) ln rates, NaN where never measured */
    /* A job that was never added, asked for by RATIOS_GUEST. */
    const struct job_trait *guest;
    struct ratios_owner guest_owner;
    const struct ratios_owner *owners; /* (jobs); NULL: all of one user, as traits say */
    const struct trust *trust;         /* NULL: all believe each other */
};
#define RATIOS_GUEST (-1) /* as the job of a level */

/* ln of the ratio of a job's rates on two types: of its family with near batches first,
 * else the median over all jobs measured on both, else the data sheets'. */
double ratios_between(const struct ratios_view *view, int job, int from, int to);

/* The level of a job's family at its batch. */
struct ratios_level {
    double mean, sd;
    int count;   /* measurements it rests on; 0: there are none, and the rest is unset */
    bool others; /* not its own user's */
};

/* By its own user's measurements, and by those of users they believe where these are of
 * nearer batches. */
struct ratios_level ratios_family_level(const struct ratios_view *view, int job, int gpu);

/* The same by those of users they do not believe: a rumour. */
struct ratios_level ratios_rumour(const struct ratios_view *view, int job, int gpu);

/* A job of which nothing is known but its work: the typical share of peak. */
void ratios_typical_level(const struct ratios_view *view, int job, int gpu, double *mean,
                          double *sd);

struct ratios_base { /* what is said of a cell without the network, ln steps/s */
    double closed;
    double core, core_sd;
    double mean; /* of both, and of the family's level */
};

/* Features of a cell never measured, for a network trained on the synthetic world: how
 * much of their peak the job reached on the types it ran on, how busy it kept them (a job
 * that waits for its host gains little from a faster card), how other jobs fared between
 * the two types, and what closed forms and the core say.  It answers with a correction to
 * those.  busy (jobs, WORLD_MAX_GPUS): share of the device in use, NaN where nobody
 * knows.  False when it is not known of the nearest type: guessing it from what users
 * tell of a job works in synthetic worlds, less so in real ones. */
bool ratios_features(const struct ratios_view *view, const double *busy, int job, int gpu,
                     const struct ratios_base *base, struct statnet_row *row);
