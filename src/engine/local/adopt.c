/* adopt.c - after a restart: which attempts are still there
 *
 * The daemon names each job it remembers (adopt_job()), then says that this was all
 * (adopt_end()): what else carries the engine's marks or is in one of its groups belongs
 * to nobody and is stopped. */
#include "engine/local/local_private.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/parse.h"
#include "base/str.h"

#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NOBODY_GRACE_S 10.0

/* The file may be of an earlier boot, or written by the user: what counts is that the
 * process started then is the job's user's and has the marks and the key. */
static bool probe_by_file(const struct attempt *a, struct process_id *probe)
{
    struct process_id child;

    return attempt_read_pids(a, probe, &child) && process_alive(*probe) &&
           attempt_is_probe(a, probe->pid);
}

static bool has_its_name(pid_t pid)
{
    char path[64], name[32];

    snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
    return file_head(path, name, sizeof(name)) > 0 && strcmp(name, "corgi-probe\n") == 0;
}

/* An engine that died just after the start left no file yet. */
static bool probe_by_marks(const struct attempt *a, struct process_id *probe)
{
    vec_each (const struct process, process, &a->engine->processes.all)
        if (process->state != 'Z' && has_its_name(process->id.pid) &&
            attempt_is_probe(a, process->id.pid)) {
            *probe = process->id;
            return true;
        }
    return false;
}

static bool find_probe(struct local_engine *e, struct attempt *a)
{
    struct err err;

    return process_table_read(&e->processes, &err) == 0 &&
           (probe_by_file(a, &a->probe) || probe_by_marks(a, &a->probe));
}

/* Watch the probe when it is there; else the sweep finds what is left and its end.  When
 * there is a status the probe has gone, whoever says to be it. */
static void take_up(struct local_engine *e, struct attempt *a)
{
    struct probe_report status;
    struct process one;
    struct err err = {0};

    attempt_read_key(a);
    a->state = ATTEMPT_SWEEPING;
    a->deadline_s = clock_wall_s() + STOP_STUBBORN_S;
    if (!attempt_read_status(a, &status) && find_probe(e, a))
        a->pidfd = (int)syscall(SYS_pidfd_open, a->probe.pid, 0);
    if (a->pidfd >= 0 && process_read(a->probe.pid, &one) &&
        one.id.start == a->probe.start &&
        local_watch(e, &a->probe_watch, a->pidfd, stop_probe_gone, a, &err) == 0) {
        a->state = ATTEMPT_RUNNING;
        a->child = one.parent == getpid(); /* an engine before us in this process */
        vec_push(&a->members, a->probe);
    } else {
        attempt_close_probe(a);
    }
    local_add_attempt(e, a);
    watch_for_start(e, a);
}

/* The store is older than the engine, as after a backup was put back: this attempt was
 * stopped for the next one, so how it ended says nothing of the job. */
static bool later_is_there(struct local_engine *e, const struct engine_job *job)
{
    struct attempt *next = attempt_create_nobody(e, job->job->id, job->attempt + 1);
    bool there = access(next->dir, F_OK) == 0;

    attempt_destroy(next);
    return there;
}

int adopt_job(void *engine, const struct engine_job *job, struct err *err)
{
    struct local_engine *e = engine;
    struct attempt *a;

    if (local_check_devices(e, job, err) < 0)
        return -1;
    if (local_attempt_of(e, job->job->id))
        return err_set(err, ERR_EXISTS, "job %llu is here already",
                       (unsigned long long)job->job->id);
    a = attempt_create(e, job);
    if (access(a->dir, F_OK) != 0 || later_is_there(e, job)) {
        attempt_destroy(a);
        return err_set(err, ERR_NOT_FOUND, "nothing is known of attempt %d of job %llu",
                       job->attempt, (unsigned long long)job->job->id);
    }
    if (!watch_listen(e, a->uid, err) || cpu_quota_join(e, a, err) < 0) {
        attempt_destroy(a);
        return -1;
    }
    take_up(e, a);
    return 0;
}

static bool is_known(struct local_engine *e, uint64_t job, int number)
{
    vec_each (struct attempt *, at, &e->attempts)
        if ((*at)->job == job && (*at)->number == number)
            return true;
    return false;
}

static void take_nobody(struct local_engine *e, uint64_t job, int number,
                        const char *group)
{
    struct attempt *a;

    if (is_known(e, job, number))
        return;
    a = attempt_create_nobody(e, job, number);
    a->grace_s = NOBODY_GRACE_S;
    str_copy(a->group, sizeof(a->group), group);
    take_up(e, a);
    local_warn(e, 0,
               "job %llu (attempt %d) was still running but nobody knows it any more: it "
               "is being stopped",
               (unsigned long long)job, number);
    stop_begin(a, ENGINE_STOP_CANCEL);
}

/* "device-0/job-7-1" */
static void visit_group(void *ctx, const char *path)
{
    const char *name = strrchr(path, '/');
    unsigned long long job;
    int number;

    if (name && sscanf(name, "/job-%llu-%d", &job, &number) == 2)
        take_nobody(ctx, job, number, path);
}

static void visit_process(struct local_engine *e, pid_t pid, const char *mark)
{
    char job_text[32], number_text[16];
    uint64_t job;
    int number;

    if (process_environ_has(pid, &mark, 1) &&
        process_environ_get(pid, "CORGI_JOB_ID", job_text, sizeof(job_text)) &&
        process_environ_get(pid, "CORGI_ATTEMPT", number_text, sizeof(number_text)) &&
        parse_u64(job_text, &job) && parse_int(number_text, &number))
        take_nobody(e, job, number, "");
}

void adopt_end(void *engine)
{
    struct local_engine *e = engine;
    struct process_table now = {0};
    struct str mark = {0};
    struct err err;

    cgroups_each(e->groups, visit_group, e);
    str_addf(&mark, "CORGI_ENGINE=%s", e->state_dir);
    if (process_table_read(&now, &err) == 0)
        vec_each (struct process, one, &now.all) {
            if (one->state != 'Z' && one->id.pid != getpid())
                visit_process(e, one->id.pid, str_text(&mark));
        }
    process_table_fini(&now);
    str_fini(&mark);
}
