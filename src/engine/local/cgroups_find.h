/* cgroups_find.h - which cgroup hierarchies this process may build in
 *
 * Reads /proc/self/mountinfo and /proc/self/cgroup, and tries. */
#ifndef CORGI_ENGINE_LOCAL_CGROUPS_FIND_H
#define CORGI_ENGINE_LOCAL_CGROUPS_FIND_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

enum cgroups_role {
    CGROUPS_CPU = 1,
    CGROUPS_MEMORY = 2,
    CGROUPS_ACCOUNT = 4, /* counts processor time */
    CGROUPS_KILL = 8,    /* has cgroup.kill */
};

struct cgroups_tree {
    int version;         /* 1 or 2 */
    unsigned roles;      /* bits of enum cgroups_role */
    char base[PATH_MAX]; /* our folder */
};

/* Fills at most capacity trees in which our folder `name` could be made. */
size_t cgroups_find(const char *proc, const char *name, bool memory,
                    struct cgroups_tree *trees, size_t capacity);

/* Write a text to a file of a group; false when the kernel refuses. */
bool cgroups_write(const char *dir, const char *file, const char *text);
/* Read one, at most size - 1 bytes; false when it is not there. */
bool cgroups_read(const char *dir, const char *file, char *text, size_t size);

#endif
