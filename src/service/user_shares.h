/* user_shares.h - parts of the cluster as the daemon knows them: names, accounts and
 * weights of the config for the loop, what users had and are due for people */
#pragma once

#include "service/service_private.h"

/* The loop is told whose job this is, and the job what it is reckoned to, before the loop
 * gets it. */
void user_shares_tell(struct service *s, struct record *r);
/* What it belongs to has changed, or the config: what it is reckoned to now. */
void user_shares_reckon(struct service *s, struct record *r);
/* The config has changed: of all users known, and of all jobs. */
void user_shares_tell_all(struct service *s);

/* What a job of this user is reckoned to, as job.account. */
uint64_t user_shares_account(const struct service *s, const char *user,
                             const struct job_groups *there);

/* What all users together had of a group that has a part, by its key; false: it has none,
 * or nobody had any of it. */
bool user_shares_of_group(const struct fair_share *users, size_t count, const char *key,
                          struct fair_share *sum);

/* Members account, weight, gpu_s, had and due of an object that is open. */
void user_shares_members(struct json_out *out, const struct fair_share *user);

/* All users the loop knows, as they stand now; the caller frees. */
struct fair_share *user_shares_list(const struct service *s, size_t *count);
