/* ending.c - see ending.h */
#include "probe/ending.h"

#include "probe/lines.h"
#include "probe/memory_out.h"

#include <ctype.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

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
static void set_text(struct probe_status *status, const char *reason, const char *line)
{
    snprintf(status->text, sizeof(status->text), "%.*s%s%.*s", PROBE_REPORT_MAX_TEXT / 2,
             reason, line[0] ? ": " : "", PROBE_REPORT_MAX_TEXT / 2 - 4, line);
}

static void tell_signal(const struct ending *ending, struct probe_status *status,
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

static void tell_exit(const struct ending *ending, struct probe_status *status,
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

static void add_text(struct probe_status *status, const char *more)
{
    size_t length = strlen(status->text);

    if (length + strlen(more) + 3 < sizeof(status->text))
        snprintf(status->text + length, sizeof(status->text) - length, "%s%s",
                 length ? "; " : "", more);
}

void ending_tell(const struct ending *ending, struct probe_status *status)
{
    const char *said = memory_out_said(ending->tail, ending->tail_length);
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
