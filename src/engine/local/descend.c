/* descend.c - see descend.h */
#include "engine/local/descend.h"

#include "base/vec.h"
#include "engine/local/procs.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CHILDREN_SIZE 16384

static void add_listed(const char *text, struct descend_list *list)
{
    char *end;

    for (long pid = strtol(text, &end, 10); end != text && pid > 0;
         pid = strtol(text, &end, 10)) {
        if (list->count < DESCEND_MAX)
            vec_push(list, (pid_t)pid);
        text = end;
    }
}

static void add_children_of_thread(pid_t pid, const char *thread,
                                   struct descend_list *list)
{
    char path[64], text[CHILDREN_SIZE];
    ssize_t n;
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/task/%.12s/children", (int)pid, thread);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return; /* it has just ended */
    n = read(fd, text, sizeof(text) - 1);
    close(fd);
    if (n > 0) {
        text[n] = '\0';
        add_listed(text, list);
    }
}

static void add_children(pid_t pid, struct descend_list *list)
{
    char path[64];
    const struct dirent *entry;
    DIR *dir;

    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    dir = opendir(path);
    while (dir && (entry = readdir(dir)))
        if (entry->d_name[0] != '.')
            add_children_of_thread(pid, entry->d_name, list);
    if (dir)
        closedir(dir);
}

/* For kernels without lists of children: a look at everything. */
static void add_by_parents(pid_t pid, struct descend_list *list)
{
    struct procs procs = {0};
    struct procs_ids members = {0};
    struct procs_one root;
    struct err err;

    if (procs_look(pid, &root) && procs_read(&procs, &err) == 0) {
        vec_push(&members, root.id);
        procs_collect(&procs, &members, root.session);
        for (size_t i = 0; i < members.count && list->count < DESCEND_MAX; i++)
            if (members.items[i].pid != pid)
                vec_push(list, members.items[i].pid);
    }
    vec_free(&members);
    procs_fini(&procs);
}

void descend(pid_t pid, struct descend_list *list)
{
    size_t next = list->count;

    if (access("/proc/thread-self/children", F_OK) != 0) {
        add_by_parents(pid, list);
        return;
    }
    add_children(pid, list);
    for (; next < list->count; next++)
        add_children(list->items[next], list);
}
