/* ending.c - how a job ended: wait status, memory, last words, see ending.h
 *
 * run_job.c watches the kernel's counts with oom_watch_*() while the job runs and hands
 * over all it knows when the job is gone; the result goes into the status file and the
 * last report. */
#include "probe/ending.h"

#include "base/file.h"
#include "base/str.h"
#include "probe/lines.h"

#include <ctype.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define MAX_BYTES 65536

/* The number behind the key at the beginning of a line; -1: there is none. */
static long count_in(const char *path, const char *key)
{
    char *text, *line;
    size_t size;
    long count = -1;

    if (!path[0] || file_read(path, MAX_BYTES, &text, &size, NULL) < 0)
        return -1;
    for (line = text; line && count < 0; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (!strncmp(line, key, strlen(key)) && line[strlen(key)] == ' ')
            count = strtol(line + strlen(key), NULL, 10);
    }
    free(text);
    return count;
}

static bool try_file(struct oom_watch *watch, const char *root, const char *path,
                     const char *file)
{
    char name[sizeof(watch->cgroup_file)];

    if ((size_t)snprintf(name, sizeof(name), "%s%s/%s", root, path, file) >= sizeof(name))
        return false;
    watch->cgroup_kills = count_in(name, "oom_kill");
    if (watch->cgroup_kills < 0)
        return false;
    str_copy(watch->cgroup_file, sizeof(watch->cgroup_file), name);
    return true;
}

/* A line of /proc/PID/cgroup is "number:controllers:path"; version 2 has no controllers.
 */
static bool try_line(struct oom_watch *watch, char *line)
{
    char *controllers = strchr(line, ':'), *path;

    path = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!path)
        return false;
    *path++ = '\0';
    if (!strcmp(path, "/"))
        path++;
    if (!controllers[1])
        return try_file(watch, "/sys/fs/cgroup", path, "memory.events") ||
               try_file(watch, "/sys/fs/cgroup/unified", path, "memory.events");
    return strstr(controllers, "memory") &&
           try_file(watch, "/sys/fs/cgroup/memory", path, "memory.oom_control");
}

void oom_watch_init(struct oom_watch *watch, pid_t pid)
{
    char path[40], *text, *rest, *line;
    size_t size;

    *watch = (struct oom_watch){.cgroup_kills = -1};
    watch->machine_kills = count_in("/proc/vmstat", "oom_kill");
    snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
    if (file_read(path, MAX_BYTES, &text, &size, NULL) < 0)
        return;
    rest = text;
    while ((line = strsep(&rest, "\n")) && !try_line(watch, line))
        ;
    free(text);
}

void oom_watch_look(struct oom_watch *watch)
{
    watch->machine_kills = count_in("/proc/vmstat", "oom_kill");
}

const char *oom_watch_killed(const struct oom_watch *watch)
{
    if (watch->cgroup_kills >= 0 &&
        count_in(watch->cgroup_file, "oom_kill") > watch->cgroup_kills)
        return "killed by the kernel: its memory limit was reached";
    if (watch->machine_kills >= 0 &&
        count_in("/proc/vmstat", "oom_kill") > watch->machine_kills)
        return "killed, at a time when the kernel killed for want of memory";
    return NULL;
}

struct phrase {
    const char *text;
    const char *meaning;
    bool line_start; /* only at the beginning of a line */
};

static const struct phrase phrases[] = {
    {"CUDA out of memory", "out of GPU memory", false},
    {"CUDA error: out of memory", "out of GPU memory", false},
    {"HIP out of memory", "out of GPU memory", false},
    {"OutOfMemoryError: ", "out of memory", false},
    {"cudaErrorMemoryAllocation", "out of GPU memory", false},
    {"CUDA_ERROR_OUT_OF_MEMORY", "out of GPU memory", false},
    {"CUBLAS_STATUS_ALLOC_FAILED", "out of GPU memory", false},
    {"RESOURCE_EXHAUSTED: Out of memory", "out of GPU memory", false},
    {"OOM when allocating tensor", "out of GPU memory", false},
    {"std::bad_alloc", "out of memory", false},
    {"MemoryError", "out of memory", true},
    {"numpy.core._exceptions._ArrayMemoryError", "out of memory", true},
    {"numpy._core._exceptions._ArrayMemoryError", "out of memory", true},
    {"java.lang.OutOfMemoryError", "out of memory", false},
    {"Cannot allocate memory", "out of memory", false},
    {"memory allocation of ", "out of memory", true},
    {"out of memory", "out of memory", true},
    {"Out of memory", "out of memory", true},
};

