/* start.c - from a job to a probe that runs
 *
 * local.c calls start_job() with a job of the daemon: it gets a folder, a group with its
 * quota, an environment and a command line, and a fork becomes corgi-probe as the job's
 * user.  A pipe tells how that went; the daemon hears ENGINE_STARTED when the probe says
 * that the command runs. */
#include "engine/local/local_private.h"

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_FOUND     100 /* folders of one attempt that were put aside */
#define MAX_GROUPS    256
#define MAX_ARGUMENTS 8192
#define MAX_ARG_BYTES (1U << 20)
#define OPEN_FILES    1024        /* soft limit; programs may raise it to the hard one */
#define STACK_BYTES   (8UL << 20) /* what systems give */
#define OOM_PRIORITY  "300"       /* the kernel takes a job before the daemon */

/* ---- the fork: nothing of ours is left in the program --------------------------------
 *
 * Between fork and exec only calls that are safe there: everything is prepared before.  A
 * failure in the child comes back through a pipe, which closes when the program has been
 * started. */

struct launch {
    const char *program;
    char *const *argv;
    char *const *env;
    const char *directory;
    const char *messages; /* file for stdout and stderr of the program, made by the user;
                             stdin is empty */
    bool change_user;     /* only root can */
    uid_t uid;
    gid_t gid;
    const gid_t *groups; /* (group_count) with change_user */
    size_t group_count;
    const cpu_set_t *cores; /* NULL: all */
    const int *enter_fds;   /* (enter_count) "0" is written to each, see cgroups.h */
    size_t enter_count;
};

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
    close_others_at_exec();
    sigemptyset(&none);
    process_reset_signals(&none);
    execve(l->program, l->argv, l->env);
    give_up(fd, STEP_EXEC);
}

/* The process, and a descriptor that tells how its start went: launch_result().  Nothing
 * waits for that: a working directory may be on a server that hangs. */
