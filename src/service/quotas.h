/* quotas.h - how much of the cluster a user may have */
#ifndef CORGI_SERVICE_QUOTAS_H
#define CORGI_SERVICE_QUOTAS_H

#include "service/service_private.h"

/* The quota in force for a user: his own, that of `default`, or the config's. */
struct quota quotas_of(const struct service *s, const char *user);

/* Set it in memory; limits of -1 are none. */
void quotas_set(struct service *s, const struct quota *quota);

/* May he submit one more? */
int quotas_admit(const struct service *s, const char *user, struct err *err);

/* Before a round: jobs that would go beyond their user's quota of running jobs or GPUs
 * are hidden from the planner, in order of admission. */
void quotas_apply(struct service *s);

/* As stored in the settings, under quota:USER. */
void quotas_save(struct store_batch *batch, const struct quota *quota);
void quotas_load(struct service *s, const char *name, const char *text);

#endif
