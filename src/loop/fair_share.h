/* fair_share.h - what each user has had of the cluster, against what is theirs
 *
 * A user's use is the GPU-seconds their jobs held, a shared GPU in equal parts, halved
 * with every half-life (optimize_settings.fair_share_s).  Accounts have parts of the
 * cluster by their weights, users parts of their account by theirs; a user without an
 * account stands beside the accounts.  A job may say itself what account it is reckoned
 * to (job.account): then its user is another one there, with what was had of it alone.
 * queue_order.h serves first who has had least. */
#pragma once

#include "loop/types.h"

struct codec;
struct fair_shares;

struct fair_share_rule {
    int owner; /* job.owner */
    const char *name;
    const char *account;           /* NULL: none */
    double weight, account_weight; /* > 0 */
    bool apart; /* of the jobs that say this account themselves, not of the user's others
                 */
};

/* job.account of jobs that say this account themselves. */
uint64_t fair_shares_account(const char *account);

struct fair_shares *fair_shares_create(void);
void fair_shares_destroy(struct fair_shares *shares); /* NULL is fine */
struct fair_shares *fair_shares_dup(const struct fair_shares *shares);

/* Whoever is not told of has weight 1 and no account. */
void fair_shares_tell(struct fair_shares *shares, const struct fair_share_rule *rule);

/* Nothing is reckoned to the account by the word of jobs any more: what this user had of
 * it so is theirs. */
void fair_shares_fold(struct fair_shares *shares, int owner, const char *account,
                      double half_life_s, double now_s);

/* The user of the job is there, with nothing used yet if they are new. */
void fair_shares_meet(struct fair_shares *shares, const struct job *job);
size_t fair_shares_users(const struct fair_shares *shares);

/* It held so many GPU-seconds, up to now. */
void fair_shares_use(struct fair_shares *shares, const struct job *job, double gpu_s,
                     double half_life_s, double now_s);

/* The job got its devices; and when one of its user last did so; long ago: never. */
void fair_shares_serve(struct fair_shares *shares, const struct job *job, double now_s);
double fair_shares_served_s(const struct fair_shares *shares, const struct job *job);

/* A user as the queue and people see them. */
struct fair_share {
    int owner;
    char name[LOOP_NAME_SIZE];    /* "": never told */
    char account[LOOP_NAME_SIZE]; /* "": none */
    bool apart;                   /* as in the rule */
    int group;                    /* of one account, or alone: from 0 on */
    double weight, group_weight;
    double used_s; /* GPU-seconds, as they count now */
    double had;    /* part of what all users had; 0 when nobody had any */
    double due;    /* part by weights, of the users known here */
};

/* All users known, in the order they came; the caller frees.  And the place there of the
 * one a job is reckoned to; -1: not known. */
struct fair_share *fair_shares_list(const struct fair_shares *shares, double half_life_s,
                                    double now_s, size_t *count);

int fair_shares_place(const struct fair_shares *shares, const struct job *job);

void fair_shares_code(struct fair_shares *shares, struct codec *codec);
