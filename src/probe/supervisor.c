/* supervisor.c - starts, signals, kills and reaps the job's processes, tells their end
 *
 * run_job.c starts the job here, hands on the signals that reach the probe, and ticks
 * until all processes are gone.  Then it adds what it knows of the output, and how the
 * job ended goes into the status file and the last report. */
#include "probe/supervisor.h"

#include "base/file.h"
#include "base/process.h"
#include "base/str.h"
#include "probe/lines.h"
#include "probe/streams.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* What is left behind may finish its writing (the tee of a pipeline), then is asked to
 * stop, then killed. */
#define LEFT_FINISH_S 1.0
#define LEFT_STOP_S   2.0

/* New processes may appear while others are killed, so killing is repeated. */
#define KILL_AGAIN_S 0.05

/* ---- kills by the kernel for want of memory ---------------------------------------- */

#define MAX_BYTES 65536
#define VMSTAT    "/proc/vmstat"

/* The kernel's count in a file of "name number" lines; -1: there is none. */
static long oom_kills(const char *path)
{
    static const char key[] = "oom_kill ";
    char *text, *line;
    size_t size;
    long count = -1;

    if (file_read(path, MAX_BYTES, &text, &size, NULL) < 0)
        return -1;
    for (line = text; line && count < 0; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (str_starts(line, key))
            count = strtol(line + strlen(key), NULL, 10);
    }
    free(text);
    return count;
}

static bool try_file(struct supervisor *supervisor, const char *root, const char *path,
                     const char *file)
{
    int length = snprintf(supervisor->oom_file, sizeof(supervisor->oom_file), "%s%s/%s",
                          root, path, file);

    if ((size_t)length >= sizeof(supervisor->oom_file))
        return false;
    supervisor->cgroup_kills = oom_kills(supervisor->oom_file);
    return supervisor->cgroup_kills >= 0;
}

/* A line of /proc/PID/cgroup is "number:controllers:path", in version 2 "0::path". */
static bool try_line(struct supervisor *supervisor, char *line)
{
    char *controllers = strchr(line, ':'), *path;

    path = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!path)
        return false;
    *path++ = '\0';
    if (!strcmp(path, "/"))
        path++;
    if (!controllers[1])
        return try_file(supervisor, "/sys/fs/cgroup", path, "memory.events") ||
               try_file(supervisor, "/sys/fs/cgroup/unified", path, "memory.events");
    return strstr(controllers, "memory") &&
           try_file(supervisor, "/sys/fs/cgroup/memory", path, "memory.oom_control");
}

/* The counts of the job's cgroup and of the machine, as they are when it begins. */
static void begin_oom(struct supervisor *supervisor)
{
    char path[40], *text, *rest, *line;
    size_t size;

    supervisor->cgroup_kills = -1;
    supervisor->machine_kills = oom_kills(VMSTAT);
    snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)supervisor->pid);
    if (file_read(path, MAX_BYTES, &text, &size, NULL) < 0)
        return;
    rest = text;
    while ((line = strsep(&rest, "\n")) && !try_line(supervisor, line))
        ;
    free(text);
}

/* After a SIGKILL that was not ours: which limit was reached, or NULL for none. */
static const char *killed_for_memory(const struct supervisor *supervisor)
{
    if (supervisor->cgroup_kills >= 0 &&
        oom_kills(supervisor->oom_file) > supervisor->cgroup_kills)
        return "killed by the kernel: its memory limit was reached";
    if (supervisor->machine_kills >= 0 && oom_kills(VMSTAT) > supervisor->machine_kills)
        return "killed, at a time when the kernel killed for want of memory";
    return NULL;
}

/* ---- its processes ----------------------------------------------------------------- */

static void place(int fd, int at)
{
    if (fd == at) /* dup2 would leave it close-on-exec */
        fcntl(fd, F_SETFD, 0);
    else if (fd >= 0)
        dup2(fd, at);
}

static int status_of_exec(int error)
{
    return error == ENOENT || error == ENOTDIR ? 127 : 126;
}

/* In the new process; errno of the failure goes into the pipe, which exec closes. */
static _Noreturn void become_job(const struct supervisor_command *command,
                                 const struct streams *streams, const sigset_t *mask,
                                 pid_t parent, int pipe)
{
    int error;

    setsid();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) /* it died before it could be watched */
        _exit(128 + SIGKILL);
    place(streams->child_in, STDIN_FILENO);
    place(streams->child_out, STDOUT_FILENO);
    place(streams->child_err, STDERR_FILENO);
    if (streams->controlling)
        ioctl(STDOUT_FILENO, TIOCSCTTY, 0);
    process_reset_signals(mask);
    environ = (char **)(uintptr_t)command->env; /* whose PATH execvp() goes by */
    execvp(command->argv[0], command->argv);
    error = errno;
    if (write(pipe, &error, sizeof(error)) < 0)
        _exit(126);
    _exit(status_of_exec(error));
}

