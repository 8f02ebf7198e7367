/* learned_users.c - what the learned model pools over users: how noisy windows are, how
 * far jobs differ, how fast rates wander, what serving is faster by
 *
 * learned_absorb.c adds samples to their user's own account; what the model goes by is
 * the median over users (by_user.h), so that no few of them move it. */
#include "model/by_user.h"
#include "model/learned_private.h"

#include "base/mem.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>

/* Accounts kept; users beyond share them. */
#define USERS_MAX 1024

/* Where the learning of spreads starts: noise of windows, jobs of a class alone and
 * beside others. */
#define NOISE_SD       0.05
#define ALONE_SD       0.10
#define BESIDE_SD      0.08
#define SPREAD_SAMPLES 6.0

/* A training step costs three passes; a request one, with more overhead. */
#define SERVICE_FASTER 2.0
#define SERVICE_WEIGHT 0.5

void learned_users_init(struct learned *l)
{
    l->user_index = map_create();
    l->noise[0] = l->noise[1] = pooled_start(NOISE_SD * NOISE_SD, 1);
    l->alone = pooled_start(ALONE_SD * ALONE_SD, 1);
    l->beside = pooled_start(BESIDE_SD * BESIDE_SD, 1);
    l->wrong = DOUBT_SHARE;
    l->service =
        (struct learned_shift){log(SERVICE_FASTER), SERVICE_WEIGHT, log(SERVICE_FASTER)};
}

void learned_users_fini(struct learned *l)
{
    map_destroy(l->user_index);
    vec_free(&l->users);
}

static struct pooled as_now(const struct pooled *now)
{
    return pooled_start(pooled_var(now), SPREAD_SAMPLES);
}

static struct learned_user *add_user(struct learned *l, int owner)
{
    struct learned_user new = {
        .owner = owner,
        .noise = {as_now(&l->noise[0]), as_now(&l->noise[1])},
        .alone = as_now(&l->alone),
        .beside = as_now(&l->beside),
        .doubt = doubt_start(l->wrong, DOUBT_WINDOWS),
        .shift = {log(SERVICE_FASTER), SERVICE_WEIGHT},
    };

    map_put(l->user_index, (uint64_t)(uint32_t)owner, l->users.count);
    vec_push(&l->users, new);
    return &l->users.items[l->users.count - 1];
}

struct learned_user *learned_user(struct learned *l, int owner)
{
    size_t at;

    if (map_get(l->user_index, (uint64_t)(uint32_t)owner, &at))
        return &l->users.items[at];
    if (l->users.count >= USERS_MAX)
        return &l->users.items[(uint32_t)owner % USERS_MAX];
    return add_user(l, owner);
}

/* One figure of a user's account. */
typedef struct by_user figure_of(const struct learned_user *user);

static struct by_user of_pool(const struct pooled *p)
{
    return (struct by_user){pooled_var(p), p->weight};
}

static struct by_user noise_alone(const struct learned_user *u)
{
    return of_pool(&u->noise[0]);
}

static struct by_user noise_beside(const struct learned_user *u)
{
    return of_pool(&u->noise[1]);
}

static struct by_user spread_alone(const struct learned_user *u)
{
    return of_pool(&u->alone);
}

static struct by_user spread_beside(const struct learned_user *u)
{
    return of_pool(&u->beside);
}

static struct by_user wrong_of(const struct learned_user *u)
{
    return (struct by_user){doubt_share(&u->doubt), u->doubt.windows};
}

static struct by_user wander_of(const struct learned_user *u)
{
    return (struct by_user){u->wander / fmax(u->wander_s, 1e-9), u->wander_s};
}

static struct by_user product_of(const struct learned_user *u)
{
    return (struct by_user){u->products / fmax(u->product_weight, 1e-9),
                            u->product_weight};
}

static struct by_user shift_of(const struct learned_user *u)
{
    return (struct by_user){u->shift.mean, u->shift.weight};
}

static struct by_user notes_of(const struct learned_user *u)
{
    return (struct by_user){0, u->notes};
}

/* The figures of users that have one; the caller frees them. */
static struct by_user *figures(const struct learned *l, figure_of *of, size_t *count)
{
    struct by_user *all = mem_array(struct by_user, l->users.count + 1);

    *count = 0;
    vec_each (const struct learned_user, u, &l->users) {
        all[*count] = of(u);
        *count += all[*count].weight > 0;
    }
    return all;
}

/* The median over users; false when none has a figure.  weight: of all together. */
static bool over_users(const struct learned *l, figure_of *of, double *value,
                       double *weight)
{
    size_t count;
    struct by_user *all = figures(l, of, &count);

    if (count > 0) {
        *weight = by_user_weight(all, count);
        *value = by_user_median(all, count);
    }
    free(all);
    return count > 0;
}

static void combine_pool(const struct learned *l, figure_of *of, struct pooled *pool)
{
    double var, weight;

    if (over_users(l, of, &var, &weight))
        *pool = pooled_start(var, 1);
}

void learned_users_combine(struct learned *l)
{
    double value, weight;

    combine_pool(l, noise_alone, &l->noise[0]);
    combine_pool(l, noise_beside, &l->noise[1]);
    combine_pool(l, spread_alone, &l->alone);
    combine_pool(l, spread_beside, &l->beside);
    if (over_users(l, wrong_of, &value, &weight))
        l->wrong = value;
    if (over_users(l, wander_of, &value, &weight)) {
        l->wander = value * weight;
        l->wander_s = weight;
    }
    if (over_users(l, product_of, &value, &weight)) {
        l->products = value * weight;
        l->product_weight = weight;
    }
    if (over_users(l, shift_of, &value, &weight)) {
        l->service.mean = value;
        l->service.weight = weight;
    }
}

double learned_user_share(struct learned *l, int owner)
{
    struct learned_user *u = learned_user(l, owner);
    size_t count;
    struct by_user *all;
    double share;

    u->notes++;
    all = figures(l, notes_of, &count);
    share = fmin(1, by_user_cap(all, count) / u->notes);
    free(all);
    return share;
}

void learned_users_code(struct learned *l, struct codec *c)
{
    size_t count = codec_count(c, l->users.count, USERS_MAX, 100);

    for (size_t i = 0; i < count && !codec_bad(c); i++) {
        struct learned_user u = {0};

        if (c->out)
            u = l->users.items[i];
        codec_int(c, &u.owner, -1, INT_MAX);
        pooled_code(&u.noise[0], c);
        pooled_code(&u.noise[1], c);
        pooled_code(&u.alone, c);
        pooled_code(&u.beside, c);
        doubt_code(&u.doubt, c);
        codec_real(c, &u.wander);
        codec_at_least(c, &u.wander_s, 0);
        codec_real(c, &u.products);
        codec_at_least(c, &u.product_weight, 0);
        codec_real(c, &u.shift.mean);
        codec_at_least(c, &u.shift.weight, 0);
        codec_at_least(c, &u.notes, 0);
        if (c->in)
            *add_user(l, u.owner) = u;
    }
    if (c->in && !c->in->bad)
        learned_users_combine(l);
}
