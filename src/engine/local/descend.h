/* descend.h - all processes below one, cheaply and often
 *
 * By the kernel's lists of children, without a look at the whole of /proc; the caller may
 * ask fifty times a second. */
#ifndef CORGI_ENGINE_LOCAL_DESCEND_H
#define CORGI_ENGINE_LOCAL_DESCEND_H

#include <stddef.h>
#include <sys/types.h>

#define DESCEND_MAX 4096 /* processes of a job that are looked at */

struct descend_list {
    pid_t *items; /* the caller frees */
    size_t count;
    size_t capacity;
};

/* Add all below the process, not itself. */
void descend(pid_t pid, struct descend_list *list);

#endif
