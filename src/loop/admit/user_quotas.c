/* user_quotas.c - see user_quotas.h
 *
 * service/quotas.c asks with the quotas it keeps: for submissions (through loop_quote())
 * and requeues whether a job may come in, for each round which jobs the planner may not
 * see. */
#include "loop/admit/user_quotas.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct user_quota *find(const struct user_quota *quotas, size_t count,
                                     const char *user)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(quotas[i].user, user) == 0)
            return &quotas[i];
    return NULL;
}

struct user_quota user_quota_of(const struct user_quota *quotas, size_t count,
                                const struct user_quota *otherwise, const char *user)
{
    const struct user_quota *found = find(quotas, count, user);
    struct user_quota quota = {.max_jobs = -1, .max_running = -1, .max_gpus = -1};
    const char *name;

    if (!found && job_group_of(user, &name) == JOB_GROUPS) {
        found = find(quotas, count, USER_QUOTA_DEFAULT);
        if (!found)
            found = otherwise;
    }
    if (found)
        quota = *found;
    str_copy(quota.user, sizeof(quota.user), user);
    return quota;
}

void user_quota_say(char *text, size_t size, const struct user_quota *q, bool too_many)
{
    char who[JOB_GROUP_KEY_SIZE];

    job_group_say(q->user, who, sizeof(who));
    if (too_many)
        snprintf(text, size, "%s may have %d jobs waiting or running and has them", who,
                 q->max_jobs);
    else
        snprintf(text, size, "%s has as much running as allowed", who);
}

static int admit(const struct user_quota_ask *ask, const char *name, int jobs,
                 struct err *err)
{
    struct user_quota q = user_quota_of(ask->quotas, ask->count, &ask->otherwise, name);
    char text[JOB_GROUP_KEY_SIZE + 80];

    if (q.max_jobs < 0 || jobs < q.max_jobs)
        return 0;
    user_quota_say(text, sizeof(text), &q, true);
    return err_set(err, ERR_LIMIT, "%s", text);
}

int user_quota_admit(const struct user_quota_ask *ask, struct err *err)
{
    if (ask->all >= ask->most)
        return err_set(err, ERR_LIMIT, "%zu jobs wait or run, which is the limit",
                       ask->all);
    if (admit(ask, ask->user, ask->jobs, err) < 0)
        return -1;
    for (int i = 0; i < ask->group_count; i++)
        if (admit(ask, ask->groups[i].key, ask->groups[i].jobs, err) < 0)
            return -1;
    return 0;
}

bool user_quota_limits_running(const struct user_quota *q)
{
    return q->max_running >= 0 || q->max_gpus >= 0;
}

struct running {
    int jobs, devices;
    int there; /* jobs that run, or wait and need not go */
};

static bool has_room(const struct user_quota *q, const struct running *now, int devices)
{
    return (q->max_running < 0 || now->jobs < q->max_running) &&
           (q->max_gpus < 0 || now->devices + devices <= q->max_gpus);
}

/* The quotas of a job: its user's, then those of its groups. */
static int quota_of(const struct user_quota_job *job, int k)
{
    return k == 0 ? job->user : job->groups[k - 1];
}

static void count_running(struct running *now, const struct user_quota_job *job)
{
    for (int k = 0; k <= job->group_count; k++) {
        now[quota_of(job, k)].jobs++;
        now[quota_of(job, k)].devices += job->devices;
    }
}

static void count_there(struct running *now, const struct user_quota_job *job)
{
    for (int k = 0; k <= job->group_count; k++)
        now[quota_of(job, k)].there++;
}

static void hold_back(const struct user_quota *quotas, const struct running *now,
                      struct user_quota_job *job)
{
    job->held_back = job->too_many = false;
    for (int k = 0; k <= job->group_count && !job->held_back; k++) {
        int at = quota_of(job, k);

        job->by = at;
        job->too_many = job->unasked && quotas[at].max_jobs >= 0 &&
                        now[at].there >= quotas[at].max_jobs;
        job->held_back = job->too_many || !has_room(&quotas[at], &now[at], job->devices);
    }
}

void user_quota_hold_back(const struct user_quota *quotas, size_t quota_count,
                          struct user_quota_job *jobs, size_t count)
{
    struct running *now = mem_array(struct running, quota_count);

    for (size_t i = 0; i < count; i++)
        if (jobs[i].runs) {
            count_running(now, &jobs[i]);
            count_there(now, &jobs[i]);
        }
    for (size_t i = 0; i < count; i++) {
        struct user_quota_job *job = &jobs[i];

        job->held_back = false;
        if (job->runs)
            continue;
        hold_back(quotas, now, job);
        if (!job->too_many)
            count_there(now, job);
        if (!job->held_back)
            count_running(now, job);
    }
    free(now);
}
