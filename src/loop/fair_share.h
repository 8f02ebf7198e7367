/* fair_share.h - what each user has had of the cluster, against what is theirs
 *
 * A user's use is the GPU-seconds their jobs held, a shared GPU in equal parts, halved
 * with every half-life (optimize_settings.fair_share_s).  Accounts have parts of the
 * cluster by their weights, users parts of their account by theirs; a user without an
 * account stands beside the accounts.  queue_order.h serves first who has had least. */
#pragma once

#include "loop/types.h"

struct codec;
struct fair_shares;

struct fair_share_rule {
    int owner; /* job.owner */
    const char *name;
    const char *account;           /* NULL: none */
    double weight, account_weight; /* > 0 */
};

struct fair_shares *fair_shares_create(void);
void fair_shares_destroy(struct fair_shares *shares); /* NULL is fine */
struct fair_shares *fair_shares_dup(const struct fair_shares *shares);

/* Whoever is not told of has weight 1 and no account. */
void fair_shares_tell(struct fair_shares *shares, const struct fair_share_rule *rule);

/* The user is there, with nothing used yet if they are new. */
void fair_shares_meet(struct fair_shares *shares, int owner);
size_t fair_shares_users(const struct fair_shares *shares);

/* So many GPU-seconds were held, up to now. */
void fair_shares_use(struct fair_shares *shares, int owner, double gpu_s,
                     double half_life_s, double now_s);

/* A job of this user got its devices; and when that last was so; long ago:
 * never. */
void fair_shares_serve(struct fair_shares *shares, int owner, double now_s);
double fair_shares_served_s(const struct fair_shares *shares, int owner);

/* A user as the queue and people see them. */
struct fair_share {
    int owner;
    char name[LOOP_NAME_SIZE];    /* "": never told */
    char account[LOOP_NAME_SIZE]; /* "": none */
    int group;                    /* of one account, or alone: from 0 on */
    double weight, group_weight;
    double used_s; /* GPU-seconds, as they count now */
    double had;    /* part of what all users had; 0 when nobody had any */
    double due;    /* part by weights, of the users known here */
};

/* All users known, in the order they came; the caller frees.  And the place of one of
 * them there; -1: not known. */
struct fair_share *fair_shares_list(const struct fair_shares *shares, double half_life_s,
                                    double now_s, size_t *count);

int fair_shares_place(const struct fair_shares *shares, int owner);

void fair_shares_code(struct fair_shares *shares, struct codec *codec);
