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

struct user_quota_ask quotas_ask(const struct service *s, const char *user)
{
    struct user_quota_ask ask = {.quotas = s->quotas.items,
                                 .count = s->quotas.count,
                                 .otherwise = otherwise(s),
                                 .user = user,
                                 .jobs = records_use(s->records, user).jobs,
                                 .most = (size_t)s->config.limits.jobs};

    records_all(s->records, &ask.all);
    return ask;
}

/* ---- rounds ----------------------------------------------------------------------- */

/* Most clusters have no such limit; then nobody needs to be looked at. */
static bool any_limit(const struct service *s)
{
    vec_each (struct user_quota, q, &s->quotas)
        if (user_quota_limits_running(q))
            return true;
    return s->config.quota.max_running > 0 || s->config.quota.max_gpus > 0;
}

static void hide(struct service *s, struct record *r, bool over)
{
    if (r->over_quota == over)
        return;
    records_set_over_quota(s->records, r, over);
    loop_hold(s->loop, r->id, r->held || over, service_now_s(s), NULL);
    if (over)
        record_explain(r, "quota", "waits: %s has as much running as allowed",
                       record_user(r));
}

static bool counts(const struct record *r)
{
    return record_has_devices(r) || (r->phase == PHASE_WAITING && !r->held);
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
        if (!quotas[all[i]->user].user[0])
            quotas[all[i]->user] = quotas_of(s, record_user(all[i]));
        jobs[asked++] = (struct user_quota_job){.user = all[i]->user,
                                                .devices = record_job(all[i])->devices,
                                                .runs = record_has_devices(all[i])};
    }
    user_quota_hold_back(quotas, users, jobs, asked);
    for (size_t i = count; i-- > 0;)
        if (counts(all[i]) && !jobs[--asked].runs)
            hide(s, all[i], jobs[asked].held_back);
    free(jobs);
    free(quotas);
}

/* ---- in the store ----------------------------------------------------------------- */

void quotas_save(struct store_batch *batch, const struct user_quota *q)
{
    char name[LOOP_NAME_SIZE + sizeof(PREFIX)], text[64];

    snprintf(name, sizeof(name), PREFIX "%s", q->user);
    snprintf(text, sizeof(text), "%d %d %d", q->max_jobs, q->max_running, q->max_gpus);
    store_put(batch, &(struct store_setting){name, text});
}

void quotas_load(struct service *s, const char *name, const char *text)
{
    struct user_quota q;

    if (!str_starts(name, PREFIX) ||
        sscanf(text, "%d %d %d", &q.max_jobs, &q.max_running, &q.max_gpus) != 3)
        return;
    str_copy(q.user, sizeof(q.user), name + strlen(PREFIX));
    quotas_set(s, &q);
}