static int launch_start(const struct launch *l, pid_t *pid, int *pidfd, int *result_fd,
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

/* When result_fd is readable: 0 the program runs, -1 with the reason in err. */
static int launch_result(int result_fd, const char *what, struct err *err)
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

/* ---- the job ----------------------------------------------------------------------- */

/* The user of a job; the strings are in `buffer`. */
struct job_user {
    struct passwd entry;
    char buffer[16384];
    gid_t groups[MAX_GROUPS];
    int group_count;
};

static int find_user(struct job_user *u, uid_t uid, gid_t gid, struct err *err)
{
    struct passwd *found = NULL;

    errno = getpwuid_r(uid, &u->entry, u->buffer, sizeof(u->buffer), &found);
    if (!found)
        return err_set(err, ERR_NOT_FOUND, "there is no user with the number %u here",
                       (unsigned)uid);
    u->group_count = MAX_GROUPS;
    if (getgrouplist(u->entry.pw_name, gid, u->groups, &u->group_count) < 0)
        return err_set(err, ERR_LIMIT, "user %s is in more than %d groups",
                       u->entry.pw_name, MAX_GROUPS);
    return 0;
}

static int check_job(const struct local_engine *e, const struct engine_job *job,
                     struct err *err)
{
    size_t bytes = 0;
    int count = 0;

    if (!job->argv || !job->argv[0] || !job->argv[0][0])
        return err_set(err, ERR_INVALID, "the job has no command");
    for (; job->argv[count]; count++)
        bytes += strlen(job->argv[count]) + 1;
    if (count > MAX_ARGUMENTS || bytes > MAX_ARG_BYTES)
        return err_set(err, ERR_LIMIT, "the command is longer than %d words or %u bytes",
                       MAX_ARGUMENTS, MAX_ARG_BYTES);
    if (job->attempt < 1)
        return err_set(err, ERR_INVALID, "attempts count from 1");
    if (!job->directory || job->directory[0] != '/')
        return err_set(err, ERR_INVALID, "the working directory '%.60s' is not absolute",
                       job->directory ? job->directory : "");
    if (local_check_devices(e, job, err) < 0)
        return -1;
    if (!(job->stop_grace_s >= 0 && job->stop_grace_s <= 86400))
        return err_set(err, ERR_INVALID, "the grace is %g s, want 0 to 86400",
                       job->stop_grace_s);
    if (geteuid() != 0 && job->uid != geteuid())
        return err_set(err, ERR_UNSUPPORTED,
                       "the daemon does not run as root, so it can start jobs only of "
                       "its own user %u, not of %u",
                       (unsigned)geteuid(), (unsigned)job->uid);
    return 0;
}

/* A folder of the name is of another life of the number, before a backup was put back:
 * nothing in it is the new attempt's, and nobody's files are removed. */
static int put_aside(const struct attempt *a, struct err *err)
{
    struct str name = {0};
    int rc = -1;

    for (int i = 1; rc < 0 && i <= MAX_FOUND; i++) {
        str_clear(&name);
        str_addf(&name, "%s.found-%d", a->dir, i);
        rc = renameat2(AT_FDCWD, a->dir, AT_FDCWD, str_text(&name), RENAME_NOREPLACE);
        if (rc < 0 && errno != EEXIST)
            break;
    }
    if (rc < 0)
        err_sys(err, "cannot put %s aside, which is of another attempt", a->dir);
    else
        log_warn("engine_folder_aside", LOG_U64("job", a->job),
                 LOG_I64("attempt", a->number), LOG_STR("to", str_text(&name)));
    str_fini(&name);
    return rc;
}

/* <state>/jobs/ID is ours; only the attempt's folder is the user's.  It is new: what an
 * attempt finds in its folder is its own. */
static int make_folder(const struct attempt *a, struct err *err)
{
    int rc;

    if (file_make_parent(a->dir, err) < 0)
        return -1;
    rc = mkdir(a->dir, 0750);
    if (rc < 0 && errno == EEXIST) {
        if (put_aside(a, err) < 0)
            return -1;
        rc = mkdir(a->dir, 0750);
    }
    if (rc < 0)
        return err_sys(err, "cannot make %s", a->dir);
    if (geteuid() == 0 && lchown(a->dir, a->uid, a->gid) < 0)
        return err_sys(err, "cannot give %s to its user", a->dir);
    return 0;
}

/* The cores of its CPU devices together; false when it has none. */
static bool cores_of(const struct local_engine *e, const struct attempt *a,
                     cpu_set_t *cores)
{
    CPU_ZERO(cores);
    for (int i = 0; i < a->device_count; i++)
        CPU_OR(cores, cores, &e->devices[a->devices[i]].cpu.cores);
    return CPU_COUNT(cores) > 0;
}

struct probe_words {
    vec_of(char *) argv; /* the last one is NULL */
};

__attribute__((format(printf, 2, 3))) static void add_word(struct probe_words *w,
                                                           const char *format, ...)
{
    char *word = NULL;
    va_list args;

    va_start(args, format);
    if (vasprintf(&word, format, args) < 0)
        abort(); /* out of memory: as mem.h would */
    va_end(args);
    vec_push(&w->argv, word);
}

/* The probe's options, then the job's command. */
static void add_words(struct probe_words *w, const struct local_engine *e,
                      const struct attempt *a, const struct engine_job *job)
{
    add_word(w, "corgi-probe");
    add_word(w, "--job=%llu", (unsigned long long)a->job);
    add_word(w, "--attempt=%d", a->number);
    add_word(w, "--dir=%s", a->dir);
    add_word(w, "--report=unix:%s", e->report_path);
    if (job->output) {
        add_word(w, "--output=%s", job->output);
    } else {
        add_word(w, "--output=%s/" ATTEMPT_OUTPUT, a->dir);
        add_word(w, "--output-mb=%d", e->options.output_mb);
    }
    add_word(w, "--window=%g", e->options.window_s);
    add_word(w, "--grace=%g", a->grace_s);
    if (job->metrics_url)
        add_word(w, "--metrics-url=%s", job->metrics_url);
    if (job->metrics_counter)
        add_word(w, "--metrics-counter=%s", job->metrics_counter);
    if (job->progress_file)
        add_word(w, "--progress=%s", job->progress_file);
    if (job->job->kind == JOB_INFERENCE)
        add_word(w, "--service");
    add_word(w, "--");
    for (size_t i = 0; job->argv[i]; i++)
        add_word(w, "%s", job->argv[i]);
    vec_push(&w->argv, NULL);
}

static int launch_probe(struct local_engine *e, struct attempt *a,
                        const struct engine_job *job, const struct job_user *u,
                        struct job_env *env, struct err *err)
{
    struct probe_words words = {0};
    struct process one;
    char *messages = file_join(a->dir, "messages");
    int fds[CGROUPS_MAX];
    cpu_set_t cores;
    struct launch l = {
        .program = e->probe,
        .env = env->items,
        .directory = job->directory,
        .messages = messages,
        .change_user = geteuid() == 0,
        .uid = a->uid,
        .gid = a->gid,
        .groups = u->groups,
        .group_count = (size_t)u->group_count,
        .cores = cores_of(e, a, &cores) ? &cores : NULL,
        .enter_fds = fds,
    };
    int rc = -1;

    add_words(&words, e, a, job);
    l.argv = words.argv.items;
    if (cgroups_enter_fds(e->groups, a->group, fds, &l.enter_count, err) == 0) {
        pid_t pid = 0;

        rc = launch_start(&l, &pid, &a->pidfd, &a->result_fd, err);
        while (l.enter_count > 0)
            close(fds[--l.enter_count]);
        if (rc == 0 && process_read(pid, &one)) {
            a->probe = one.id;
            a->child = true;
            vec_push(&a->members, one.id);
        }
    }
    vec_each (char *, word, &words.argv)
        free(*word);
    vec_free(&words.argv);
    free(messages);
    return rc;
}

void start_result(struct attempt *a)
{
    struct err err = {0};
    char what[48];

    snprintf(what, sizeof(what), "job %llu", (unsigned long long)a->job);
    if (launch_result(a->result_fd, what, &err) < 0) {
        a->launch_failed = true;
        attempt_explain(a, "%s", err.text);
    } else {
        a->state = ATTEMPT_RUNNING;
    }
    attempt_close_result(a);
}

static void on_result(void *ctx, uint32_t events)
{
    (void)events;
    start_result(ctx);
}

/* Also one that nobody named, which is being stopped. */
static bool attempt_is_there(const struct local_engine *e, uint64_t job)
{
    vec_each (struct attempt *const, at, &e->attempts)
        if ((*at)->job == job && (*at)->state != ATTEMPT_OVER)
            return true;
    return false;
}

int start_job(void *engine, const struct engine_job *job, struct err *err)
{
    struct local_engine *e = engine;
    struct job_user *u = mem_new(struct job_user);
    struct job_env env = {0};
    struct attempt *a = NULL;
    bool joined = false;
    int rc = -1;

    if (check_job(e, job, err) < 0 || find_user(u, job->uid, job->gid, err) < 0)
        goto done;
    if (attempt_is_there(e, job->job->id)) {
        err_set(err, ERR_EXISTS, "job %llu is still there from its last start",
                (unsigned long long)job->job->id);
        goto done;
    }
    a = attempt_create(e, job);
    if (make_folder(a, err) < 0 || cpu_quota_join(e, a, err) < 0)
        goto done;
    joined = true;
    if (job_env_fill(&env, e, a, job, &u->entry, err) < 0 ||
        launch_probe(e, a, job, u, &env, err) < 0)
        goto done;
    if (local_watch(e, &a->probe_watch, a->pidfd, stop_probe_gone, a, err) < 0 ||
        local_watch(e, &a->result_watch, a->result_fd, on_result, a, err) < 0) {
        process_signal(a->probe, SIGKILL);
        goto done;
    }
    cgroups_oom_kills(e->groups, a->group, &a->oom_kills);
    local_add_attempt(e, a);
    a = NULL;
    rc = 0;
done:
    if (rc < 0 && joined)
        cpu_quota_leave(e, a);
    attempt_destroy(a);
    job_env_fini(&env);
    free(u);
    return rc;
}

/* The probe measures; it must not be slowed or stopped with the job. */
static void set_aside(struct local_engine *e, const struct attempt *a)
{
    cpu_set_t all;

    cgroups_put_aside(e->groups, a->probe.pid);
    if (sched_getaffinity(0, sizeof(all), &all) == 0)
        sched_setaffinity(a->probe.pid, sizeof(all), &all);
}

void start_tell(struct local_engine *e, struct attempt *a)
{
    if (a->told_start)
        return;
    a->told_start = true;
    set_aside(e, a);
    cpu_quota_started(e, a);
    stop_owed(a);
    if (!a->nobody)
        local_tell(e, local_event_of(ENGINE_STARTED, a), NULL);
}
