/* service_config_groups.c - quotas and parts of the cluster in the daemon's config: whom
 * they name, and what follows for users and jobs
 *
 * service_config.c checks a file with it, quotas.c and user_shares.c ask what is in it.
 */
#include "service/service_config.h"

#include "base/mem.h"
#include "http/auth.h"

#include <stdlib.h>
#include <string.h>

/* ---- mistakes -----------------------------------------------------------------------
 */

struct named_entry {
    const char *path, *list;
    int line;
    const char *user; /* NULL: none */
    char *const *groups;
    size_t users; /* in a list beside it */
};

static const char *name_of(const struct named_entry *e, const char **kind)
{
    const char *name = e->user;

    *kind = "user";
    for (int i = 0; i < JOB_GROUPS; i++)
        if (e->groups[i]) {
            name = e->groups[i];
            *kind = job_group_kinds[i];
        }
    return name;
}

static int names_given(const struct named_entry *e)
{
    int given = e->user != NULL;

    for (int i = 0; i < JOB_GROUPS; i++)
        given += e->groups[i] != NULL;
    return given;
}

static int wrong_entry(const struct named_entry *e, struct err *err)
{
    return err_prefix(err, "%s:%d: %s", e->path, e->line, e->list);
}

static int check_entry(const struct named_entry *e, int engine, struct err *err)
{
    const char *kind, *name = name_of(e, &kind);

    if (names_given(e) > 1)
        err_set(err, ERR_INVALID, "an entry names one of user, account, qos, partition");
    else if (name && (e->users == 0 || !e->groups[JOB_GROUP_ACCOUNT]) &&
             (strlen(name) >= AUTH_NAME_SIZE || strpbrk(name, ",: \t\n\"*")))
        err_set(err, ERR_INVALID, "'%.40s' is no name of %s %s", name,
                strcmp(kind, "account") == 0 ? "an" : "a", kind);
    else if (engine != SERVICE_ENGINE_SLURM && name && name != e->user && e->users == 0 &&
             (strcmp(e->list, "quotas") == 0 || strcmp(kind, "account") != 0))
        err_set(err, ERR_INVALID, "only Slurm says the %s of a job, and engine is %s",
                kind, service_engine_names[engine]);
    else
        return 0;
    return wrong_entry(e, err);
}

static bool same_name(const struct named_entry *a, const struct named_entry *b)
{
    const char *kind_a, *kind_b, *x = name_of(a, &kind_a), *y = name_of(b, &kind_b);

    return x && y && strcmp(kind_a, kind_b) == 0 && strcmp(x, y) == 0;
}

static int check_twice(const struct named_entry *e, const struct named_entry *before,
                       struct err *err)
{
    const char *kind, *name = name_of(e, &kind);

    if (!same_name(e, before))
        return 0;
    err_set(err, ERR_INVALID, "the %s %s has an entry already, in line %d", kind, name,
            before->line);
    return wrong_entry(e, err);
}

static struct named_entry quota_entry(const struct service_config *c, const char *path,
                                      size_t i)
{
    const struct service_quota_entry_config *q =
        &((struct service_quota_entry_config *)c->quotas.items)[i];

    return (struct named_entry){.path = path,
                                .list = "quotas",
                                .line = q->line,
                                .user = q->user,
                                .groups = q->groups};
}

static int check_quotas(const struct service_config *c, const char *path, struct err *err)
{
    for (size_t i = 0; i < c->quotas.count; i++) {
        const struct service_quota_entry_config *q =
            &((struct service_quota_entry_config *)c->quotas.items)[i];
        struct named_entry e = quota_entry(c, path, i), before;

        if (names_given(&e) == 0) {
            err_set(err, ERR_INVALID, "say whose it is: user, account, qos or partition");
            return wrong_entry(&e, err);
        }
        if (check_entry(&e, c->engine, err) < 0)
            return -1;
        if (q->max_jobs < 0 && q->max_running < 0 && q->max_gpus < 0) {
            err_set(err, ERR_INVALID,
                    "it limits nothing: say max_jobs, max_running or max_gpus");
            return wrong_entry(&e, err);
        }
        for (size_t k = 0; k < i; k++) {
            before = quota_entry(c, path, k);
            if (check_twice(&e, &before, err) < 0)
                return -1;
        }
    }
    return 0;
}

static const struct service_share_config *share_at(const struct service_config *c,
                                                   size_t i)
{
    return &((struct service_share_config *)c->shares.items)[i];
}

static struct named_entry share_entry(const struct service_config *c, const char *path,
                                      size_t i)
{
    const struct service_share_config *share = share_at(c, i);

    return (struct named_entry){.path = path,
                                .list = "shares",
                                .line = share->line,
                                .groups = share->groups,
                                .users = share->users.count};
}

