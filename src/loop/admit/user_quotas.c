/* user_quotas.c - see user_quotas.h
 *
 * service/quotas.c asks with the quotas it stores: for submissions (through loop_quote())
 * and requeues whether a job may come in, for each round which jobs the planner may not
 * see. */
#include "loop/admit/user_quotas.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

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
    struct user_quota quota;

    if (!found)
        found = find(quotas, count, USER_QUOTA_DEFAULT);
    quota = found ? *found : *otherwise;
    str_copy(quota.user, sizeof(quota.user), user);
    return quota;
}

int user_quota_admit(const struct user_quota_ask *ask, struct err *err)
{
    struct user_quota q =
        user_quota_of(ask->quotas, ask->count, &ask->otherwise, ask->user);

    if (ask->all >= ask->most)
        return err_set(err, ERR_LIMIT, "%zu jobs wait or run, which is the limit",
                       ask->all);
    if (q.max_jobs >= 0 && ask->jobs >= q.max_jobs)
        return err_set(err, ERR_LIMIT,
                       "%s may have %d jobs waiting or running and has them", q.user,
                       q.max_jobs);
    return 0;
}

bool user_quota_limits_running(const struct user_quota *q)
{
    return q->max_running >= 0 || q->max_gpus >= 0;
}

struct running {
    int jobs, devices;
};

static bool has_room(const struct user_quota *q, const struct running *now, int devices)
{
    return (q->max_running < 0 || now->jobs < q->max_running) &&
           (q->max_gpus < 0 || now->devices + devices <= q->max_gpus);
}

void user_quota_hold_back(const struct user_quota *quotas, size_t users,
                          struct user_quota_job *jobs, size_t count)
{
    struct running *now = mem_array(struct running, users);

    for (size_t i = 0; i < count; i++)
        if (jobs[i].runs) {
            now[jobs[i].user].jobs++;
            now[jobs[i].user].devices += jobs[i].devices;
        }
    for (size_t i = 0; i < count; i++) {
        struct user_quota_job *job = &jobs[i];

        job->held_back =
            !job->runs && !has_room(&quotas[job->user], &now[job->user], job->devices);
        if (job->runs || job->held_back)
            continue;
        now[job->user].jobs++;
        now[job->user].devices += job->devices;
    }
    free(now);
}
