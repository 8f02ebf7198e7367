/* attach_job.c - corgi-probe's main() calls it for --attach
 *
 * The caller ends at once, so that the job is not delayed; a child goes on.  Slurm does
 * not always kill what a TaskProlog leaves behind, so the child sees the job's end
 * itself: when no process of this user has the job's SLURM_JOB_ID in its environment any
 * more. */
#include "probe/attach_job.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/poller.h"
#include "base/process.h"
#include "probe/activity.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOOK_S  1.0  /* for processes of the job */
#define GONE_S  3.0  /* without one of them the job is over: steps follow each other */
#define NEVER_S 60.0 /* none has come at all */
/* The prolog is seen before the job is, which may be slow to come. */
#define EARLY_S  10.0
#define FINISH_S 0.5
#define MAX_ID   64

struct attached {
    const struct attach_options *options;
    struct job_meter_options meter_options;
    struct job_meter *meter;
    struct sender *sender;
    char *marker, *folder;
    int lock, poller;
    double started_s, seen_s; /* -INFINITY: no process yet */
};

/* One a job, user and machine; of the user alone. */
static int make_folder(struct attached *a, struct err *err)
{
    const char *id = a->options->slurm_job;
    struct str path = {0};
    struct stat info;

    if (!*id || strlen(id) >= MAX_ID || id[strspn(id, "0123456789_+.")])
        return err_set(err, ERR_INVALID, "SLURM_JOB_ID is '%.40s', want a number", id);
    str_addf(&path, "/tmp/corgi-attach-%u-%s", (unsigned)geteuid(), id);
    a->folder = str_take(&path);
    if (mkdir(a->folder, 0700) < 0 && errno != EEXIST)
        return err_sys(err, "cannot make %s", a->folder);
    if (lstat(a->folder, &info) < 0 || !S_ISDIR(info.st_mode) ||
        info.st_uid != geteuid() || (info.st_mode & 077))
        return err_set(err, ERR_INVALID, "%s is not a folder of this user alone",
                       a->folder);
    return 0;
}

/* 1: another one is there. */
static int take_lock(struct attached *a, struct err *err)
{
    char *path = file_join(a->folder, "lock");
    int rc = 0;

    a->lock = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (a->lock < 0)
        rc = err_sys(err, "cannot make %s", path);
    else if (flock(a->lock, LOCK_EX | LOCK_NB) < 0)
        rc = 1;
    free(path);
    return rc;
}

/* What a TaskProlog prints reaches the job. */
static void print_environment(const struct attached *a)
{
    char *socket = file_join(a->folder, "heartbeat");

    printf("export CORGI_HEARTBEAT=%s\n", socket);
    fflush(stdout);
    free(socket);
}

static void report(struct attached *a, enum probe_report_kind kind)
{
    struct probe_report r;

    probe_report_init(&r, kind, a->meter_options.job);
    r.attempt = a->meter_options.attempt;
    r.at_s = clock_epoch_s();
    if (kind == PROBE_ENDED)
        job_meter_overall(a->meter, clock_wall_s(), &r.steps, &r.rate);
    sender_send(a->sender, &r);
}

/* The job is gone, or a probe of its own measures it. */
static bool is_over(struct attached *a, double now_s)
{
    static const char *const probed = ACTIVITY_PROBED;
    struct process_table members = {0};
    bool other = false;

    activity_members(&members, a->marker);
    if (members.all.count > 0)
        a->seen_s = now_s;
    vec_each (const struct process, process, &members.all)
        other = other || process_environ_has(process->id.pid, &probed, 1);
    process_table_fini(&members);
    if (other)
        return true;
    if (isinf(a->seen_s))
        return now_s - a->started_s > NEVER_S;
    return now_s - a->started_s > EARLY_S && now_s - a->seen_s > GONE_S;
}

static void send_due(struct attached *a, double now_s, bool last)
{
    struct probe_report r;

    sender_retry(a->sender);
    while (job_meter_report(a->meter, now_s, last, &r))
        sender_send(a->sender, &r);
}

static void follow(struct attached *a)
{
    double look_s = 0;

    a->started_s = clock_wall_s();
    job_meter_start(a->meter, a->poller, a->started_s);
    report(a, PROBE_STARTED);
    for (;;) {
        double now_s = clock_wall_s();

        if (now_s >= look_s) {
            if (is_over(a, now_s))
                break;
            look_s = now_s + LOOK_S;
        }
        job_meter_tick(a->meter, now_s);
        if (now_s >= job_meter_due_s(a->meter))
            send_due(a, now_s, false);
        poller_wait(a->poller,
                    fmax(0, fmin(look_s, job_meter_due_s(a->meter)) - clock_wall_s()));
    }
    send_due(a, isinf(a->seen_s) ? clock_wall_s() : a->seen_s, true);
    report(a, PROBE_ENDED);
    sender_finish(a->sender, FINISH_S);
}

/* Away from whoever waits for the prolog: its output, its terminal, its session. */
static void detach(void)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    setsid();
    for (int fd = STDIN_FILENO; null >= 0 && fd <= STDERR_FILENO; fd++)
        dup2(null, fd);
    if (chdir("/") < 0)
        return; /* then the folder it stands in cannot be unmounted */
}

/* The heartbeat's socket in it goes with the meter. */
static void remove_folder(struct attached *a)
{
    char *lock = file_join(a->folder, "lock");

    job_meter_destroy(a->meter);
    a->meter = NULL;
    unlink(lock);
    rmdir(a->folder);
    free(lock);
}

static void close_all(struct attached *a)
{
    job_meter_destroy(a->meter);
    sender_destroy(a->sender);
    if (a->poller >= 0)
        close(a->poller);
    if (a->lock >= 0)
        close(a->lock);
    free(a->marker);
    free(a->folder);
}

static int open_all(struct attached *a, struct err *err)
{
    struct str marker = {0};

    str_addf(&marker, "SLURM_JOB_ID=%s", a->options->slurm_job);
    a->marker = str_take(&marker);
    a->meter_options = a->options->meter;
    a->meter_options.marker = a->marker;
    a->meter_options.dir = a->folder;
    /* What we start is not the job, though it has its environment. */
    putenv(mem_strdup(ACTIVITY_NOT_THE_JOB));
    a->sender = sender_create(&a->options->report, err);
    if (!a->sender)
        return err_prefix(err, "--report");
    a->meter = job_meter_create(&a->meter_options, err);
    if (!a->meter)
        return -1;
    a->poller = poller_open(err);
    return a->poller < 0 ? -1 : 0;
}

int attach_job(const struct attach_options *options, struct err *err)
{
    struct attached a = {
        .options = options, .lock = -1, .poller = -1, .seen_s = -INFINITY};
    int rc = make_folder(&a, err);
    pid_t child;

    signal(SIGPIPE, SIG_IGN);
    if (rc == 0)
        rc = take_lock(&a, err);
    if (rc == 1)
        print_environment(&a);
    if (rc == 0 && (rc = open_all(&a, err)) == 0) {
        print_environment(&a);
        child = fork();
        if (child > 0)
            _exit(0); /* the child has everything that is open now */
        if (child < 0) {
            rc = err_sys(err, "cannot start a process");
        } else {
            detach();
            follow(&a);
            remove_folder(&a);
        }
    }
    close_all(&a);
    return rc < 0 ? -1 : 0;
}
