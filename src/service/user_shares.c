/* user_shares.c - see user_shares.h; lifecycle.c, restart.c and found_jobs.c tell of
 * users and what their jobs belong to, handle_admin.c and rounds.c show them */
#include "service/user_shares.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The account its jobs are reckoned to by their own word; false: by its user's. */
static bool label_of(const struct service *s, const char *user,
                     const struct job_groups *there, char label[LOOP_NAME_SIZE])
{
    const char *own;

    if (!service_config_label(&s->config, there, label))
        return false;
    own = service_config_share(&s->config, 0, user).account;
    return !own || strcmp(own, label) != 0;
}

uint64_t user_shares_account(const struct service *s, const char *user,
                             const struct job_groups *there)
{
    char label[LOOP_NAME_SIZE];

    return label_of(s, user, there, label) ? fair_shares_account(label) : 0;
}

void user_shares_tell(struct service *s, struct record *r)
{
    const char *user = record_user(r);
    int owner = record_job(r)->owner;
    char label[LOOP_NAME_SIZE];
    bool apart = label_of(s, user, &r->there, label);
    struct fair_share_rule rule =
        apart ? service_config_share_apart(&s->config, owner, user, label)
              : service_config_share(&s->config, owner, user);

    r->stored->request.job.account = apart ? fair_shares_account(label) : 0;
    loop_set_share(s->loop, &rule, service_now_s(s));
}

void user_shares_reckon(struct service *s, struct record *r)
{
    if (user_shares_account(s, record_user(r), &r->there) == record_job(r)->account)
        return;
    user_shares_tell(s, r);
    loop_reckon(s->loop, r->id, record_job(r)->account, service_now_s(s));
}

static void tell_again(struct service *s, const struct fair_share *user)
{
    struct fair_share_rule rule =
        user->apart ? service_config_share_apart(&s->config, user->owner, user->name,
                                                 user->account)
                    : service_config_share(&s->config, user->owner, user->name);

    if (user->apart && !rule.account)
        loop_fold_share(s->loop, user->owner, user->account, service_now_s(s));
    else
        loop_set_share(s->loop, &rule, service_now_s(s));
}

void user_shares_tell_all(struct service *s)
{
    size_t count;
    struct record *const *all = records_all(s->records, &count);
    struct fair_share *users;

    /* First, as what a job held so far is still its old account's. */
    for (size_t i = 0; i < count; i++)
        user_shares_reckon(s, all[i]);
    users = user_shares_list(s, &count);
    for (size_t i = 0; i < count; i++)
        tell_again(s, &users[i]);
    free(users);
}

struct fair_share *user_shares_list(const struct service *s, size_t *count)
{
    return fair_shares_list(loop_shares(s->loop), loop_settings(s->loop)->fair_share_s,
                            service_now_s(s), count);
}

bool user_shares_of_group(const struct fair_share *users, size_t count, const char *key,
                          struct fair_share *sum)
{
    const char *name;
    bool account = job_group_of(key, &name) == JOB_GROUP_ACCOUNT, found = false;

    *sum = (struct fair_share){.owner = 0};
    for (size_t i = 0; i < count; i++) {
        if (strcmp(users[i].account, account ? name : key) != 0)
            continue;
        found = true;
        sum->group_weight = users[i].group_weight;
        sum->used_s += users[i].used_s;
        sum->had += users[i].had;
        sum->due += users[i].due;
    }
    return found;
}

void user_shares_members(struct json_out *out, const struct fair_share *user)
{
    json_out_key_string(out, "account", user->account[0] ? user->account : NULL);
    json_out_key_number(out, "weight",
                        user->account[0] ? user->weight : user->group_weight);
    json_out_key_number(out, "gpu_s", user->used_s);
    json_out_key_number(out, "had", user->had);
    json_out_key_number(out, "due", user->due);
}
