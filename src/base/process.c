/* process.c - /proc as a table of processes, see process.h
 *
 * The local engine finds, counts and kills the processes of its jobs with this;
 * corgi-probe looks at all that is below itself. */
#include "base/process.h"

#include "base/file.h"
#include "base/parse.h"
#include "base/str.h"

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ENVIRON_MAX_BYTES (8U << 20) /* the kernel gives no process more */
#define STAT_SIZE         1024
#define CHILDREN_SIZE     16384

/* The command's name may hold anything, blanks and brackets too: the fields that count
 * come after the last bracket. */
static bool parse_stat(const char *text, struct process *process)
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
    process->state = state;
    process->parent = parent;
    process->session = session;
    process->id.start = start;
    process->waited_s = ((double)cutime + (double)cstime) / tick;
    process->cpu_s = ((double)utime + (double)stime) / tick + process->waited_s;
    process->rss_bytes = (double)rss * (double)sysconf(_SC_PAGESIZE);
    return true;
}

bool process_read(pid_t pid, struct process *process)
{
    char path[64], text[STAT_SIZE];

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    if (file_head(path, text, sizeof(text)) <= 0)
        return false;
    process->id.pid = pid;
    return parse_stat(text, process);
}

double process_clock_s(pid_t pid)
{
    struct timespec t;
    clockid_t clock;

    if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &t) != 0)
        return NAN;
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

void process_threads_add(pid_t pid, struct process_threads *threads)
{
    char path[64], text[128];
    const struct dirent *entry;
    DIR *dir;

    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    dir = opendir(path);
    if (!dir)
        return;
    while (threads->count < PROCESS_THREADS_MAX && (entry = readdir(dir))) {
        unsigned long long ns;
        int id;

        if (!parse_int(entry->d_name, &id))
            continue; /* . and .. */
        snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", (int)pid, id);
        if (file_head(path, text, sizeof(text)) > 0 && sscanf(text, "%llu", &ns) == 1)
            vec_push(threads, (struct process_thread){id, (double)ns / 1e9});
    }
    closedir(dir);
}

bool process_user(pid_t pid, uid_t *uid)
{
    char path[64], text[2048];
    const char *line;
    unsigned real;

    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    if (file_head(path, text, sizeof(text)) <= 0)
        return false;
    line = strstr(text, "\nUid:");
    if (!line || sscanf(line, "\nUid: %u", &real) != 1)
        return false;
    *uid = real;
    return true;
}

bool process_alive(struct process_id id)
{
    struct process process;

    return id.pid > 0 && process_read(id.pid, &process) && process.id.start == id.start &&
           process.state != 'Z' && process.state != 'X';
}

/* The descriptor pins the process: when its start time is the right one after the
 * descriptor was made, the signal can only reach this very process. */
bool process_signal(struct process_id id, int signal)
{
    int fd = id.pid > 0 ? (int)syscall(SYS_pidfd_open, id.pid, 0) : -1;
    bool sent = false;

    if (fd < 0)
        return false;
    if (process_alive(id))
        sent = syscall(SYS_pidfd_send_signal, fd, signal, NULL, 0) == 0;
    close(fd);
    return sent;
}

void process_reset_signals(const sigset_t *mask)
{
    struct sigaction usual = {.sa_handler = SIG_DFL};

    for (int s = 1; s < NSIG; s++)
        sigaction(s, &usual, NULL); /* refused for some, which are as they must be */
    sigprocmask(SIG_SETMASK, mask, NULL);
}

static int by_pid(const void *a, const void *b)
{
    const struct process *one = a, *other = b;

    return (one->id.pid > other->id.pid) - (one->id.pid < other->id.pid);
}

int process_table_read(struct process_table *table, struct err *err)
{
    DIR *dir = opendir("/proc");
    const struct dirent *entry;

    if (!dir)
        return err_sys(err, "cannot read /proc");
    vec_clear(&table->all);
    while ((entry = readdir(dir))) {
        struct process process;
        char *end;
        long pid = strtol(entry->d_name, &end, 10);

        if (pid > 0 && !*end && process_read((pid_t)pid, &process))
            vec_push(&table->all, process);
    }
    closedir(dir);
    if (table->all.count > 0)
        qsort(table->all.items, table->all.count, sizeof(*table->all.items), by_pid);
    return 0;
}

void process_table_fini(struct process_table *table)
{
    vec_free(&table->all);
}

const struct process *process_table_find(const struct process_table *table, pid_t pid)
{
    struct process key = {.id.pid = pid};

    if (table->all.count == 0)
        return NULL;
    return bsearch(&key, table->all.items, table->all.count, sizeof(key), by_pid);
}

static bool has_session(const pid_t *sessions, size_t count, pid_t session)
{
    for (size_t i = 0; i < count; i++)
        if (sessions[i] == session)
            return true;
    return false;
}

static void mark_known(const struct process_table *table,
                       const struct process_ids *members, bool *mark)
{
    for (size_t i = 0; i < members->count; i++) {
        const struct process *found = process_table_find(table, members->items[i].pid);

        if (found && found->id.start == members->items[i].start)
            mark[found - table->all.items] = true;
    }
}

