/* child.c - see child.h */
#include "probe/child.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

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

/* In the new process; errno of the failure goes into the pipe, which exec closes. */
static void run(const struct child_start *start, pid_t parent, int pipe)
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
    _exit(error == ENOENT || error == ENOTDIR ? 127 : 126);
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

int child_start(struct child *child, const struct child_start *start, int *exit_status,
                struct err *err)
{
    int pipes[2], error;
    pid_t parent = getpid(), pid;

    *exit_status = 126;
    if (pipe2(pipes, O_CLOEXEC) < 0)
        return err_sys(err, "cannot make a pipe");
    pid = fork();
    if (pid == 0)
        run(start, parent, pipes[1]);
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
        *exit_status = error == ENOENT || error == ENOTDIR ? 127 : 126;
        errno = error;
        return err_sys(err, "cannot start %.200s", start->argv[0]);
    }
    child->pid = pid;
    child->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    return 0;
}