const char *oom_said(const char *text, size_t length)
{
    for (size_t i = 0; i < sizeof(phrases) / sizeof(phrases[0]); i++) {
        const char *at = memmem(text, length, phrases[i].text, strlen(phrases[i].text));

        if (at && (!phrases[i].line_start || at == text || at[-1] == '\n'))
            return phrases[i].meaning;
    }
    return NULL;
}

struct last {
    char *line;
    size_t size;
};

static void keep_line(void *ctx, double at_s, const char *text, size_t length)
{
    const struct last *last = ctx;

    (void)at_s;
    while (length > 0 && isspace((unsigned char)*text)) {
        text++;
        length--;
    }
    if (length > 0)
        str_copy(last->line, last->size, text);
}

void ending_last_line(const char *tail, size_t length, char *line, size_t size)
{
    struct last last = {.line = line, .size = size};
    struct lines lines;

    line[0] = '\0';
    lines_init(&lines, keep_line, &last);
    lines_feed(&lines, 0, tail, length);
    lines_flush(&lines);
}

/* Texts end up in a report of limited size: the last line is cut, never the reason. */
static void set_text(struct probe_report *status, const char *reason, const char *line)
{
    snprintf(status->text, sizeof(status->text), "%.*s%s%.*s", PROBE_REPORT_MAX_TEXT / 2,
             reason, line[0] ? ": " : "", PROBE_REPORT_MAX_TEXT / 2 - 4, line);
}

static void tell_signal(const struct ending *ending, struct probe_report *status,
                        const char *said, const char *line)
{
    int signal = WTERMSIG(ending->wait_status);
    char reason[160];

    status->signal = signal;
    status->exit_status = 128 + signal;
    if (signal == SIGKILL && ending->killed) {
        snprintf(reason, sizeof(reason),
                 "killed: it did not stop within %g s after SIGTERM", ending->grace_s);
        line = "";
    } else if (signal == SIGKILL && ending->kernel_oom) {
        status->oom = true;
        snprintf(reason, sizeof(reason), "out of memory: %s", ending->kernel_oom);
        line = "";
    } else if (ending->asked) {
        snprintf(reason, sizeof(reason), "stopped as asked, by signal %d", signal);
        line = "";
    } else if (said) {
        status->oom = true;
        snprintf(reason, sizeof(reason), "%s, ended by signal %d (%s)", said, signal,
                 strsignal(signal));
    } else {
        snprintf(reason, sizeof(reason), "ended by signal %d (%s)%s", signal,
                 strsignal(signal),
                 WCOREDUMP(ending->wait_status) ? ", core dumped" : "");
    }
    set_text(status, reason, line);
}

static void tell_exit(const struct ending *ending, struct probe_report *status,
                      const char *said, const char *line)
{
    int code = WEXITSTATUS(ending->wait_status);
    char reason[160];

    status->signal = 0;
    status->exit_status = code;
    /* A shell tells of its child's end by a status above 128. */
    if (code == 128 + SIGKILL && !ending->asked && ending->kernel_oom)
        said = ending->kernel_oom;
    if (code == 0)
        return;
    if (said && !ending->asked) {
        status->oom = true;
        snprintf(reason, sizeof(reason), "%s, exited with status %d", said, code);
    } else {
        snprintf(reason, sizeof(reason), "exited with status %d%s", code,
                 ending->asked ? " after it was asked to stop" : "");
    }
    set_text(status, reason, line);
}

static void add_text(struct probe_report *status, const char *more)
{
    size_t length = strlen(status->text);

    if (length + strlen(more) + 3 < sizeof(status->text))
        snprintf(status->text + length, sizeof(status->text) - length, "%s%s",
                 length ? "; " : "", more);
}

void ending_tell(const struct ending *ending, struct probe_report *status)
{
    const char *said = oom_said(ending->tail, ending->tail_length);
    char line[PROBE_REPORT_MAX_TEXT], more[120];

    ending_last_line(ending->tail, ending->tail_length, line, sizeof(line));
    status->text[0] = '\0';
    if (WIFSIGNALED(ending->wait_status))
        tell_signal(ending, status, said, line);
    else
        tell_exit(ending, status, said, line);
    if (ending->left_behind > 0) {
        snprintf(more, sizeof(more), "%zu process%s it left behind %s stopped",
                 ending->left_behind, ending->left_behind == 1 ? "" : "es",
                 ending->left_behind == 1 ? "was" : "were");
        add_text(status, more);
    }
    if (ending->dropped_bytes > 0) {
        snprintf(more, sizeof(more), "%.0f MB of its output were not kept",
                 fmax(ending->dropped_bytes / 1e6, 1));
        add_text(status, more);
    }
    if (ending->lost_bytes > 0) {
        snprintf(more, sizeof(more), "%llu bytes of output were lost: %s",
                 (unsigned long long)ending->lost_bytes, strerror(ending->lost_errno));
        add_text(status, more);
    }
}
