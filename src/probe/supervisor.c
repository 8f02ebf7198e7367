/* supervisor.c - starts, signals, kills and reaps the job's processes, see supervisor.h
 *
 * run_job.c starts the job here, hands on the signals that reach the probe, and ticks
 * until all processes are gone; ending.c then tells how the first one ended. */
#include "probe/supervisor.h"

#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* What is left behind may finish its writing (the tee of a pipeline), then is asked to
 * stop, then killed. */
#define LEFT_FINISH_S 1.0
#define LEFT_STOP_S   2.0

/* New processes may appear while others are killed, so killing is repeated. */
#define KILL_AGAIN_S 0.05

static void place(int fd, int at)
{
    if (fd == at) /* dup2 would leave it close-on-exec */
        fcntl(fd, F_SETFD, 0);
    else if (fd >= 0)
        dup2(fd, at);
}

static void reset_signals(const sigset_t *mask)
{
    struct sigaction usual = {.sa_handler = SIG_DFL};

    for (int i = 1; i < NSIG; i++)
        if (i != SIGKILL && i != SIGSTOP)
            sigaction(i, &usual, NULL);
    sigprocmask(SIG_SETMASK, mask, NULL);
}

static int status_of_exec(int error)
{
    return error == ENOENT || error == ENOTDIR ? 127 : 126;
}

/* In the new process; errno of the failure goes into the pipe, which exec closes. */
static _Noreturn void become_job(const struct supervisor_start *start, pid_t parent,
                                 int pipe)
{
    int error;

    setsid();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) /* it died before it could be watched */
        _exit(128 + SIGKILL);
    place(start->in, STDIN_FILENO);
    place(start->out, STDOUT_FILENO);
    place(start->err, STDERR_FILENO);
    if (start->terminal)
        ioctl(STDOUT_FILENO, TIOCSCTTY, 0);
    reset_signals(&start->mask);
    execvp(start->argv[0], start->argv);
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

int supervisor_start(struct supervisor *supervisor, const struct supervisor_start *start,
                     int *exit_status, struct err *err)
{
    int pipes[2], error;
    pid_t parent = getpid(), pid;

    *exit_status = 126;
    if (pipe2(pipes, O_CLOEXEC) < 0)
        return err_sys(err, "cannot make a pipe");
    pid = fork();
    if (pid == 0)
        become_job(start, parent, pipes[1]);
    close(pipes[1]);
    if (pid < 0) {
        err_sys(err, "cannot start a process for %.100s", start->argv[0]);
        close(pipes[0]);
        return -1;
    }
    error = wait_for_exec(pipes[0]);
    close(pipes[0]);
    if (error) {
        waitpid(pid, NULL, 0);
        *exit_status = status_of_exec(error);
        errno = error;
        return err_sys(err, "cannot start %.200s", start->argv[0]);
    }
    *supervisor = (struct supervisor){.pid = pid,
                                      .pidfd = (int)syscall(SYS_pidfd_open, pid, 0),
                                      .grace_s = start->grace_s,
                                      .kill_at_s = INFINITY,
                                      .term_at_s = INFINITY};
    return 0;
}

void supervisor_signal(struct supervisor *supervisor, int signal, double now_s)
{
    if (supervisor->gone)
        return;
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
