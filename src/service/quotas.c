/* quotas.c - see quotas.h
 *
 * Handlers ask with quotas_ask() before a job comes in, rounds.c calls quotas_apply()
 * before the loop plans, restart.c loads what handle_admin.c has saved. */
#include "service/quotas.h"

#include "base/mem.h"
#include "service/lifecycle.h"
#include "store/rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX "quota:"

_Static_assert(AUTH_NAME_SIZE <= LOOP_NAME_SIZE, "names of users fit into a quota");

static struct user_quota otherwise(const struct service *s)
{
    const struct service_quota_config *c = &s->config.quota;

    return (struct user_quota){.max_jobs = c->max_jobs ? c->max_jobs : -1,
                               .max_running = c->max_running ? c->max_running : -1,
                               .max_gpus = c->max_gpus ? c->max_gpus : -1};
}

struct user_quota quotas_of(const struct service *s, const char *user)
{
    struct user_quota usual = otherwise(s);

    return user_quota_of(s->quotas.items, s->quotas.count, &usual, user);
}

void quotas_set(struct service *s, const struct user_quota *quota)
{
    vec_each (struct user_quota, q, &s->quotas)
        if (strcmp(q->user, quota->user) == 0) {
            *q = *quota;
            return;
        }
    vec_push(&s->quotas, *quota);
}

void quotas_take_config(struct service *s)
{
    struct user_quota *fresh = service_config_quotas(&s->config);
    size_t kept = 0;

    vec_each (struct user_quota, q, &s->quotas)
        if (!q->configured)
            s->quotas.items[kept++] = *q;
    s->quotas.count = kept;
    for (size_t i = 0; i < s->config.quotas.count; i++) {
        bool said = false;

        for (size_t k = 0; k < kept; k++)
            said = said || strcmp(s->quotas.items[k].user, fresh[i].user) == 0;
        if (!said)
            vec_push(&s->quotas, fresh[i]);
    }
    free(fresh);
}

struct user_quota_ask quotas_ask(const struct service *s, const char *user,
                                 const struct job_groups *there)
{
    struct user_quota_ask ask = {.quotas = s->quotas.items,
                                 .count = s->quotas.count,
                                 .otherwise = otherwise(s),
                                 .user = user,
                                 .jobs = records_use(s->records, user).jobs,
                                 .most = (size_t)s->config.limits.jobs};

    for (int i = 0; there && i < JOB_GROUPS; i++) {
        struct user_quota_group *group = &ask.groups[ask.group_count];

        if (!job_groups_key(there, (enum job_group)i, group->key))
            continue;
        group->jobs = records_use(s->records, group->key).jobs;
        ask.group_count++;
    }
    records_all(s->records, &ask.all);
    return ask;
}

/* ---- rounds ----------------------------------------------------------------------- */

/* Most clusters have no such limit; then nobody needs to be looked at.  Jobs that Slurm
 * took were not refused: where we place them, their number is bounded here. */
static bool any_limit(const struct service *s)
{
    const struct service_quota_config *c = &s->config.quota;

    vec_each (struct user_quota, q, &s->quotas)
        if (user_quota_limits_running(q) || (s->controls && q->max_jobs >= 0))
            return true;
    return c->max_running > 0 || c->max_gpus > 0 || (s->controls && c->max_jobs > 0);
}

static void hide(struct service *s, struct record *r, const struct user_quota_job *job,
                 const struct user_quota *quotas)
{
    char text[sizeof(r->reason)] = "waits: ";
    size_t used = strlen(text);

    if (r->over_quota != job->held_back) {
        records_set_over_quota(s->records, r, job->held_back);
        loop_hold(s->loop, r->id, r->held || job->held_back, service_now_s(s), NULL);
    }
    if (!job->held_back)
        return;
    user_quota_say(text + used, sizeof(text) - used, &quotas[job->by], job->too_many);
    if (strcmp(r->reason, text) != 0)
        record_explain(r, "quota", "%s", text);
}

/* A job that waits outside the loop starts whenever its own scheduler wants. */
static bool counts(const struct record *r)
{
    return record_has_devices(r) || (r->phase == PHASE_WAITING && !r->held && !r->final);
}

static struct user_quota_job as_quota_job(const struct service *s, const struct record *r)
{
    struct user_quota_job job = {.user = r->user,
                                 .devices = record_job(r)->devices,
                                 .runs = record_has_devices(r),
                                 .unasked = s->controls && record_was_found(r)};

    for (int i = 0; i < JOB_GROUPS; i++)
        if (r->groups[i] >= 0)
            job.groups[job.group_count++] = r->groups[i];
    return job;
}

/* The quotas of a job where the others have theirs, by number. */
static void fill_quotas(const struct service *s, const struct user_quota_job *job,
                        struct user_quota *quotas)
{
    for (int k = -1; k < job->group_count; k++) {
        int at = k < 0 ? job->user : job->groups[k];

        if (!quotas[at].user[0])
            quotas[at] = quotas_of(s, records_user(s->records, at));
    }
}

void quotas_apply(struct service *s)
{
    size_t count, users = (size_t)records_users(s->records), asked = 0;
    struct record *const *all = records_all(s->records, &count);
    struct user_quota_job *jobs;
    struct user_quota *quotas;

    if (!any_limit(s) && records_counts(s->records).over_quota == 0)
        return;
    jobs = mem_array(struct user_quota_job, count);
    quotas = mem_array(struct user_quota, users);
    for (size_t i = 0; i < count; i++) {
        if (!counts(all[i]))
            continue;
        jobs[asked] = as_quota_job(s, all[i]);
        fill_quotas(s, &jobs[asked++], quotas);
    }
    user_quota_hold_back(quotas, users, jobs, asked);
    for (size_t i = count; i-- > 0;)
        if (counts(all[i]) && !jobs[--asked].runs)
            hide(s, all[i], &jobs[asked], quotas);
    free(jobs);
    free(quotas);
}

/* ---- in the store ----------------------------------------------------------------- */

void quotas_save(struct store_batch *batch, const struct user_quota *q)
{
    char name[JOB_GROUP_KEY_SIZE + sizeof(PREFIX)], text[64];

    snprintf(name, sizeof(name), PREFIX "%s", q->user);
    snprintf(text, sizeof(text), "%d %d %d", q->max_jobs, q->max_running, q->max_gpus);
    store_put(batch, &(struct store_setting){name, text});
}

void quotas_load(struct service *s, const char *name, const char *text)
{
    struct user_quota q = {.configured = false};

    if (!str_starts(name, PREFIX) ||
        sscanf(text, "%d %d %d", &q.max_jobs, &q.max_running, &q.max_gpus) != 3)
        return;
    str_copy(q.user, sizeof(q.user), name + strlen(PREFIX));
    quotas_set(s, &q);
}
