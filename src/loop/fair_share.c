/* fair_share.c - see fair_share.h
 *
 * loop.c tells what jobs held, the daemon who users are; queue_order.c and the list of
 * shares for people ask. */
#include "loop/fair_share.h"

#include "base/hash.h"
#include "base/map.h"
#include "base/rng.h"
#include "base/str.h"
#include "base/vec.h"
#include "model/codec.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#define USERS_MOST 100000

#define NEVER_S    (-1e18)

struct share_user {
    int owner;
    uint64_t apart; /* job.account of its jobs; 0: they say none */
    int group;      /* of its account, or its own */
    char name[LOOP_NAME_SIZE], account[LOOP_NAME_SIZE];
    double weight, account_weight;
    double used_s, at_s; /* decayed up to then */
    double served_s;
};

struct fair_shares {
    vec_of(struct share_user) users;
    int groups; /* numbers given so far */
    struct map *by_key;
};

struct fair_shares *fair_shares_create(void)
{
    struct fair_shares *f = mem_new(struct fair_shares);

    f->by_key = map_create();
    return f;
}

void fair_shares_destroy(struct fair_shares *f)
{
    if (!f)
        return;
    vec_free(&f->users);
    map_destroy(f->by_key);
    free(f);
}

static uint64_t key_of(int owner, uint64_t apart)
{
    return apart ? rng_mix(apart, (uint64_t)(uint32_t)owner) : (uint64_t)(uint32_t)owner;
}

uint64_t fair_shares_account(const char *account)
{
    return hash_text(account) | 1;
}

static struct share_user *find(const struct fair_shares *f, int owner, uint64_t apart)
{
    size_t at;

    return map_get(f->by_key, key_of(owner, apart), &at) ? &f->users.items[at] : NULL;
}

static struct share_user *add(struct fair_shares *f, const struct share_user *user)
{
    map_put(f->by_key, key_of(user->owner, user->apart), f->users.count);
    vec_push(&f->users, *user);
    return &f->users.items[f->users.count - 1];
}

static struct share_user *user_of(struct fair_shares *f, int owner, uint64_t apart)
{
    struct share_user *user = find(f, owner, apart);

    return user ? user
                : add(f, &(struct share_user){.owner = owner,
                                              .apart = apart,
                                              .group = f->groups++,
                                              .weight = 1,
                                              .account_weight = 1,
                                              .served_s = NEVER_S});
}

struct fair_shares *fair_shares_dup(const struct fair_shares *f)
{
    struct fair_shares *copy = fair_shares_create();

    vec_each (const struct share_user, user, &f->users)
        add(copy, user);
    copy->groups = f->groups;
    return copy;
}

void fair_shares_meet(struct fair_shares *f, const struct job *job)
{
    user_of(f, job->owner, job->account);
}

size_t fair_shares_users(const struct fair_shares *f)
{
    return f->users.count;
}

static int group_of(struct fair_shares *f, const char *account)
{
    if (account[0])
        vec_each (const struct share_user, user, &f->users)
            if (strcmp(user->account, account) == 0)
                return user->group;
    return f->groups++;
}

void fair_shares_tell(struct fair_shares *f, const struct fair_share_rule *rule)
{
    const char *account = rule->account ? rule->account : "";
    struct share_user *user =
        user_of(f, rule->owner, rule->apart ? fair_shares_account(account) : 0);

    str_copy(user->name, sizeof(user->name), rule->name ? rule->name : "");
    if (strcmp(user->account, account) != 0) {
        user->group = group_of(f, account);
        str_copy(user->account, sizeof(user->account), account);
    }
    user->weight = rule->weight;
    user->account_weight = rule->account_weight;
}

static double used_now_s(const struct share_user *user, double half_life_s, double now_s)
{
    return user->used_s * exp2(-fmax(0, now_s - user->at_s) / half_life_s);
}

static void take_out(struct fair_shares *f, const struct share_user *user)
{
    size_t at = (size_t)(user - f->users.items);

    map_remove(f->by_key, key_of(user->owner, user->apart));
    f->users.count--;
    for (; at < f->users.count; at++) {
        f->users.items[at] = f->users.items[at + 1];
        map_put(f->by_key, key_of(f->users.items[at].owner, f->users.items[at].apart),
                at);
    }
}

void fair_shares_fold(struct fair_shares *f, int owner, const char *account,
                      double half_life_s, double now_s)
{
    const struct share_user *apart = find(f, owner, fair_shares_account(account));
    struct share_user old, *own;

    if (!apart)
        return;
    old = *apart;
    take_out(f, apart);
    own = user_of(f, owner, 0);
    if (!own->name[0])
        str_copy(own->name, sizeof(own->name), old.name);
    own->served_s = fmax(own->served_s, old.served_s);
    if (!(half_life_s > 0))
        return;
    own->used_s =
        used_now_s(own, half_life_s, now_s) + used_now_s(&old, half_life_s, now_s);
    own->at_s = now_s;
}

