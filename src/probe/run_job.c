/* run_job.c - one job from its start to its last report, see run_job.h
 *
 * corgi-probe's main() calls it with the options.  It starts the command (supervisor.c),
 * copies its output (streams.c), measures (job_meter.c), reports (sender.c), and when all
 * processes are gone tells how it ended (supervisor.c). */
#include "probe/run_job.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/poller.h"
#include "base/process.h"
#include "base/str.h"
#include "probe/activity.h"
#include "probe/job_environment.h"
#include "probe/job_meter.h"
#include "probe/probe_report.h"
#include "probe/sender.h"
#include "probe/streams.h"
#include "probe/supervisor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* How long an end is offered to an engine whose queue is full. */
#define FINISH_S 0.5

/* What a run that lost its claim has left: another one runs beside it. */
#define FENCED_S 5.0

/* How long a status that finds no room on the disk is tried again: without it nobody
 * knows that the job is done, and it would run once more. */
#define STATUS_S       600.0
#define STATUS_AGAIN_S 0.5

struct probe {
    const struct run_job_options *options;
    int poller;
    struct poller_watch signals, answers;
    int signal_fd;
    struct streams streams;
    struct job_meter *meter;
    struct sender *sender;
    struct supervisor supervisor;
    struct job_environment environment;
    char key[PROBE_KEY_SIZE];  /* "": nobody gave one */
    struct probe_report ended; /* what the last report and the status file tell */
    struct file_out *status;   /* with room on the disk, since before the job began */
};

/* Handed on to the job; the kernel's own (SEGV and the like) are not. */
static const int forwarded[] = {SIGTERM, SIGINT,  SIGHUP,  SIGQUIT, SIGUSR1,
                                SIGUSR2, SIGCONT, SIGTSTP, SIGALRM, SIGWINCH};

static void on_signal(void *ctx, uint32_t events)
{
    struct probe *probe = ctx;
    struct signalfd_siginfo info;
    double now_s = clock_wall_s();

    (void)events;
    while (read(probe->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        if (info.ssi_signo == SIGCHLD)
            supervisor_reap(&probe->supervisor, now_s);
        else if (info.ssi_signo == SIGWINCH)
            streams_resize(&probe->streams);
        else
            supervisor_signal(&probe->supervisor, (int)info.ssi_signo, now_s);
    }
}

/* The daemon says that this run has lost its claim: it ends, soon. */
static void on_answer(void *ctx, uint32_t events)
{
    struct probe *probe = ctx;
    bool gone = false;

    (void)events;
    if (sender_must_stop(probe->sender, &gone)) {
        streams_say(&probe->streams,
                    "another run of this job has taken its place, or the job is over: "
                    "this one ends");
        probe->supervisor.grace_s = fmin(probe->supervisor.grace_s, FENCED_S);
        supervisor_signal(&probe->supervisor, SIGTERM, clock_wall_s());
    }
    if (gone)
        poller_set(probe->poller, &probe->answers, -1, 0);
}

/* The first thing of all: a signal that comes while we set up waits for the job. */
static void block_signals(sigset_t *set, sigset_t *before)
{
    sigemptyset(set);
    sigaddset(set, SIGCHLD);
    for (size_t i = 0; i < sizeof(forwarded) / sizeof(forwarded[0]); i++)
        sigaddset(set, forwarded[i]);
    sigprocmask(SIG_BLOCK, set, before);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGTTOU, SIG_IGN); /* the terminal is set back from the background, too */
}

static int open_signals(struct probe *probe, const sigset_t *set, struct err *err)
{
    probe->signal_fd = signalfd(-1, set, SFD_NONBLOCK | SFD_CLOEXEC);
    if (probe->signal_fd < 0)
        return err_sys(err, "cannot make a signal descriptor");
    poller_set(probe->poller, &probe->signals, probe->signal_fd, EPOLLIN);
    poller_set(probe->poller, &probe->answers, sender_answers(probe->sender), EPOLLIN);
    return 0;
}

static void send_report(struct probe *probe, const struct probe_report *report)
{
    struct probe_report keyed = *report;

    str_copy(keyed.key, sizeof(keyed.key), probe->key);
    sender_send(probe->sender, &keyed);
}