static int check_shares(const struct service_config *c, const char *path, struct err *err)
{
    for (size_t i = 0; i < c->shares.count; i++) {
        struct named_entry e = share_entry(c, path, i), before;

        if (check_entry(&e, c->engine, err) < 0)
            return -1;
        if (e.users > 0 && names_given(&e) > 0 && !e.groups[JOB_GROUP_ACCOUNT]) {
            err_set(err, ERR_INVALID, "users go with an account, or stand alone");
            return wrong_entry(&e, err);
        }
        /* One account may have its users in several entries. */
        for (size_t k = 0; k < i; k++) {
            before = share_entry(c, path, k);
            if ((e.users == 0 || before.users == 0) && check_twice(&e, &before, err) < 0)
                return -1;
        }
    }
    return 0;
}

int service_config_check_groups(const struct service_config *c, const char *path,
                                struct err *err)
{
    if (check_quotas(c, path, err) < 0)
        return -1;
    return check_shares(c, path, err);
}

/* ---- whose part it is ---------------------------------------------------------------
 */

static bool names(const struct service_share_config *share, const char *user)
{
    for (size_t i = 0; i < share->users.count; i++)
        if (strcmp(((char **)share->users.items)[i], user) == 0)
            return true;
    return false;
}

struct fair_share_rule service_config_share(const struct service_config *c, int owner,
                                            const char *name)
{
    struct fair_share_rule rule = {
        .owner = owner, .name = name, .weight = 1, .account_weight = 1};

    for (size_t i = 0; i < c->shares.count; i++) {
        const struct service_share_config *share = share_at(c, i);

        if (!names(share, name))
            continue;
        if (share->groups[JOB_GROUP_ACCOUNT]) {
            rule.account = share->groups[JOB_GROUP_ACCOUNT];
            rule.account_weight = share->weight;
        } else {
            rule.weight = share->weight;
        }
    }
    return rule;
}

/* An account is known by its name alone, as where users are listed. */
static bool label_of(const struct service_share_config *share, char *label)
{
    char key[JOB_GROUP_KEY_SIZE];

    for (int i = 0; i < JOB_GROUPS; i++)
        if (share->groups[i]) {
            job_group_key((enum job_group)i, share->groups[i], key);
            str_copy(label, LOOP_NAME_SIZE,
                     i == JOB_GROUP_ACCOUNT ? share->groups[i] : key);
            return true;
        }
    return false;
}

static bool belongs(const struct service_share_config *share,
                    const struct job_groups *there)
{
    char own[JOB_GROUP_KEY_SIZE], key[JOB_GROUP_KEY_SIZE];

    for (int i = 0; i < JOB_GROUPS; i++) {
        if (!share->groups[i] || !job_groups_key(there, (enum job_group)i, key))
            continue;
        job_group_key((enum job_group)i, share->groups[i], own);
        if (strcmp(own, key) == 0)
            return true;
    }
    return false;
}

bool service_config_label(const struct service_config *c, const struct job_groups *there,
                          char label[LOOP_NAME_SIZE])
{
    for (size_t i = 0; i < c->shares.count; i++)
        if (belongs(share_at(c, i), there))
            return label_of(share_at(c, i), label);
    return false;
}

struct fair_share_rule service_config_share_apart(const struct service_config *c,
                                                  int owner, const char *name,
                                                  const char *label)
{
    struct fair_share_rule rule = service_config_share(c, owner, name);
    char its[LOOP_NAME_SIZE];

    rule.account = NULL;
    rule.apart = true;
    for (size_t i = 0; i < c->shares.count; i++)
        if (label_of(share_at(c, i), its) && strcmp(its, label) == 0) {
            rule.account = label;
            rule.account_weight = share_at(c, i)->weight;
        }
    return rule;
}

struct user_quota *service_config_quotas(const struct service_config *c)
{
    struct user_quota *quotas = mem_array(struct user_quota, c->quotas.count + 1);

    for (size_t i = 0; i < c->quotas.count; i++) {
        const struct service_quota_entry_config *from =
            &((struct service_quota_entry_config *)c->quotas.items)[i];

        quotas[i] = (struct user_quota){.max_jobs = from->max_jobs,
                                        .max_running = from->max_running,
                                        .max_gpus = from->max_gpus,
                                        .configured = true};
        if (from->user)
            str_copy(quotas[i].user, sizeof(quotas[i].user), from->user);
        for (int k = 0; k < JOB_GROUPS; k++)
            if (from->groups[k])
                job_group_key((enum job_group)k, from->groups[k], quotas[i].user);
    }
    return quotas;
}