void fair_shares_use(struct fair_shares *f, const struct job *job, double gpu_s,
                     double half_life_s, double now_s)
{
    struct share_user *user;

    if (!(half_life_s > 0) || !(gpu_s > 0))
        return;
    user = user_of(f, job->owner, job->account);
    user->used_s = used_now_s(user, half_life_s, now_s) + gpu_s;
    user->at_s = now_s;
}

void fair_shares_serve(struct fair_shares *f, const struct job *job, double now_s)
{
    user_of(f, job->owner, job->account)->served_s = now_s;
}

double fair_shares_served_s(const struct fair_shares *f, const struct job *job)
{
    const struct share_user *user = find(f, job->owner, job->account);

    return user ? user->served_s : NEVER_S;
}

/* ---- as seen by others ---- */

static void set_parts(struct fair_share *list, size_t count, int group_count)
{
    double *members = mem_array(double, (size_t)group_count + 1), groups = 0, used = 0;

    for (size_t i = 0; i < count; i++) {
        if (members[list[i].group] <= 0)
            groups += list[i].group_weight;
        members[list[i].group] += list[i].weight;
        used += list[i].used_s;
    }
    for (size_t i = 0; i < count; i++) {
        list[i].had = used > 0 ? list[i].used_s / used : 0;
        list[i].due =
            list[i].group_weight / groups * list[i].weight / members[list[i].group];
    }
    free(members);
}

struct fair_share *fair_shares_list(const struct fair_shares *f, double half_life_s,
                                    double now_s, size_t *count)
{
    struct fair_share *list = mem_array(struct fair_share, f->users.count + 1);

    for (size_t i = 0; i < f->users.count; i++) {
        const struct share_user *user = &f->users.items[i];
        bool alone = user->account[0] == '\0';
        struct fair_share *s = &list[i];

        *s = (struct fair_share){.owner = user->owner,
                                 .apart = user->apart != 0,
                                 .group = user->group,
                                 .weight = alone ? 1 : user->weight,
                                 .group_weight =
                                     alone ? user->weight : user->account_weight};
        str_copy(s->name, sizeof(s->name), user->name);
        str_copy(s->account, sizeof(s->account), user->account);
        if (half_life_s > 0)
            s->used_s = used_now_s(user, half_life_s, now_s);
    }
    set_parts(list, f->users.count, f->groups);
    *count = f->users.count;
    return list;
}

int fair_shares_place(const struct fair_shares *f, const struct job *job)
{
    const struct share_user *user = find(f, job->owner, job->account);

    return user ? (int)(user - f->users.items) : -1;
}

/* ---- keeping ---- */

static void code_user(struct codec *c, struct share_user *user)
{
    codec_int(c, &user->owner, INT_MIN, INT_MAX);
    codec_text(c, user->name, sizeof(user->name));
    codec_text(c, user->account, sizeof(user->account));
    codec_at_least(c, &user->weight, 1e-6);
    codec_at_least(c, &user->account_weight, 1e-6);
    codec_at_least(c, &user->used_s, 0);
    codec_real(c, &user->at_s);
    codec_real(c, &user->served_s);
}

static size_t count_users(const struct fair_shares *f, bool apart)
{
    size_t count = 0;

    vec_each (const struct share_user, user, &f->users)
        count += (user->apart != 0) == apart;
    return count;
}

/* Those of one sort, in their order. */
static void code_users(struct fair_shares *f, struct codec *c, bool apart)
{
    size_t count = codec_count(c, count_users(f, apart), USERS_MOST, 40), next = 0;

    for (size_t i = 0; i < count && !codec_bad(c); i++) {
        struct share_user user = {0};

        if (c->out) {
            while ((f->users.items[next].apart != 0) != apart)
                next++;
            user = f->users.items[next++];
        }
        code_user(c, &user);
        if (apart)
            user.apart = fair_shares_account(user.account);
        if (c->in && !codec_bad(c) && !find(f, user.owner, user.apart)) {
            user.group = group_of(f, user.account);
            add(f, &user);
        }
    }
}

void fair_shares_code(struct fair_shares *f, struct codec *c)
{
    code_users(f, c, false);
    if (c->out ? count_users(f, true) > 0 : !codec_bad(c) && c->in->left > 0)
        code_users(f, c, true); /* an older Corgi wrote none */
}
