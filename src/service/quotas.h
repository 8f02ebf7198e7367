/* quotas.h - the quotas of users as the daemon keeps them
 *
 * loop/admit/user_quotas.h decides; this module knows the quotas, from the config and
 * from operators, and asks with the jobs there are. */
#pragma once

#include "service/service_private.h"

/* The quota in force for a user. */
struct user_quota quotas_of(const struct service *s, const char *user);

/* Set it in memory. */
void quotas_set(struct service *s, const struct user_quota *quota);

/* The question whether this user may have one more job. */
struct user_quota_ask quotas_ask(const struct service *s, const char *user);

/* Before a round: hide the jobs from the planner that are held back, and tell why. */
void quotas_apply(struct service *s);

/* As stored in the settings, under quota:USER. */
void quotas_save(struct store_batch *batch, const struct user_quota *quota);
void quotas_load(struct service *s, const char *name, const char *text);
