/* procs.h - the processes of this machine, and which of them belong together
 *
 * One look at /proc gives every process with its parent, session, processor time and
 * memory.  A process is named by its number and its start time, so that a number the
 * kernel gave to somebody else is never signalled. */
#ifndef CORGI_ENGINE_LOCAL_PROCS_H
#define CORGI_ENGINE_LOCAL_PROCS_H

#include "base/err.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct procs_id {
    pid_t pid;
    uint64_t start; /* in clock ticks since boot */
};

struct procs_one {
    struct procs_id id;
    pid_t parent;
    pid_t session;
    char state;       /* R, S, D, Z, ... */
    double cpu_s;     /* its own and that of children it has waited for */
    double rss_bytes; /* resident */
};

struct procs {
    vec_of(struct procs_one) all; /* by pid, ascending */
};

struct procs_ids {
    struct procs_id *items;
    size_t count;
    size_t capacity;
};

/* Replace the list by what there is now; processes that end meanwhile are left out. */
int procs_read(struct procs *procs, struct err *err);
void procs_fini(struct procs *procs);
const struct procs_one *procs_find(const struct procs *procs, pid_t pid);

/* One process; false when it is gone. */
bool procs_look(pid_t pid, struct procs_one *one);

/* Is this very process there and not a zombie? */
bool procs_alive(struct procs_id id);

/* Signal this very process, never another one with its number; false when it is gone. */
bool procs_signal(struct procs_id id, int signal);

/* Add to `members` the roots that are there, all below them, all that were members
 * before, and all in a session of one of these.  A session of `not_session` does not
 * count: it is the caller's own.  What is gone is dropped from the list. */
void procs_collect(const struct procs *procs, struct procs_ids *members,
                   pid_t not_session);

/* Does the environment a process was started with hold all these NAME=value?  False when
 * it cannot be read. */
bool procs_environ_has(pid_t pid, const char *const *wanted, size_t count);

/* The value of a name there, cut to the size; false when there is none. */
bool procs_environ_get(pid_t pid, const char *name, char *value, size_t size);

#endif