/* 0: the pipe was closed by exec; else errno of why not. */
static int wait_for_exec(int pipe)
{
    int error = 0;
    ssize_t n;

    do
        n = read(pipe, &error, sizeof(error));
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof(error) ? error : 0;
}

int supervisor_start(struct supervisor *supervisor,
                     const struct supervisor_command *command,
                     const struct streams *streams, const sigset_t *mask,
                     int *exit_status, struct err *err)
{
    int pipes[2], error;
    pid_t parent = getpid(), pid;

    *exit_status = 126;
    if (pipe2(pipes, O_CLOEXEC) < 0)
        return err_sys(err, "cannot make a pipe");
    pid = fork();
    if (pid == 0)
        become_job(command, streams, mask, parent, pipes[1]);
    close(pipes[1]);
    if (pid < 0) {
        err_sys(err, "cannot start a process for %.100s", command->argv[0]);
        close(pipes[0]);
        return -1;
    }
    error = wait_for_exec(pipes[0]);
    close(pipes[0]);
    if (error) {
        waitpid(pid, NULL, 0);
        *exit_status = status_of_exec(error);
        errno = error;
        return err_sys(err, "cannot start %.200s", command->argv[0]);
    }
    supervisor->pid = pid;
    supervisor->kill_at_s = supervisor->term_at_s = INFINITY;
    begin_oom(supervisor);
    return 0;
}

void supervisor_signal(struct supervisor *supervisor, int signal, double now_s)
{
    supervisor_reap(supervisor, now_s); /* it may have ended, and nobody has looked */
    if (supervisor->gone)
        return;
    supervisor->signalled |= !supervisor->ended;
    kill(-supervisor->pid, signal);
    if (signal != SIGTERM)
        return;
    kill(-supervisor->pid, SIGCONT); /* a job that is halted could not hear it */
    if (!supervisor->asked)
        supervisor->kill_at_s = fmin(supervisor->kill_at_s, now_s + supervisor->grace_s);
    supervisor->asked = true;
}

static void first_ended(struct supervisor *supervisor, int wait_status, double now_s)
{
    supervisor->ended = true;
    supervisor->ended_s = now_s;
    supervisor->wait_status = wait_status;
    supervisor->term_at_s = supervisor->asked ? now_s : now_s + LEFT_FINISH_S;
}

static int wait_status_of(const siginfo_t *info)
{
    if (info->si_code == CLD_EXITED)
        return W_EXITCODE(info->si_status & 0xff, 0);
    return W_EXITCODE(0, info->si_status) | (info->si_code == CLD_DUMPED ? WCOREFLAG : 0);
}

void supervisor_reap(struct supervisor *supervisor, double now_s)
{
    for (;;) {
        siginfo_t info = {0};

        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG) < 0) {
            if (errno == EINTR)
                continue;
            supervisor->gone = errno == ECHILD && supervisor->ended;
            if (supervisor->gone && supervisor->kernel_kill)
                supervisor->kernel_oom = killed_for_memory(supervisor);
            return;
        }
        if (info.si_pid == 0)
            return;
        if (info.si_code != CLD_EXITED && info.si_status == SIGKILL &&
            !supervisor->killed)
            supervisor->kernel_kill = true;
        if (info.si_pid == supervisor->pid)
            first_ended(supervisor, wait_status_of(&info), now_s);
    }
}

/* The probe is the reaper of everything the job starts, so a process that detaches
 * itself from its parents is still below the probe.  Returns how many there were. */
static size_t signal_below(int signal)
{
    struct process_table table = {0};
    size_t living = 0;

    process_table_below(&table, getpid(), NULL);
    vec_each (const struct process, process, &table.all) {
        if (process->state == 'Z')
            continue;
        living++;
        kill(process->id.pid, signal);
    }
    process_table_fini(&table);
    return living;
}

static void ask_left_behind(struct supervisor *supervisor, double now_s)
{
    supervisor->term_at_s = INFINITY;
    supervisor->left_behind = signal_below(SIGTERM);
    signal_below(SIGCONT);
    supervisor->kill_at_s = fmin(supervisor->kill_at_s, now_s + LEFT_STOP_S);
}

void supervisor_tick(struct supervisor *supervisor, double now_s)
{
    if (supervisor->gone)
        return;
    /* Kills on the machine long before the job's end are not the job's. */
    if (now_s >= supervisor->look_at_s && !supervisor->ended) {
        supervisor->machine_kills = oom_kills(VMSTAT);
        supervisor->look_at_s = now_s + supervisor->look_every_s;
    }
    if (now_s >= supervisor->term_at_s)
        ask_left_behind(supervisor, now_s);
    if (now_s >= supervisor->kill_at_s) {
        if (!supervisor->ended)
            supervisor->killed = true;
        signal_below(SIGKILL);
        supervisor->kill_at_s = now_s + KILL_AGAIN_S;
    }
    supervisor_reap(supervisor, now_s);
}

double supervisor_due_s(const struct supervisor *supervisor)
{
    return fmin(supervisor->kill_at_s, supervisor->term_at_s);
}

