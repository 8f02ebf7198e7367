/* process.h - the processes of this machine, and which of them belong together
 *
 * One look at /proc gives every process with its parent, session, processor time and
 * memory.  A process is named by its number and its start time, so that a number which
 * the kernel has given to another process is never signalled. */
#pragma once

#include "base/err.h"
#include "base/vec.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct process_id {
    pid_t pid;
    uint64_t start; /* in clock ticks since boot */
};

struct process {
    struct process_id id;
    pid_t parent;
    pid_t session;
    char state;       /* R, S, D, Z, ... */
    double cpu_s;     /* its own and that of children it has waited for, in ticks */
    double waited_s;  /* of which these children's */
    double rss_bytes; /* resident */
};

struct process_table {
    vec_of(struct process) all; /* by pid, ascending */
};

struct process_ids {
    struct process_id *items;
    size_t count;
    size_t capacity;
};

/* One process; false when it is gone. */
bool process_read(pid_t pid, struct process *process);

/* Processor time of all its threads, to the nanosecond; NaN when it is gone. */
double process_clock_s(pid_t pid);

/* Adds each of its threads and the processor time it has used, up to PROCESS_THREADS_MAX
 * in the list; nothing when it is gone or the kernel does not count by thread. */
#define PROCESS_THREADS_MAX 1024
struct process_thread {
    pid_t id;
    double cpu_s;
};
struct process_threads {
    struct process_thread *items; /* the caller frees */
    size_t count;
    size_t capacity;
};
void process_threads_add(pid_t pid, struct process_threads *threads);

/* Who it runs as; false when it is gone. */
bool process_user(pid_t pid, uid_t *uid);

/* Is this very process there and not a zombie? */
bool process_alive(struct process_id id);

/* Signal this very process, never another one with its number; false when it is gone. */
bool process_signal(struct process_id id, int signal);

/* In a new process before exec: every signal as a fresh process has it, and this mask. */
void process_reset_signals(const sigset_t *mask);

/* Replace the table by what there is now; processes that end meanwhile are left out. */
int process_table_read(struct process_table *table, struct err *err);
void process_table_fini(struct process_table *table);
const struct process *process_table_find(const struct process_table *table, pid_t pid);

/* Replace the table by all that is below the process, without itself. */
int process_table_below(struct process_table *table, pid_t root, struct err *err);

/* Add to `members` all below them and all in a session of one of them.  The session
 * `not_session` does not count: it is the caller's own.  Processes that are gone are
 * dropped from the list. */
void process_table_collect(const struct process_table *table, struct process_ids *members,
                           pid_t not_session);

/* The numbers of all below a process, cheaply: by the kernel's lists of children, without
 * a look at the whole of /proc.  A caller may ask fifty times a second. */
#define PROCESS_CHILDREN_MAX 4096 /* more are left out */
struct process_children {
    pid_t *items; /* the caller frees */
    size_t count;
    size_t capacity;
};
void process_children_add(pid_t pid, struct process_children *list);

/* Does the environment a process was started with hold all these NAME=value?  False when
 * it cannot be read. */
bool process_environ_has(pid_t pid, const char *const *wanted, size_t count);

/* The value of a name there, cut to the size; false when there is none. */
bool process_environ_get(pid_t pid, const char *name, char *value, size_t size);
