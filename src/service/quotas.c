/* quotas.c - see quotas.h */
#include "service/quotas.h"

#include "base/intern.h"
#include "service/lifecycle.h"
#include "store/settings.h"

#include <stdio.h>
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
};

typedef vec_of(struct tally) tallies;

static struct tally *tally_of(const struct service *s, struct intern *users,
                              tallies *list, const char *user)
{
    int id = intern_id(users, user);

    if ((size_t)id == list->count)
        vec_push(list, (struct tally){.quota = quotas_of(s, user)});
    return &list->items[id];
}

static void hide(struct service *s, struct record *r, bool over)
{
    if (r->over_quota == over)
        return;
    r->over_quota = over;
    loop_hold(s->loop, r->id, r->held || over, NULL);
    if (over)
        lifecycle_explain(r, "quota", "waits: %s has as much running as allowed",
                          record_user(r));
}

void quotas_apply(struct service *s)
{
    size_t count;
    struct record *const *all = records_all(s->records, &count);
    struct intern *users = intern_create();
    tallies list = {0};

    for (size_t i = 0; i < count; i++)
        if (record_has_devices(all[i])) {
            struct tally *t = tally_of(s, users, &list, record_user(all[i]));

            t->running++;
            t->gpus += record_job(all[i])->devices;
        }
    for (size_t i = 0; i < count; i++) {
        struct record *r = all[i];
        struct tally *t;
        bool over;

        if (r->phase != PHASE_WAITING || r->held)
            continue;
        t = tally_of(s, users, &list, record_user(r));
        over = (t->quota.max_running >= 0 && t->running >= t->quota.max_running) ||
               (t->quota.max_gpus >= 0 &&
                t->gpus + record_job(r)->devices > t->quota.max_gpus);
        hide(s, r, over);
        if (!over) {
            t->running++;
            t->gpus += record_job(r)->devices;
        }
    }
    intern_destroy(users);
    vec_free(&list);
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
