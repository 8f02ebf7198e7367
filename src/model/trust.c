/* trust.c - learned_absorb.c tells where users agree, ratios.c asks whom to believe */
#include "model/trust.h"

#include <limits.h>
#include <math.h>

/* About so many cells count of two users; older ones fade. */
#define CELLS_MEMORY 20.0

/* Two agree who agree on so many times more cells than they differ on. */
#define AGREE_SHARE 2.0

/* One never met is believed when so many agree with them, and this share of all users. */
#define WITNESSES     2
#define WITNESS_SHARE 0.2

/* Users kept; of more nothing is known. */
#define USERS_MAX      4096
#define PAIRS_MAX_KEPT (1 << 18)

void trust_init(struct trust *t, bool share)
{
    *t =
        (struct trust){.share = share, .index = map_create(), .pair_index = map_create()};
}

void trust_fini(struct trust *t)
{
    map_destroy(t->index);
    map_destroy(t->pair_index);
    vec_free(&t->users);
    vec_free(&t->pairs);
}

static uint64_t owner_key(int owner)
{
    return (uint64_t)(uint32_t)owner;
}

void trust_meet(struct trust *t, int owner)
{
    size_t at;

    if (map_get(t->index, owner_key(owner), &at) || t->users.count >= USERS_MAX)
        return;
    map_put(t->index, owner_key(owner), t->users.count);
    vec_push(&t->users, (struct trust_user){.owner = owner});
}

/* -1: they differ, 0: nobody knows, 1: they agree. */
static int verdict(const struct trust_pair *p)
{
    if (p->agree + p->differ <= 0)
        return 0;
    return p->agree > AGREE_SHARE * p->differ ? 1 : -1;
}

static bool find_pair(const struct trust *t, int one, int other, size_t *a, size_t *b,
                      uint64_t *key)
{
    if (!map_get(t->index, owner_key(one), a) ||
        !map_get(t->index, owner_key(other), b) || *a == *b)
        return false;
    if (*a > *b) {
        size_t swap = *a;

        *a = *b;
        *b = swap;
    }
    *key = (uint64_t)*a << 32 | (uint64_t)*b;
    return true;
}

static void count_verdict(struct trust *t, const struct trust_pair *p, int was, int is)
{
    struct trust_user *both[] = {&t->users.items[p->first], &t->users.items[p->second]};

    for (int i = 0; i < 2; i++) {
        both[i]->agree += (is > 0) - (was > 0);
        both[i]->differ += (is < 0) - (was < 0);
    }
    t->version += was != is;
}

static size_t add_pair(struct trust *t, uint64_t key, const struct trust_pair *pair)
{
    map_put(t->pair_index, key, t->pairs.count);
    vec_push(&t->pairs, *pair);
    return t->pairs.count - 1;
}

void trust_compare(struct trust *t, int one, int other, bool agree)
{
    struct trust_pair *p;
    size_t a, b, at;
    uint64_t key;
    int was;

    trust_meet(t, one);
    trust_meet(t, other);
    if (!find_pair(t, one, other, &a, &b, &key))
        return;
    if (!map_get(t->pair_index, key, &at)) {
        if (t->pairs.count >= PAIRS_MAX_KEPT)
            return;
        at = add_pair(t, key, &(struct trust_pair){.first = (int)a, .second = (int)b});
    }
    p = &t->pairs.items[at];
    was = verdict(p);
    if (p->agree + p->differ >= CELLS_MEMORY) {
        p->agree *= 1 - 1 / CELLS_MEMORY;
        p->differ *= 1 - 1 / CELLS_MEMORY;
    }
    p->agree += agree;
    p->differ += !agree;
    count_verdict(t, p, was, verdict(p));
}

bool trust_has(const struct trust *t, int asker, int other)
{
    const struct trust_user *u;
    size_t a, b, at;
    uint64_t key;
    int met = 0;

    if (asker == other)
        return true;
    if (!t->share || !map_get(t->index, owner_key(other), &at))
        return false;
    u = &t->users.items[at];
    if (find_pair(t, asker, other, &a, &b, &key) && map_get(t->pair_index, key, &at))
        met = verdict(&t->pairs.items[at]);
    if (met != 0)
        return met > 0;
    return u->agree >= WITNESSES && u->agree > AGREE_SHARE * u->differ &&
           u->agree >= WITNESS_SHARE * (double)t->users.count;
}

void trust_code(struct trust *t, struct codec *c)
{
    size_t users = codec_count(c, t->users.count, USERS_MAX, 8);
    size_t pairs;

    for (size_t i = 0; i < users; i++) {
        int owner = c->out ? t->users.items[i].owner : 0;

        codec_int(c, &owner, -1, INT_MAX);
        if (c->in)
            trust_meet(t, owner);
    }
    if (c->in && t->users.count != users)
        c->in->bad = true;
    pairs = codec_count(c, t->pairs.count, PAIRS_MAX_KEPT, 32);
    for (size_t i = 0; i < pairs && !codec_bad(c); i++) {
        struct trust_pair p = {0};

        if (c->out)
            p = t->pairs.items[i];
        codec_int(c, &p.first, 0, (int)users - 1);
        codec_int(c, &p.second, 0, (int)users - 1);
        codec_at_least(c, &p.agree, 0);
        codec_at_least(c, &p.differ, 0);
        if (!c->in)
            continue;
        if (c->in->bad || p.first >= p.second) {
            c->in->bad = true;
            return;
        }
        add_pair(t, (uint64_t)p.first << 32 | (uint64_t)p.second, &p);
        count_verdict(t, &p, 0, verdict(&p));
    }
}
