/* procs.c - see procs.h */
#include "engine/local/procs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ENVIRON_MAX_BYTES (2U << 20) /* the kernel allows more, jobs have less */
#define STAT_SIZE         1024

/* The whole of a small /proc file, terminated; its length, or -1. */
static ssize_t read_small(const char *path, char *buffer, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n;

    if (fd < 0)
        return -1;
    n = read(fd, buffer, size - 1);
    close(fd);
    if (n >= 0)
        buffer[n] = '\0';
    return n;
}

/* The command's name may hold anything, blanks and brackets too: the fields that count
 * come after the last bracket. */
static bool parse_stat(const char *text, struct procs_one *one)
{
    const char *after = strrchr(text, ')');
    unsigned long long utime, stime, start;
    long long cutime, cstime, rss;
    double tick = (double)sysconf(_SC_CLK_TCK);
    int parent, session;
    char state;

    if (!after ||
        sscanf(after + 1,
               " %c %d %*d %d %*d %*d %*u %*u %*u %*u %*u %llu %llu %lld %lld %*d %*d "
               "%*d %*d %llu %*u %lld",
               &state, &parent, &session, &utime, &stime, &cutime, &cstime, &start,
               &rss) != 9)
        return false;
    one->state = state;
    one->parent = parent;
    one->session = session;
    one->id.start = start;
    one->cpu_s = ((double)utime + (double)stime + (double)cutime + (double)cstime) / tick;
    one->rss_bytes = (double)rss * (double)sysconf(_SC_PAGESIZE);
    return true;
}

bool procs_look(pid_t pid, struct procs_one *one)
{
    char path[64], text[STAT_SIZE];

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    if (read_small(path, text, sizeof(text)) <= 0)
        return false;
    one->id.pid = pid;
    return parse_stat(text, one);
}

static int by_pid(const void *a, const void *b)
{
    const struct procs_one *one = a, *other = b;

    return (one->id.pid > other->id.pid) - (one->id.pid < other->id.pid);
}

int procs_read(struct procs *procs, struct err *err)
{
    DIR *dir = opendir("/proc");
    const struct dirent *entry;

    if (!dir)
        return err_sys(err, "cannot read /proc");
    vec_clear(&procs->all);
    while ((entry = readdir(dir))) {
        struct procs_one one;
        char *end;
        long pid = strtol(entry->d_name, &end, 10);

        if (pid > 0 && !*end && procs_look((pid_t)pid, &one))
            vec_push(&procs->all, one);
    }
    closedir(dir);
    if (procs->all.count > 0)
        qsort(procs->all.items, procs->all.count, sizeof(*procs->all.items), by_pid);
    return 0;
}

void procs_fini(struct procs *procs)
{
    vec_free(&procs->all);
}

const struct procs_one *procs_find(const struct procs *procs, pid_t pid)
{
    struct procs_one key = {.id.pid = pid};

    if (procs->all.count == 0)
        return NULL;
    return bsearch(&key, procs->all.items, procs->all.count, sizeof(key), by_pid);
}

bool procs_alive(struct procs_id id)
{
    struct procs_one one;

    return id.pid > 0 && procs_look(id.pid, &one) && one.id.start == id.start &&
           one.state != 'Z' && one.state != 'X';
}

/* The descriptor pins the process: when its start time is the right one after the
 * descriptor was made, the signal can only reach this very process. */
bool procs_signal(struct procs_id id, int signal)
{
    int fd = id.pid > 0 ? (int)syscall(SYS_pidfd_open, id.pid, 0) : -1;
    bool sent = false;

    if (fd < 0)
        return false;
    if (procs_alive(id))
        sent = syscall(SYS_pidfd_send_signal, fd, signal, NULL, 0) == 0;
    close(fd);
    return sent;
}

static bool has_session(const pid_t *sessions, size_t count, pid_t session)
{
    for (size_t i = 0; i < count; i++)
        if (sessions[i] == session)
            return true;
    return false;
}

static void mark_known(const struct procs *procs, const struct procs_ids *members,
                       bool *mark)
{
    for (size_t i = 0; i < members->count; i++) {
        const struct procs_one *one = procs_find(procs, members->items[i].pid);

        if (one && one->id.start == members->items[i].start)
            mark[one - procs->all.items] = true;
    }
}

/* A child may have a smaller number than its parent, and a session may show late: go
 * round until nothing is new. */
static void mark_related(const struct procs *procs, bool *mark, pid_t not_session)
{
    size_t n = procs->all.count;
    vec_of(pid_t) sessions = {0};
    bool *seen = mem_array(bool, n ? n : 1); /* its session is in the list */
    bool more = true;

    while (more) {
        more = false;
        for (size_t i = 0; i < n; i++) {
            const struct procs_one *one = &procs->all.items[i];
            const struct procs_one *parent = procs_find(procs, one->parent);

            if (!mark[i] && ((parent && mark[parent - procs->all.items]) ||
                             has_session(sessions.items, sessions.count, one->session)))
                mark[i] = more = true;
            if (mark[i] && !seen[i]) {
                seen[i] = more = true;
                if (one->session > 1 && one->session != not_session &&
                    !has_session(sessions.items, sessions.count, one->session))
                    vec_push(&sessions, one->session);
            }
        }
    }
    vec_free(&sessions);
    free(seen);
}

void procs_collect(const struct procs *procs, struct procs_ids *members,
                   pid_t not_session)
{
    size_t n = procs->all.count;
    bool *mark = mem_array(bool, n ? n : 1);

    mark_known(procs, members, mark);
    mark_related(procs, mark, not_session);
    vec_clear(members);
    for (size_t i = 0; i < n; i++)
        if (mark[i])
            vec_push(members, procs->all.items[i].id);
    free(mark);
}

/* The caller frees; NULL when it cannot be read. */
static char *read_environ(pid_t pid, size_t *length)
{
    char path[64];
    size_t capacity = 16384, used = 0;
    char *bytes = NULL;
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    bytes = mem_array(char, capacity);
    while (used < ENVIRON_MAX_BYTES) {
        ssize_t n;

        if (used + 1 == capacity) {
            bytes = mem_resize(bytes, capacity, capacity * 2, 1);
            capacity *= 2;
        }
        n = read(fd, bytes + used, capacity - used - 1);
        if (n <= 0)
            break;
        used += (size_t)n;
    }
    close(fd);
    bytes[used] = '\0';
    *length = used;
    return bytes;
}

bool procs_environ_has(pid_t pid, const char *const *wanted, size_t count)
{
    size_t length = 0, found = 0;
    char *bytes = read_environ(pid, &length);

    for (size_t w = 0; bytes && w < count; w++)
        for (size_t at = 0; at < length; at += strlen(bytes + at) + 1)
            if (strcmp(bytes + at, wanted[w]) == 0) {
                found++;
                break;
            }
    free(bytes);
    return count > 0 && found == count;
}

bool procs_environ_get(pid_t pid, const char *name, char *value, size_t size)
{
    size_t length = 0, name_length = strlen(name);
    char *bytes = read_environ(pid, &length);
    bool found = false;

    if (!bytes)
        return false;
    for (size_t at = 0; at < length && !found; at += strlen(bytes + at) + 1)
        if (strncmp(bytes + at, name, name_length) == 0 &&
            bytes[at + name_length] == '=') {
            snprintf(value, size, "%s", bytes + at + name_length + 1);
            found = true;
        }
    free(bytes);
    return found;
}
