/* user_quotas.h - how much of the cluster a user may have
 *
 * A quota bounds the jobs a user has waiting or running, which is decided when one comes
 * in (a submission, or an ended job that is queued again), and the jobs and GPUs that
 * run, which is decided before each round: jobs beyond it are held back from the planner.
 */
#pragma once

#include "loop/types.h"

struct err;

/* The quota of this name is that of all users who have none. */
#define USER_QUOTA_DEFAULT "default"

/* Limits of -1: none. */
struct user_quota {
    char user[LOOP_NAME_SIZE];
    int max_jobs, max_running, max_gpus;
};

/* The quota in force for a user: their own, that of the default user, or `otherwise`. */
struct user_quota user_quota_of(const struct user_quota *quotas, size_t count,
                                const struct user_quota *otherwise, const char *user);

/* May one more job of this user come in?  ERR_LIMIT with the sentence if not. */
struct user_quota_ask {
    const struct user_quota *quotas; /* (count) */
    size_t count;
    struct user_quota otherwise;
    const char *user;
    int jobs;         /* of the user, waiting or running */
    size_t all, most; /* of all users; how many there may be */
};
int user_quota_admit(const struct user_quota_ask *ask, struct err *err);

/* Does it bound what runs? */
bool user_quota_limits_running(const struct user_quota *quota);

struct user_quota_job {
    int user; /* index into the quotas */
    int devices;
    bool runs;      /* has devices; else it waits */
    bool held_back; /* set: it waits and may not start in this round */
};

/* Who is held back in this round: of each user the jobs that run count, then those that
 * wait, in the order given, as long as the quota has room for them.  A job that does not
 * fit does not keep smaller ones behind it. */
void user_quota_hold_back(const struct user_quota *quotas, size_t users,
                          struct user_quota_job *jobs, size_t count);
