/* job_groups.h - what a job belongs to beside its user: account, QOS, partition
 *
 * An engine that has such things says them of each job (Slurm does); quotas and parts of
 * the cluster may be given to them.  There they are known by a key, "account:NAME", which
 * no user has as a name. */
#pragma once

#include "loop/types.h"

enum job_group { JOB_GROUP_ACCOUNT, JOB_GROUP_QOS, JOB_GROUP_PARTITION, JOB_GROUPS };

#define JOB_GROUP_KEY_SIZE (LOOP_NAME_SIZE + 16)

/* "": it belongs to none. */
struct job_groups {
    char names[JOB_GROUPS][LOOP_NAME_SIZE];
};

extern const char *const job_group_kinds[JOB_GROUPS]; /* as in keys: "account", ... */

/* The key of what a job belongs to; of several partitions, with commas between, that of
 * the first.  False: it belongs to none. */
bool job_groups_key(const struct job_groups *groups, enum job_group kind,
                    char key[JOB_GROUP_KEY_SIZE]);

void job_group_key(enum job_group kind, const char *name, char key[JOB_GROUP_KEY_SIZE]);

/* Whose key it is, and the name in it; JOB_GROUPS and all of it: a user's. */
enum job_group job_group_of(const char *key, const char **name);

/* The same for people: "account NAME", of a user the name alone. */
void job_group_say(const char *key, char *text, size_t size);
