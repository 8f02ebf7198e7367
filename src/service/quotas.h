/* quotas.h - the quotas of users, accounts, QOS and partitions as the daemon keeps them
 *
 * loop/admit/user_quotas.h decides; this module knows the quotas, from the config and
 * from operators, and asks with the jobs there are. */
#pragma once

#include "service/service_private.h"

/* The quota in force for a user, or under the key of a group. */
struct user_quota quotas_of(const struct service *s, const char *user);

/* Set it in memory. */
void quotas_set(struct service *s, const struct user_quota *quota);
/* Those of the config, where no operator has set another; others of it are over. */
void quotas_take_config(struct service *s);

/* The question whether this user may have one more job that belongs there (NULL: not
 * known where). */
struct user_quota_ask quotas_ask(const struct service *s, const char *user,
                                 const struct job_groups *there);

/* Before a round: hide the jobs from the planner that are held back, and tell why. */
void quotas_apply(struct service *s);

/* As stored in the settings, under quota:USER. */
void quotas_save(struct store_batch *batch, const struct user_quota *quota);
void quotas_load(struct service *s, const char *name, const char *text);
