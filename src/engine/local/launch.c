/* launch.c - the fork: nothing of ours is left in the program, see launch.h
 *
 * Between fork and exec only calls that are safe there: everything is prepared before.  A
 * failure in the child comes back through a pipe, which closes when the program has been
 * started. */
#include "engine/local/launch.h"

#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define OPEN_FILES   1024        /* soft limit; programs may raise it to the hard one */
#define STACK_BYTES  (8UL << 20) /* what systems give */
#define OOM_PRIORITY "300"       /* the kernel takes a job before the daemon */

enum step {
    STEP_SESSION,
    STEP_GROUP,
    STEP_CORES,
    STEP_USER,
    STEP_DIRECTORY,
    STEP_MESSAGES,
    STEP_EXEC,
};

static const char *const step_texts[] = {
    [STEP_SESSION] = "cannot make a session of its own",
    [STEP_GROUP] = "cannot enter its cgroup",
    [STEP_CORES] = "cannot be bound to the cores of its device",
    [STEP_USER] = "cannot become the user who submitted it",
    [STEP_DIRECTORY] = "cannot enter its working directory",
    [STEP_MESSAGES] = "cannot write to its folder in the engine's state",
    [STEP_EXEC] = "cannot run corgi-probe",
};

struct launch_failure {
    int step;
    int error;
};

static _Noreturn void give_up(int fd, enum step step)
{
    struct launch_failure failure = {.step = step, .error = errno};
    ssize_t n = write(fd, &failure, sizeof(failure));

    _exit(n == (ssize_t)sizeof(failure) ? 126 : 125);
}

/* The daemon may have raised its own, and its priority; a core file of a crashing job
 * could fill the disk. */
static void reset_limits(void)
{
    struct rlimit limit;
    int fd;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max < OPEN_FILES ? limit.rlim_max : OPEN_FILES;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    if (getpriority(PRIO_PROCESS, 0) < 0) /* the daemon's own is higher */
        setpriority(PRIO_PROCESS, 0, 0);
    if (getrlimit(RLIMIT_STACK, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max < STACK_BYTES ? limit.rlim_max : STACK_BYTES;
        setrlimit(RLIMIT_STACK, &limit);
    }
    if (getrlimit(RLIMIT_CORE, &limit) == 0) {
        limit.rlim_cur = 0;
        setrlimit(RLIMIT_CORE, &limit);
    }
    fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd >= 0) {
        ssize_t n = write(fd, OOM_PRIORITY, sizeof(OOM_PRIORITY) - 1);

        (void)n; /* a wish, not a need */
        close(fd);
    }
}

static bool become_user(const struct launch *l)
{
    return !l->change_user || (setgroups(l->group_count, l->groups) == 0 &&
                               setresgid(l->gid, l->gid, l->gid) == 0 &&
                               setresuid(l->uid, l->uid, l->uid) == 0 &&
                               getuid() == l->uid && geteuid() == l->uid);
}

static bool redirect(const struct launch *l)
{
    int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int out =
        open(l->messages, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0644);

    return in >= 0 && out >= 0 && dup2(in, STDIN_FILENO) >= 0 &&
           dup2(out, STDOUT_FILENO) >= 0 && dup2(out, STDERR_FILENO) >= 0;
}

/* Everything from 3 on goes at exec, whoever opened it and however. */
static void close_others_at_exec(void)
{
#ifdef SYS_close_range
    if (syscall(SYS_close_range, 3U, ~0U, 4U /* CLOSE_RANGE_CLOEXEC */) == 0)
        return;
#endif
    for (int fd = 3; fd < 65536; fd++) {
        int flags = fcntl(fd, F_GETFD);

        if (flags >= 0)
            fcntl(fd, F_SETFD, flags | FD_CLOEXEC);
    }
}

static _Noreturn void child(const struct launch *l, int fd)
{
    sigset_t none;

    if (setsid() < 0)
        give_up(fd, STEP_SESSION);
    for (size_t i = 0; i < l->enter_count; i++)
        if (write(l->enter_fds[i], "0", 1) != 1)
            give_up(fd, STEP_GROUP);
    if (l->cores && sched_setaffinity(0, sizeof(*l->cores), l->cores) < 0)
        give_up(fd, STEP_CORES);
    reset_limits();
    umask(022);
    if (!become_user(l))
        give_up(fd, STEP_USER);
    if (chdir(l->directory) < 0)
        give_up(fd, STEP_DIRECTORY);
    if (!redirect(l))
        give_up(fd, STEP_MESSAGES);
    if (dup2(l->job_env_fd, LAUNCH_ENV_FD) < 0)
        give_up(fd, STEP_MESSAGES);
    close_others_at_exec();
    if (fcntl(LAUNCH_ENV_FD, F_SETFD, 0) < 0)
        give_up(fd, STEP_MESSAGES);
    sigemptyset(&none);
    process_reset_signals(&none);
    execve(l->program, l->argv, l->env);
    give_up(fd, STEP_EXEC);
}

int launch_start(const struct launch *l, pid_t *pid, int *pidfd, int *result_fd,
                 struct err *err)
{
    sigset_t all, before;
    int pipe_fds[2];
    pid_t started;

    if (pipe2(pipe_fds, O_CLOEXEC) < 0)
        return err_sys(err, "cannot make a pipe");
    sigfillset(&all); /* no handler of the daemon may run in the child */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    started = fork();
    if (started == 0)
        child(l, pipe_fds[1]);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    close(pipe_fds[1]);
    if (started < 0) {
        close(pipe_fds[0]);
        return err_sys(err, "cannot start a process");
    }
    *pidfd = (int)syscall(SYS_pidfd_open, started, 0);
    if (*pidfd < 0) {
        err_sys(err, "cannot watch a process");
        kill(started, SIGKILL);
        close(pipe_fds[0]);
        return -1;
    }
    *pid = started;
    *result_fd = pipe_fds[0];
    return 0;
}

int launch_result(int result_fd, const char *what, struct err *err)
{
    struct launch_failure failure;
    ssize_t n = read(result_fd, &failure, sizeof(failure));

    if (n != (ssize_t)sizeof(failure))
        return 0;
    errno = failure.error;
    if (failure.step < 0 || failure.step > STEP_EXEC)
        return err_sys(err, "%s cannot be started", what);
    return err_sys(err, "%s %s", what, step_texts[failure.step]);
}
