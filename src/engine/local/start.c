/* start.c - from a job to a probe that runs
 *
 * local.c calls start_job() with a job of the daemon: it gets a folder, a group with its
 * quota, an environment and a command line, and a fork becomes corgi-probe as the job's
 * user (launch.c).  A pipe tells how that went; the daemon hears ENGINE_STARTED when the
 * probe says that the command runs. */
#include "engine/local/local_private.h"

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "engine/local/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_FOUND     100 /* folders of one attempt that were put aside */
#define MAX_GROUPS    256
#define MAX_ARGUMENTS 8192
#define MAX_ARG_BYTES (1U << 20)

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

/* Folders of later attempts are of another life likewise: whoever adopts this attempt
 * would take it for one that was followed by them. */
static int put_later_aside(const struct attempt *a, struct err *err)
{
    for (int number = a->number + 1;; number++) {
        struct attempt *later = attempt_create_nobody(a->engine, a->job, number);
        bool there = access(later->dir, F_OK) == 0;
        int rc = there ? put_aside(later, err) : 0;

        attempt_destroy(later);
        if (!there || rc < 0)
            return rc;
    }
}

/* <state>/jobs/ID is ours; only the attempt's folder is the user's.  It is new: what an
 * attempt finds in its folder is its own. */
static int make_folder(struct attempt *a, struct err *err)
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
    if (put_later_aside(a, err) < 0)
        return -1;
    if (attempt_make_key(a, err) < 0)
        return -1;
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

/* Each replica of a service has a page of its own. */
static void add_metrics_url(struct probe_words *w, const char *url, int replica)
{
    const char *mark = strstr(url, ENGINE_REPLICA);

    if (mark)
        add_word(w, "--metrics-url=%.*s%d%s", (int)(mark - url), url, replica,
                 mark + strlen(ENGINE_REPLICA));
    else
        add_word(w, "--metrics-url=%s", url);
}

/* The probe's options, then the job's command. */
static void add_words(struct probe_words *w, const struct local_engine *e,
                      const struct attempt *a, const struct engine_job *job,
                      const char *report_path)
{
    add_word(w, "corgi-probe");
    add_word(w, "--job=%llu", (unsigned long long)a->job);
    add_word(w, "--attempt=%d", a->number);
    add_word(w, "--dir=%s", a->dir);
    add_word(w, "--report=unix:%s", report_path);
    add_word(w, "--environment-fd=%d", LAUNCH_ENV_FD);
    if (geteuid() == 0) /* who could not read its environment any more otherwise */
        add_word(w, "--guarded");
    if (job->output) {
        add_word(w, "--output=%s", job->output);
    } else {
        add_word(w, "--output=%s/" ATTEMPT_OUTPUT, a->dir);
        add_word(w, "--output-mb=%d", e->options.output_mb);
    }
    add_word(w, "--window=%g", e->options.window_s);
    add_word(w, "--grace=%g", a->grace_s);
    if (job->metrics_url)
        add_metrics_url(w, job->metrics_url, job->replica);
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

/* The job's environment for the probe to read: never on a disk, never in the probe. */
static int env_descriptor(const struct job_env *env, struct err *err)
{
    int fd = memfd_create("environment", MFD_CLOEXEC);

    if (fd < 0)
        return err_sys(err, "cannot hand over an environment");
    for (size_t i = 0; i < env->count; i++) {
        size_t size = strlen(env->items[i]) + 1;

        if (write(fd, env->items[i], size) != (ssize_t)size) {
            err_sys(err, "cannot hand over an environment");
            close(fd);
            return -1;
        }
    }
    lseek(fd, 0, SEEK_SET);
    return fd;
}

static int launch_probe(struct local_engine *e, struct attempt *a,
                        const struct engine_job *job, const struct job_user *u,
                        const struct job_env *env, struct err *err)
{
    const char *report_path = watch_listen(e, a->uid, err);
    struct job_env own = {0};
    struct probe_words words = {0};
    struct process one;
    char *messages = file_join(a->dir, "messages");
    int fds[CGROUPS_MAX];
    cpu_set_t cores;
    struct launch l = {
        .program = e->probe,
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

    if (!report_path)
        goto done;
    l.job_env_fd = env_descriptor(env, err);
    if (l.job_env_fd < 0)
        goto done;
    job_env_fill_probe(&own, e, a);
    l.env = own.items;
    add_words(&words, e, a, job, report_path);
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
    close(l.job_env_fd);
done:
    vec_each (char *, word, &words.argv)
        free(*word);
    vec_free(&words.argv);
    job_env_fini(&own);
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

    cgroups_put_aside(e->groups, a->aside, a->probe.pid);
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
