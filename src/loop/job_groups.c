/* job_groups.c - see job_groups.h; admit/user_quotas.c and service/ name quotas by these
 * keys, service_config.c parts of the cluster */
#include "loop/job_groups.h"

#include "base/str.h"

#include <stdio.h>
#include <string.h>

const char *const job_group_kinds[JOB_GROUPS] = {"account", "qos", "partition"};

static const char *const words[JOB_GROUPS] = {"account ", "QOS ", "partition "};

void job_group_key(enum job_group kind, const char *name, char key[JOB_GROUP_KEY_SIZE])
{
    snprintf(key, JOB_GROUP_KEY_SIZE, "%s:%.*s", job_group_kinds[kind],
             LOOP_NAME_SIZE - 1, name);
}

bool job_groups_key(const struct job_groups *groups, enum job_group kind,
                    char key[JOB_GROUP_KEY_SIZE])
{
    const char *list = groups->names[kind];
    char name[LOOP_NAME_SIZE];

    if (!str_next_word(&list, name, sizeof(name)) || !name[0])
        return false;
    job_group_key(kind, name, key);
    return true;
}

enum job_group job_group_of(const char *key, const char **name)
{
    *name = key;
    for (int kind = 0; kind < JOB_GROUPS; kind++) {
        size_t length = strlen(job_group_kinds[kind]);

        if (str_starts(key, job_group_kinds[kind]) && key[length] == ':') {
            *name = key + length + 1;
            return (enum job_group)kind;
        }
    }
    return JOB_GROUPS;
}

void job_group_say(const char *key, char *text, size_t size)
{
    const char *name;
    enum job_group kind = job_group_of(key, &name);

    snprintf(text, size, "%s%s", kind < JOB_GROUPS ? words[kind] : "", name);
}