static void report_started(struct probe *probe)
{
    struct probe_report report;

    probe_report_init(&report, PROBE_STARTED, probe->options->meter.job);
    report.attempt = probe->options->meter.attempt;
    report.at_s = probe->ended.started_s;
    send_report(probe, &report);
}

static void write_file(const struct probe *probe, const char *name,
                       const struct str *line)
{
    struct err err = {0};
    char *path;

    if (!probe->options->meter.dir)
        return;
    path = file_join(probe->options->meter.dir, name);
    if (file_write(path, line->text, line->length, &err) < 0)
        streams_say(&probe->streams, err.text);
    free(path);
}

static void write_pids(const struct probe *probe)
{
    struct process self = {0}, child = {0};
    struct str line = {0};

    process_read(getpid(), &self);
    process_read(probe->supervisor.pid, &child);
    str_addf(&line, "probe=%d probe_start=%llu child=%d child_start=%llu\n",
             (int)getpid(), (unsigned long long)self.id.start, (int)probe->supervisor.pid,
             (unsigned long long)child.id.start);
    write_file(probe, "pid", &line);
    str_fini(&line);
}

/* A disk that is full when the job ends must not make its end unknown. */
static void reserve_status(struct probe *probe)
{
    char *path = file_join(probe->options->meter.dir, "status");
    struct err err = {0};

    probe->status = file_out_open(path, &err);
    if (probe->status &&
        file_out_reserve(probe->status, PROBE_REPORT_MAX_LINE, &err) < 0) {
        file_out_abort(probe->status);
        probe->status = NULL; /* there may be room at the end */
    }
    free(path);
}

static bool write_reserved(struct probe *probe, const struct str *line)
{
    struct file_out *out = probe->status;
    struct err err = {0};

    probe->status = NULL;
    if (out && fwrite(line->text, 1, line->length, file_out_stream(out)) == line->length)
        return file_out_commit(out, &err) == 0;
    file_out_abort(out);
    return false;
}

static void write_status(struct probe *probe, const struct str *line)
{
    const char *dir = probe->options->meter.dir;
    double until_s = clock_wall_s() + STATUS_S;
    struct err err = {0};
    char *path;

    if (!dir || write_reserved(probe, line))
        return;
    path = file_join(dir, "status");
    while (file_write(path, line->text, line->length, &err) < 0) {
        if (access(dir, W_OK) < 0 || clock_wall_s() > until_s) {
            streams_say(&probe->streams, err.text);
            break;
        }
        usleep((useconds_t)(STATUS_AGAIN_S * 1e6));
    }
    free(path);
}

/* The status is on disk before the end is reported: an engine can read it then. */
static void tell_end(struct probe *probe)
{
    struct str line = {0};

    str_copy(probe->ended.key, sizeof(probe->ended.key), probe->key);
    probe_status_format(&probe->ended, &line);
    write_status(probe, &line);
    str_fini(&line);
    send_report(probe, &probe->ended);
    sender_finish(probe->sender, FINISH_S);
}

static int start_job(struct probe *probe, const sigset_t *mask)
{
    struct err err = {0};
    int exit_status;

    if (supervisor_start(
            &probe->supervisor,
            &(struct supervisor_command){probe->options->argv,
                                         job_environment_items(&probe->environment)},
            &probe->streams, mask, &exit_status, &err) < 0) {
        streams_say(&probe->streams, err.text);
        probe->ended.exit_status = exit_status;
        probe->ended.signal = 0;
        probe->ended.at_s = clock_epoch_s();
        str_copy(probe->ended.text, sizeof(probe->ended.text), err.text);
        tell_end(probe);
        return -1;
    }
    probe->ended.started_s = clock_epoch_s();
    return 0;
}

static void send_due_reports(struct probe *probe, double now_s, bool last)
{
    struct probe_report report;

    sender_retry(probe->sender);
    while (job_meter_report(probe->meter, now_s, last, &report))
        send_report(probe, &report);
}

/* Processes that a job left behind have no rate. */
static double rate_due_s(const struct probe *probe)
{
    return probe->supervisor.ended ? INFINITY : job_meter_due_s(probe->meter);
}

