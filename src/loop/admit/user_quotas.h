/* user_quotas.h - how much of the cluster a user may have, and an account, a QOS, a
 * partition
 *
 * A quota bounds the jobs there are waiting or running, which is decided when one comes
 * in (a submission, or an ended job that is queued again), and the jobs and GPUs that
 * run, which is decided before each round: jobs beyond it are held back from the planner.
 * So are jobs beyond the first number that nobody could refuse, as another scheduler had
 * taken them.  A job is bounded by the quota of its user and by those of what it belongs
 * to, as that scheduler says. */
#pragma once

#include "loop/job_groups.h"

struct err;

/* The quota of this name is that of all users who have none. */
#define USER_QUOTA_DEFAULT "default"

/* Limits of -1: none. */
struct user_quota {
    char user[JOB_GROUP_KEY_SIZE]; /* or the key of a group, see job_groups.h */
    int max_jobs, max_running, max_gpus;
    bool configured; /* it stands in the config, and no operator has set another */
};

/* The quota in force: their own; of a user also that of the default user, or `otherwise`.
 */
struct user_quota user_quota_of(const struct user_quota *quotas, size_t count,
                                const struct user_quota *otherwise, const char *user);

/* May one more job of this user come in?  ERR_LIMIT with the sentence if not. */
struct user_quota_group {
    char key[JOB_GROUP_KEY_SIZE];
    int jobs; /* of it, waiting or running */
};
struct user_quota_ask {
    const struct user_quota *quotas; /* (count) */
    size_t count;
    struct user_quota otherwise;
    const char *user;
    int jobs; /* of the user, waiting or running */
    int group_count;
    struct user_quota_group groups[JOB_GROUPS]; /* (group_count) */
    size_t all, most;                           /* of all users; how many there may be */
};
int user_quota_admit(const struct user_quota_ask *ask, struct err *err);

/* Does it bound what runs? */
bool user_quota_limits_running(const struct user_quota *quota);

struct user_quota_job {
    int user; /* index into the quotas */
    int group_count;
    int groups[JOB_GROUPS]; /* (group_count) likewise */
    int devices;
    bool runs;      /* has devices; else it waits */
    bool unasked;   /* nobody could refuse it as it came in */
    bool held_back; /* set: it waits and may not start in this round */
    bool too_many;  /* set: for the number of jobs; else for what runs */
    int by;         /* set: the quota that holds it back */
};

/* Who is held back in this round: of each user the jobs that run count, then those that
 * wait, in the order given, as long as all its quotas have room for them.  A job that
 * does not fit does not keep smaller ones behind it. */
void user_quota_hold_back(const struct user_quota *quotas, size_t quota_count,
                          struct user_quota_job *jobs, size_t count);

/* Why this quota holds a job back, for people. */
void user_quota_say(char *text, size_t size, const struct user_quota *quota,
                    bool too_many);