/* ---- how it ended ------------------------------------------------------------------ */

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

/* Does the end of the output tell of it?  What it means, or NULL. */
static const char *said_of_memory(const char *text, size_t length)
{
    for (size_t i = 0; i < sizeof(phrases) / sizeof(phrases[0]); i++) {
        const char *at = memmem(text, length, phrases[i].text, strlen(phrases[i].text));

        if (at && (!phrases[i].line_start || at == text || at[-1] == '\n'))
            return phrases[i].meaning;
    }
    return NULL;
}

/* The last line with something in it, cleaned. */
static void keep_line(void *line, double at_s, const char *text, size_t length)
{
    (void)at_s;
    (void)length;
    text += strspn(text, " \t");
    if (*text)
        str_copy(line, PROBE_REPORT_MAX_TEXT, text);
}

/* Texts end up in a report of limited size: the last line is cut, never the reason. */
static void set_text(struct probe_report *ended, const char *reason, const char *line)
{
    snprintf(ended->text, sizeof(ended->text), "%.*s%s%.*s", PROBE_REPORT_MAX_TEXT / 2,
             reason, line[0] ? ": " : "", PROBE_REPORT_MAX_TEXT / 2 - 4, line);
}

static void tell_signal(const struct supervisor *supervisor, struct probe_report *ended,
                        const char *said, const char *line)
{
    int signal = WTERMSIG(supervisor->wait_status);
    char reason[160];

    ended->signal = signal;
    ended->exit_status = 128 + signal;
    if (signal == SIGKILL && supervisor->killed) {
        snprintf(reason, sizeof(reason),
                 "killed: it did not stop within %g s after SIGTERM",
                 supervisor->grace_s);
        line = "";
    } else if (signal == SIGKILL && supervisor->kernel_oom) {
        ended->oom = true;
        snprintf(reason, sizeof(reason), "out of memory: %s", supervisor->kernel_oom);
        line = "";
    } else if (supervisor->asked) {
        snprintf(reason, sizeof(reason), "stopped as asked, by signal %d", signal);
        line = "";
    } else if (said) {
        ended->oom = true;
        snprintf(reason, sizeof(reason), "%s, ended by signal %d (%s)", said, signal,
                 strsignal(signal));
    } else {
        snprintf(reason, sizeof(reason), "ended by signal %d (%s)%s", signal,
                 strsignal(signal),
                 WCOREDUMP(supervisor->wait_status) ? ", core dumped" : "");
    }
    set_text(ended, reason, line);
}

static void tell_exit(const struct supervisor *supervisor, struct probe_report *ended,
                      const char *said, const char *line)
{
    int code = WEXITSTATUS(supervisor->wait_status);
    char reason[160];

    ended->signal = 0;
    ended->exit_status = code;
    /* A shell tells of its child's end by a status above 128. */
    if (code == 128 + SIGKILL && !supervisor->asked && supervisor->kernel_oom)
        said = supervisor->kernel_oom;
    if (code == 0)
        return;
    if (said && !supervisor->asked) {
        ended->oom = true;
        snprintf(reason, sizeof(reason), "%s, exited with status %d", said, code);
    } else {
        snprintf(reason, sizeof(reason), "exited with status %d%s", code,
                 supervisor->asked ? " after it was asked to stop" : "");
    }
    set_text(ended, reason, line);
}

__attribute__((format(printf, 2, 3))) static void add_text(struct probe_report *ended,
                                                           const char *format, ...)
{
    size_t length = strlen(ended->text);
    char more[120];
    va_list args;

    va_start(args, format);
    vsnprintf(more, sizeof(more), format, args);
    va_end(args);
    if (length + strlen(more) + 3 < sizeof(ended->text))
        snprintf(ended->text + length, sizeof(ended->text) - length, "%s%s",
                 length ? "; " : "", more);
}

void supervisor_tell_end(const struct supervisor *supervisor,
                         const struct output_end *output, struct probe_report *ended)
{
    const char *said = said_of_memory(output->tail, output->tail_length);
    char line[PROBE_REPORT_MAX_TEXT] = "";
    size_t left = supervisor->left_behind;
    struct lines lines;

    lines_init(&lines, keep_line, line);
    lines_feed(&lines, 0, output->tail, output->tail_length);
    lines_flush(&lines);
    ended->text[0] = '\0';
    ended->told = supervisor->signalled;
    if (WIFSIGNALED(supervisor->wait_status))
        tell_signal(supervisor, ended, said, line);
    else
        tell_exit(supervisor, ended, said, line);
    if (left > 0)
        add_text(ended, "%zu process%s it left behind %s stopped", left,
                 left == 1 ? "" : "es", left == 1 ? "was" : "were");
    if (output->dropped_bytes > 0)
        add_text(ended, "%.0f MB of its output were not kept",
                 fmax(output->dropped_bytes / 1e6, 1));
    if (output->lost_bytes > 0)
        add_text(ended, "%llu bytes of output were lost: %s",
                 (unsigned long long)output->lost_bytes, strerror(output->lost_errno));
}