/* A child may have a smaller number than its parent, so go round until nothing is new. */
static void mark_below(const struct process_table *table, bool *mark)
{
    bool more = true;

    while (more) {
        more = false;
        for (size_t i = 0; i < table->all.count; i++) {
            const struct process *parent =
                process_table_find(table, table->all.items[i].parent);

            if (!mark[i] && parent && mark[parent - table->all.items])
                mark[i] = more = true;
        }
    }
}

/* Mark all in a session of a marked process; true when that marked something. */
static bool mark_sessions(const struct process_table *table, bool *mark,
                          pid_t not_session)
{
    vec_of(pid_t) sessions = {0};
    bool more = false;

    for (size_t i = 0; i < table->all.count; i++) {
        pid_t session = table->all.items[i].session;

        if (mark[i] && session > 1 && session != not_session &&
            !has_session(sessions.items, sessions.count, session))
            vec_push(&sessions, session);
    }
    for (size_t i = 0; i < table->all.count; i++)
        if (!mark[i] &&
            has_session(sessions.items, sessions.count, table->all.items[i].session))
            mark[i] = more = true;
    vec_free(&sessions);
    return more;
}

void process_table_collect(const struct process_table *table, struct process_ids *members,
                           pid_t not_session)
{
    bool *mark = mem_array(bool, table->all.count + 1);

    mark_known(table, members, mark);
    do
        mark_below(table, mark);
    while (mark_sessions(table, mark, not_session));
    vec_clear(members);
    for (size_t i = 0; i < table->all.count; i++)
        if (mark[i])
            vec_push(members, table->all.items[i].id);
    free(mark);
}

int process_table_below(struct process_table *table, pid_t root, struct err *err)
{
    const struct process *found;
    size_t kept = 0;
    bool *mark;

    if (process_table_read(table, err) < 0)
        return -1;
    mark = mem_array(bool, table->all.count + 1);
    found = process_table_find(table, root);
    if (found)
        mark[found - table->all.items] = true;
    mark_below(table, mark);
    for (size_t i = 0; i < table->all.count; i++)
        if (mark[i] && table->all.items[i].id.pid != root)
            table->all.items[kept++] = table->all.items[i];
    table->all.count = kept;
    free(mark);
    return 0;
}

static void add_listed(const char *text, struct process_children *list)
{
    char *end;

    for (long pid = strtol(text, &end, 10); end != text && pid > 0;
         pid = strtol(text, &end, 10)) {
        if (list->count < PROCESS_CHILDREN_MAX)
            vec_push(list, (pid_t)pid);
        text = end;
    }
}

/* The kernel keeps a list for each thread; a thread that has just ended has none. */
static void add_children(pid_t pid, struct process_children *list)
{
    char path[64], text[CHILDREN_SIZE];
    const struct dirent *entry;
    DIR *dir;

    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    dir = opendir(path);
    while (dir && (entry = readdir(dir))) {
        snprintf(path, sizeof(path), "/proc/%d/task/%.12s/children", (int)pid,
                 entry->d_name);
        if (entry->d_name[0] != '.' && file_head(path, text, sizeof(text)) > 0)
            add_listed(text, list);
    }
    if (dir)
        closedir(dir);
}

/* For kernels without lists of children: a look at everything. */
static void add_by_parents(pid_t pid, struct process_children *list)
{
    struct process_table table = {0};
    struct err err;

    if (process_table_below(&table, pid, &err) == 0)
        for (size_t i = 0; i < table.all.count && list->count < PROCESS_CHILDREN_MAX; i++)
            vec_push(list, table.all.items[i].id.pid);
    process_table_fini(&table);
}

void process_children_add(pid_t pid, struct process_children *list)
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

/* NULL when it cannot be read; the caller frees. */
static char *read_environ(pid_t pid, size_t *length)
{
    char path[64], *bytes = NULL;

    *length = 0;
    snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
    file_read(path, ENVIRON_MAX_BYTES, &bytes, length, NULL);
    return bytes;
}

bool process_environ_has(pid_t pid, const char *const *wanted, size_t count)
{
    size_t length, found = 0;
    char *bytes = read_environ(pid, &length);

    for (size_t w = 0; w < count; w++)
        for (size_t at = 0; at < length; at += strlen(bytes + at) + 1)
            if (strcmp(bytes + at, wanted[w]) == 0) {
                found++;
                break;
            }
    free(bytes);
    return count > 0 && found == count;
}

bool process_environ_get(pid_t pid, const char *name, char *value, size_t size)
{
    size_t length, name_length = strlen(name);
    char *bytes = read_environ(pid, &length);
    bool found = false;

    for (size_t at = 0; at < length && !found; at += strlen(bytes + at) + 1)
        if (str_starts(bytes + at, name) && bytes[at + name_length] == '=') {
            str_copy(value, size, bytes + at + name_length + 1);
            found = true;
        }
    free(bytes);
    return found;
}
