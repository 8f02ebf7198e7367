/* user_shares.h - parts of the cluster as the daemon knows them: names, accounts and
 * weights of the config for the loop, what users had and are due for people */
#pragma once

#include "service/service_private.h"

/* The loop is told whose job this is before it gets it. */
void user_shares_tell(struct service *s, const struct record *r);
/* The config has changed: of all users known. */
void user_shares_tell_all(struct service *s);

/* Of this user among those known; false: none. */
bool user_shares_find(const struct fair_share *users, size_t count, const char *user,
                      struct fair_share *found);

/* Members account, weight, gpu_s, had and due of an object that is open. */
void user_shares_members(struct json_out *out, const struct fair_share *user);

/* All users the loop knows, as they stand now; the caller frees. */
struct fair_share *user_shares_list(const struct service *s, size_t *count);
