/* tree.c - see tree.h */
#include "probe/tree.h"

#include "base/vec.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static ssize_t read_stat(pid_t pid, char *text, size_t size)
{
    char path[40];
    ssize_t length;
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    length = read(fd, text, size - 1);
    close(fd);
    if (length > 0)
        text[length] = '\0';
    return length;
}

int tree_read(pid_t pid, struct tree_process *process)
{
    unsigned long user, system;
    long children_user, children_system;
    unsigned long long start;
    char text[1024], state;
    const char *rest;
    int parent;

    if (read_stat(pid, text, sizeof(text)) <= 0)
        return -1;
    rest = strrchr(text, ')'); /* a name may hold anything, blanks and brackets too */
    if (!rest || sscanf(rest + 1,
                        " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %ld %ld %*d "
                        "%*d %*d %*d %llu",
                        &state, &parent, &user, &system, &children_user, &children_system,
                        &start) != 7)
        return -1;
    *process = (struct tree_process){
        .pid = pid,
        .parent = parent,
        .state = state,
        .cpu_s = (double)(user + system + (unsigned long)children_user +
                          (unsigned long)children_system) /
                 (double)sysconf(_SC_CLK_TCK),
        .start = start,
    };
    return 0;
}

static void read_all(struct tree *all)
{
    vec_of(struct tree_process) found = {0};
    DIR *proc = opendir("/proc");
    struct dirent *entry;
    struct tree_process process;

    while (proc && found.count < TREE_MAX && (entry = readdir(proc)))
        if (isdigit((unsigned char)entry->d_name[0]) &&
            tree_read((pid_t)atoi(entry->d_name), &process) == 0)
            vec_push(&found, process);
    if (proc)
        closedir(proc);
    all->items = found.items;
    all->count = found.count;
}

static bool holds(const struct tree *tree, size_t count, pid_t pid)
{
    for (size_t i = 0; i < count; i++)
        if (tree->items[i].pid == pid)
            return true;
    return false;
}

/* Move descendants to the front until none is found any more. */
void tree_list(struct tree *tree, pid_t root)
{
    size_t kept = 0, before;

    read_all(tree);
    do {
        before = kept;
        for (size_t i = kept; i < tree->count; i++) {
            struct tree_process process = tree->items[i];

            if (process.parent != root && !holds(tree, kept, process.parent))
                continue;
            tree->items[i] = tree->items[kept];
            tree->items[kept++] = process;
        }
    } while (kept > before);
    tree->count = kept;
}

void tree_fini(struct tree *tree)
{
    free(tree->items);
    *tree = (struct tree){0};
}

size_t tree_signal(pid_t root, int signal)
{
    struct tree tree;
    size_t living = 0;

    tree_list(&tree, root);
    for (size_t i = 0; i < tree.count; i++) {
        if (tree.items[i].state == 'Z')
            continue;
        living++;
        if (signal > 0)
            kill(tree.items[i].pid, signal);
    }
    tree_fini(&tree);
    return living;
}
