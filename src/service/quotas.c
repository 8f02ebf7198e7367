/* quotas.c - see quotas.h */
#include "service/quotas.h"

#include "base/mem.h"
#include "service/lifecycle.h"
#include "store/store_settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX  "quota:"
#define DEFAULT "default"

static const struct quota *find(const struct service *s, const char *user)
{
    vec_each (struct quota, q, &s->quotas)
        if (strcmp(q->user, user) == 0)
            return q;
    return NULL;
}

struct quota quotas_of(const struct service *s, const char *user)
{
    const struct service_quota_config *c = &s->config.quota;
    const struct quota *found = find(s, user);
    struct quota quota;

    if (!found)
        found = find(s, DEFAULT);
    quota = found ? *found
                  : (struct quota){.max_jobs = c->max_jobs ? c->max_jobs : -1,
                                   .max_running = c->max_running ? c->max_running : -1,
                                   .max_gpus = c->max_gpus ? c->max_gpus : -1};
    str_copy(quota.user, sizeof(quota.user), user);
    return quota;
}

void quotas_set(struct service *s, const struct quota *quota)
{
    vec_each (struct quota, q, &s->quotas)
        if (strcmp(q->user, quota->user) == 0) {
            *q = *quota;
            return;
        }
    vec_push(&s->quotas, *quota);
}

int quotas_admit(const struct service *s, const char *user, struct err *err)
{
    struct quota q = quotas_of(s, user);
    size_t all;

    records_all(s->records, &all);
    if (all >= (size_t)s->config.limits.jobs)
        return err_set(err, ERR_LIMIT, "%zu jobs wait or run, which is the limit", all);
    if (q.max_jobs >= 0 && records_use(s->records, user).jobs >= q.max_jobs)
        return err_set(err, ERR_LIMIT,
                       "%s may have %d jobs waiting or running and has them", user,
                       q.max_jobs);
    return 0;
}

/* ---- rounds ----------------------------------------------------------------------- */

struct tally { /* of one user in this round */
    struct quota quota;
    int running, gpus;
    bool known;
};

static bool limits_running(const struct quota *q)
{
    return q->max_running >= 0 || q->max_gpus >= 0;
}

/* Most clusters have no such limit; then nobody needs to be looked at. */
static bool any_limit(const struct service *s)
{
    vec_each (struct quota, q, &s->quotas)
        if (limits_running(q))
            return true;
    return s->config.quota.max_running > 0 || s->config.quota.max_gpus > 0;
}

static struct tally *tally_of(const struct service *s, struct tally *users,
                              const struct record *r)
{
    struct tally *t = &users[r->user];

    if (!t->known) {
        t->quota = quotas_of(s, record_user(r));
        t->known = true;
    }
    return t;
}

static void count_in(struct tally *t, const struct record *r)
{
    t->running++;
    t->gpus += record_job(r)->devices;
}

static bool is_over(const struct tally *t, const struct record *r)
{
    return (t->quota.max_running >= 0 && t->running >= t->quota.max_running) ||
           (t->quota.max_gpus >= 0 &&
            t->gpus + record_job(r)->devices > t->quota.max_gpus);
}

static void hide(struct service *s, struct record *r, bool over)
{
    if (r->over_quota == over)
        return;
    records_set_over_quota(s->records, r, over);
    loop_hold(s->loop, r->id, r->held || over, NULL);
    if (over)
        lifecycle_explain(r, "quota", "waits: %s has as much running as allowed",
                          record_user(r));
}

void quotas_apply(struct service *s)
{
    size_t count, busy_count;
    struct record *const *all = records_all(s->records, &count);
    struct record *const *busy = records_busy(s->records, &busy_count);
    struct tally *users;

    if (!any_limit(s) && records_counts(s->records).over_quota == 0)
        return;
    users = mem_array(struct tally, (size_t)records_users(s->records));
    for (size_t i = 0; i < busy_count; i++)
        count_in(tally_of(s, users, busy[i]), busy[i]);
    for (size_t i = 0; i < count; i++) {
        struct record *r = all[i];
        struct tally *t;

        if (r->phase != PHASE_WAITING || r->held)
            continue;
        t = tally_of(s, users, r);
        if (!limits_running(&t->quota)) {
            hide(s, r, false);
            continue;
        }
        hide(s, r, is_over(t, r));
        if (!r->over_quota)
            count_in(t, r);
    }
    free(users);
}

/* ---- in the store ----------------------------------------------------------------- */

void quotas_save(struct store_batch *batch, const struct quota *q)
{
    char name[AUTH_NAME_SIZE + sizeof(PREFIX)], text[64];

    snprintf(name, sizeof(name), PREFIX "%s", q->user);
    snprintf(text, sizeof(text), "%d %d %d", q->max_jobs, q->max_running, q->max_gpus);
    store_put_setting(batch, name, text);
}

void quotas_load(struct service *s, const char *name, const char *text)
{
    struct quota q;

    if (!str_starts(name, PREFIX) ||
        sscanf(text, "%d %d %d", &q.max_jobs, &q.max_running, &q.max_gpus) != 3)
        return;
    str_copy(q.user, sizeof(q.user), name + strlen(PREFIX));
    quotas_set(s, &q);
}
