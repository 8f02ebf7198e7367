/* trust.h - which users' measurements inform which others
 *
 * Two users of one name for a kind of job may mean two programs, and one of them may lie.
 * Where both measured the same kind on the same type of GPU their measurements agree or
 * differ; that is counted for each two users.  A user believes another with whom they
 * agree; one they never met on a kind, when enough others agree with that one: two at
 * least, and a fifth of all, so that a few who agree among themselves do not suffice. */
#pragma once

#include "base/map.h"
#include "base/vec.h"
#include "model/codec.h"

struct trust_user {
    int owner;
    int agree, differ; /* users they agree with, differ from */
};

struct trust_pair { /* of users, the smaller index first */
    int first, second;
    double agree, differ; /* cells, fading */
};

struct trust {
    bool share;        /* no: nobody believes anybody else */
    struct map *index; /* owner -> users */
    vec_of(struct trust_user) users;
    struct map *pair_index;
    vec_of(struct trust_pair) pairs;
    uint64_t version; /* counts up when somebody is believed or is no more */
};

void trust_init(struct trust *trust, bool share);
void trust_fini(struct trust *trust);

/* There is such a user. */
void trust_meet(struct trust *trust, int owner);

/* Both measured the same. */
void trust_compare(struct trust *trust, int one, int other, bool agree);

/* Does what `other` measured inform `asker`? */
bool trust_has(const struct trust *trust, int asker, int other);

void trust_code(struct trust *trust, struct codec *c);
