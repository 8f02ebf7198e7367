/* adopt.c - after a restart: which attempts are still there, see local_own.h */
#include "engine/local/local_private.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/parse.h"
#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NOBODY_GRACE_S 10.0

/* The file may be of an earlier boot, or written by the user: what counts is that the
 * process carries the marks of this attempt. */
static bool probe_by_file(struct local_engine *e, const struct attempt *a,
                          struct process_id *probe)
{
    struct attempt_marks marks = {0};
    struct process_id child;

    attempt_marks(&marks, e->state_dir, a->job, a->number);
    return attempt_read_pids(a, probe, &child) && process_alive(*probe) &&
           process_environ_has(probe->pid, marks.all, ATTEMPT_MARKS);
}

static bool is_probe(pid_t pid)
{
    char path[64], name[32] = "";
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
    f = fopen(path, "re");
    if (!f)
        return false;
    if (!fgets(name, sizeof(name), f))
        name[0] = '\0';
    fclose(f);
    return strcmp(name, "corgi-probe\n") == 0;
}

/* An engine that died just after the start left no file yet. */
static bool probe_by_marks(struct local_engine *e, const struct attempt *a,
                           struct process_id *probe)
{
    struct attempt_marks marks = {0};

    attempt_marks(&marks, e->state_dir, a->job, a->number);
    for (size_t i = 0; i < e->processes.all.count; i++) {
        const struct process *one = &e->processes.all.items[i];

        if (one->state != 'Z' && is_probe(one->id.pid) &&
            process_environ_has(one->id.pid, marks.all, ATTEMPT_MARKS)) {
            *probe = one->id;
            return true;
        }
    }
    return false;
}

/* Watch the probe when it is there; else the sweep finds what is left and how it ended.
 */
static void take_up(struct local_engine *e, struct attempt *a)
{
    struct process one;
    struct err err = {0};

    a->serial = e->next_serial++;
    a->state = ATTEMPT_SWEEPING;
    a->deadline_s = clock_wall_s() + STOP_STUBBORN_S;
    if (process_table_read(&e->processes, &err) == 0 &&
        (probe_by_file(e, a, &a->probe) || probe_by_marks(e, a, &a->probe)))
        a->pidfd = (int)syscall(SYS_pidfd_open, a->probe.pid, 0);
    if (a->pidfd >= 0 && process_read(a->probe.pid, &one) &&
        one.id.start == a->probe.start &&
        local_watch(e, a->pidfd, LOCAL_PROBE, a->serial, &err) == 0) {
        a->state = ATTEMPT_RUNNING;
        a->child = one.parent == getpid(); /* an engine before us in this process */
        vec_push(&a->members, a->probe);
    } else if (a->pidfd >= 0) {
        close(a->pidfd);
        a->pidfd = -1;
    }
    local_add_attempt(e, a);
    look_for_start(e, a);
}

int adopt_job(struct local_engine *e, const struct engine_job *job, struct err *err)
{
    struct attempt *a;

    if (job->device_count < 1 || job->device_count > LOOP_MAX_GANG)
        return err_set(err, ERR_INVALID, "the job has %d devices, want 1 to %d",
                       job->device_count, LOOP_MAX_GANG);
    for (int i = 0; i < job->device_count; i++)
        if (job->devices[i] < 0 || job->devices[i] >= e->device_count)
            return err_set(err, ERR_INVALID, "there is no device %d", job->devices[i]);
    if (local_attempt_of(e, job->job->id))
        return err_set(err, ERR_EXISTS, "job %llu is here already",
                       (unsigned long long)job->job->id);
    a = attempt_create(job, e->state_dir);
    if (access(a->dir, F_OK) != 0) {
        attempt_destroy(a);
        return err_set(err, ERR_NOT_FOUND, "nothing is known of attempt %d of job %llu",
                       job->attempt, (unsigned long long)job->job->id);
    }
    if (cpu_quota_join(e->quota, a->job, a->number, a->devices, a->device_count, err) <
        0) {
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
    a = mem_new(struct attempt);
    a->job = job;
    a->number = number;
    a->nobody = true;
    a->grace_s = NOBODY_GRACE_S;
    a->device_count = 1;
    a->dir = attempt_dir(e->state_dir, job, number);
    str_copy(a->group, sizeof(a->group), group);
    a->pidfd = a->result_fd = -1;
    take_up(e, a);
    local_warn(e, 0,
               "job %llu (attempt %d) was still running but nobody knows it any more: it "
               "is being stopped",
               (unsigned long long)job, number);
    stop_begin(e, a, ENGINE_STOP_CANCEL);
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

void adopt_end(struct local_engine *e)
{
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
