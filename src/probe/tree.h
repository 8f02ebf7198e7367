/* tree.h - the processes below this one, by a look through /proc
 *
 * The probe is the reaper of everything the job starts, so whatever detaches itself from
 * its parents is still below the probe. */
#ifndef CORGI_PROBE_TREE_H
#define CORGI_PROBE_TREE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define TREE_MAX 65536 /* processes looked at */

struct tree_process {
    pid_t pid, parent;
    char state;     /* 'Z': a zombie */
    double cpu_s;   /* its own and of the children it has waited for */
    uint64_t start; /* jiffies after boot: tells one process from a later one */
};

struct tree {
    struct tree_process *items;
    size_t count;
};

/* All living descendants of root, without root itself; end it with tree_fini(). */
void tree_list(struct tree *tree, pid_t root);
void tree_fini(struct tree *tree);

/* Send the signal to every process of a fresh list; returns how many were not zombies. */
size_t tree_signal(pid_t root, int signal);

/* One process; false when there is none. */
int tree_read(pid_t pid, struct tree_process *process);

#endif