static void tick(struct probe *probe, double now_s)
{
    supervisor_tick(&probe->supervisor, now_s);
    streams_tick(&probe->streams, now_s);
    job_meter_tick(probe->meter, now_s);
    if (now_s >= rate_due_s(probe))
        send_due_reports(probe, now_s, false);
}

static void follow_job(struct probe *probe)
{
    while (!probe->supervisor.gone) {
        double now_s = clock_wall_s(), due_s;

        tick(probe, now_s);
        if (probe->supervisor.gone)
            break;
        due_s = fmin(rate_due_s(probe), supervisor_due_s(&probe->supervisor));
        due_s = fmin(due_s, streams_due_s(&probe->streams));
        poller_wait(probe->poller, due_s - now_s);
    }
}

static void end_job(struct probe *probe)
{
    struct probe_report *ended = &probe->ended;
    double ended_s = probe->supervisor.ended_s;
    struct output_end output;

    streams_end(&probe->streams, &output);
    ended->at_s = clock_epoch_s();
    ended->window_s = ended->at_s - ended->started_s;
    supervisor_tell_end(&probe->supervisor, &output, ended);
    send_due_reports(probe, ended_s, true);
    job_meter_overall(probe->meter, ended_s, &ended->steps, &ended->rate);
    tell_end(probe);
}

/* By the key an engine knows that a report or a status is of the attempt it started. */
static void read_key(struct probe *probe)
{
    char *path;

    if (!probe->options->meter.dir)
        return;
    path = file_join(probe->options->meter.dir, "key");
    if (file_head(path, probe->key, sizeof(probe->key)) < 0)
        probe->key[0] = '\0';
    free(path);
}

static int open_all(struct probe *probe, const sigset_t *signals, struct err *err)
{
    const struct run_job_options *options = probe->options;

    if (job_environment_read(&probe->environment, options->environment_fd, err) < 0)
        return -1;
    read_key(probe);
    if (options->meter.dir && file_make_dirs(options->meter.dir, err) < 0)
        return -1;
    if (options->meter.dir)
        reserve_status(probe);
    probe->sender = sender_create(&options->report, err);
    if (!probe->sender)
        return err_prefix(err, "--report");
    probe->meter = job_meter_create(&options->meter, err);
    if (!probe->meter)
        return err_prefix(err, "--metrics-url");
    probe->poller = poller_open(err);
    if (probe->poller < 0 ||
        streams_open(&probe->streams, options->output, options->output_bytes, err) < 0)
        return -1;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    putenv(mem_strdup(ACTIVITY_PROBED)); /* an attached probe leaves it to us */
    return open_signals(probe, signals, err);
}

static void close_all(struct probe *probe)
{
    streams_fini(&probe->streams);
    file_out_abort(probe->status);
    job_meter_destroy(probe->meter);
    sender_destroy(probe->sender);
    job_environment_fini(&probe->environment);
    if (probe->signal_fd >= 0)
        close(probe->signal_fd);
    if (probe->poller >= 0)
        close(probe->poller);
}

int run_job(const struct run_job_options *options, struct err *err)
{
    struct probe probe = {.options = options,
                          .supervisor = {.grace_s = options->grace_s,
                                         .look_every_s = options->meter.window_s},
                          .poller = -1,
                          .signal_fd = -1,
                          .signals = {.fd = -1, .ready = on_signal},
                          .answers = {.fd = -1, .ready = on_answer}};
    sigset_t signals, mask;
    int rc = -1;

    block_signals(&signals, &mask);
    probe.signals.ctx = probe.answers.ctx = &probe;
    streams_init(&probe.streams);
    probe_report_init(&probe.ended, PROBE_ENDED, options->meter.job);
    probe.ended.attempt = options->meter.attempt;
    if (open_all(&probe, &signals, err) < 0)
        goto done;
    if (start_job(&probe, &mask) == 0) {
        write_pids(&probe);
        job_meter_start(probe.meter, probe.poller, clock_wall_s());
        streams_start(&probe.streams, probe.poller, job_meter_line, probe.meter);
        report_started(&probe);
        follow_job(&probe);
        end_job(&probe);
    }
    rc = probe.ended.exit_status;
done:
    close_all(&probe);
    return rc;
}
