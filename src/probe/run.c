/* run.c - see run.h */
#include "probe/run.h"

#include "base/file.h"
#include "probe/ending.h"
#include "probe/keeper.h"
#include "probe/loop.h"
#include "probe/measure.h"
#include "probe/memory_out.h"
#include "probe/report.h"
#include "probe/sender.h"
#include "probe/streams.h"
#include "probe/tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* How long an end is offered to an engine whose queue is full. */
#define FINISH_S 0.5

struct probe {
    const struct run_options *options;
    int loop;
    struct loop_watch signals, first, post;
    int signal_fd;
    struct streams streams;
    struct measure *measure;
    struct sender *sender;
    struct keeper keeper;
    struct memory_out memory;
    double memory_look_s;
    struct report_status status;
};

/* Handed on to the job; the kernel's own (SEGV and the like) are not. */
static const int forwarded[] = {SIGTERM, SIGINT,  SIGHUP,  SIGQUIT, SIGUSR1,
                                SIGUSR2, SIGCONT, SIGTSTP, SIGALRM, SIGWINCH};

static void on_signal(void *ctx, uint32_t events)
{
    struct probe *probe = ctx;
    struct signalfd_siginfo info;
    double now_s = loop_now_s();

    (void)events;
    while (read(probe->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        if (info.ssi_signo == SIGCHLD)
            keeper_reap(&probe->keeper, now_s);
        else if (info.ssi_signo == SIGWINCH)
            terminal_resize(&probe->streams.terminal, STDOUT_FILENO);
        else
            keeper_signal(&probe->keeper, (int)info.ssi_signo, now_s);
    }
}

static void on_first_ended(void *ctx, uint32_t events)
{
    struct probe *probe = ctx;

    (void)events;
    loop_set(probe->loop, &probe->first, -1, 0);
    keeper_reap(&probe->keeper, loop_now_s());
}

static void on_post(void *ctx, uint32_t events)
{
    struct probe *probe = ctx;

    (void)events;
    loop_set(probe->loop, &probe->post, -1, 0);
    sender_retry(probe->sender, loop_now_s());
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
    loop_set(probe->loop, &probe->signals, probe->signal_fd, EPOLLIN);
    return 0;
}

static void send_report(struct probe *probe, const struct report *report)
{
    sender_send(probe->sender, report, loop_now_s());
}

static void report_started(struct probe *probe)
{
    struct report report;

    report_init(&report, REPORT_STARTED, probe->options->job);
    report.attempt = probe->options->attempt;
    report.at_s = probe->status.started_s;
    send_report(probe, &report);
}

static void report_ended(struct probe *probe)
{
    const struct report_status *status = &probe->status;
    struct report report;

    report_init(&report, REPORT_ENDED, status->job);
    report.attempt = status->attempt;
    report.at_s = status->ended_s;
    report.window_s = status->ended_s - status->started_s;
    report.rate = status->rate;
    report.steps = status->steps;
    report.exit_status = status->exit_status;
    report.signal = status->signal;
    report.oom = status->oom;
    str_copy(report.text, sizeof(report.text), status->text);
    send_report(probe, &report);
}

static void write_file(const struct probe *probe, const char *name,
                       const struct str *line)
{
    struct err err = {0};
    char *path;

    if (!probe->options->dir)
        return;
    path = file_join(probe->options->dir, name);
    if (file_write(path, line->text, line->length, &err) < 0)
        streams_say(&probe->streams, err.text);
    free(path);
}

static void write_pids(const struct probe *probe)
{
    struct tree_process self = {0}, child = {0};
    struct str line = {0};

    tree_read(getpid(), &self);
    tree_read(probe->keeper.child.pid, &child);
    str_addf(&line, "probe=%d probe_start=%llu child=%d child_start=%llu\n",
             (int)getpid(), (unsigned long long)self.start, (int)probe->keeper.child.pid,
             (unsigned long long)child.start);
    write_file(probe, "pid", &line);
    str_fini(&line);
}

/* The status is on disk before anybody is told: who hears of the end can read it. */
static void tell_end(struct probe *probe)
{
    struct str line = {0};

    report_status_format(&probe->status, &line);
    write_file(probe, "status", &line);
    str_fini(&line);
    report_ended(probe);
    sender_finish(probe->sender, FINISH_S);
}

static int start_job(struct probe *probe, const sigset_t *mask)
{
    const struct child_start start = {
        .argv = probe->options->argv,
        .in = probe->streams.child_in,
        .out = probe->streams.child_out,
        .err = probe->streams.child_err,
        .terminal = probe->streams.controlling,
        .mask = *mask,
    };
    struct child child;
    struct err err = {0};
    int exit_status;

    if (child_start(&child, &start, &exit_status, &err) < 0) {
        streams_say(&probe->streams, err.text);
        probe->status.exit_status = exit_status;
        probe->status.ended_s = loop_epoch_s();
        str_copy(probe->status.text, sizeof(probe->status.text), err.text);
        tell_end(probe);
        return -1;
    }
    keeper_init(&probe->keeper, &child, probe->options->grace_s);
    probe->status.started_s = loop_epoch_s();
    loop_set(probe->loop, &probe->first, child.pidfd, EPOLLIN);
    return 0;
}

static void send_due_reports(struct probe *probe, double now_s, bool last)
{
    struct report report;

    sender_retry(probe->sender, now_s);
    while (measure_report(probe->measure, now_s, last, &report))
        if (report.kind != REPORT_DEMAND || probe->options->service)
            send_report(probe, &report);
}

/* What is left behind by a job has no rate. */
static double rate_due_s(const struct probe *probe)
{
    return probe->keeper.ended ? INFINITY : measure_due_s(probe->measure);
}

static void tick(struct probe *probe, double now_s)
{
    keeper_tick(&probe->keeper, now_s);
    streams_tick(&probe->streams, now_s);
    measure_tick(probe->measure, now_s);
    if (now_s >= rate_due_s(probe))
        send_due_reports(probe, now_s, false);
    if (now_s >= probe->memory_look_s && !probe->keeper.ended) {
        memory_out_look(&probe->memory);
        probe->memory_look_s = now_s + probe->options->window_s;
    }
    loop_set(probe->loop, &probe->post, sender_fd(probe->sender),
             sender_events(probe->sender));
}

static void run_job(struct probe *probe)
{
    while (!probe->keeper.gone) {
        double now_s = loop_now_s(), due_s;

        tick(probe, now_s);
        if (probe->keeper.gone)
            break;
        due_s = fmin(rate_due_s(probe), keeper_due_s(&probe->keeper));
        due_s = fmin(due_s, streams_due_s(&probe->streams));
        loop_wait(probe->loop, due_s - now_s);
    }
}

static void end_job(struct probe *probe)
{
    const struct keeper *keeper = &probe->keeper;
    char tail[RELAY_TAIL];
    struct ending ending = {.wait_status = keeper->wait_status,
                            .asked = keeper->asked,
                            .killed = keeper->killed,
                            .grace_s = keeper->grace_s,
                            .left_behind = keeper->left_behind,
                            .tail = tail};

    streams_drain(&probe->streams);
    ending.tail_length = streams_tail(&probe->streams, tail, sizeof(tail));
    ending.lost_bytes = streams_lost(&probe->streams, &ending.lost_errno);
    ending.dropped_bytes = probe->streams.bound.dropped_bytes;
    if (keeper->kernel_kill)
        ending.kernel_oom = memory_out_killed(&probe->memory);
    probe->status.ended_s = loop_epoch_s();
    ending_tell(&ending, &probe->status);
    send_due_reports(probe, keeper->ended_s, true);
    measure_overall(probe->measure, keeper->ended_s, &probe->status.steps,
                    &probe->status.rate);
    tell_end(probe);
}

static int open_all(struct probe *probe, const sigset_t *signals, struct err *err)
{
    const struct run_options *options = probe->options;
    const struct measure_options measure = {
        .job = options->job,
        .attempt = options->attempt,
        .window_s = options->window_s,
        .dir = options->dir,
        .metrics_url = options->metrics_url,
        .metrics_counter = options->metrics_counter,
        .progress = options->progress,
    };

    if (options->dir && file_make_dirs(options->dir, err) < 0)
        return -1;
    probe->sender = sender_create(options->report, err);
    if (!probe->sender)
        return err_prefix(err, "--report");
    probe->measure = measure_create(&measure, err);
    if (!probe->measure)
        return err_prefix(err, "--metrics-url");
    probe->loop = loop_open(err);
    if (probe->loop < 0 ||
        streams_open(&probe->streams, options->output, options->output_bytes, err) < 0)
        return -1;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    return open_signals(probe, signals, err);
}

static void close_all(struct probe *probe)
{
    streams_fini(&probe->streams);
    measure_destroy(probe->measure);
    sender_destroy(probe->sender);
    if (probe->signal_fd >= 0)
        close(probe->signal_fd);
    if (probe->keeper.child.pidfd > 0)
        close(probe->keeper.child.pidfd);
    if (probe->loop >= 0)
        close(probe->loop);
}

int run(const struct run_options *options, struct err *err)
{
    struct probe probe = {.options = options,
                          .loop = -1,
                          .signal_fd = -1,
                          .signals = {.fd = -1, .ready = on_signal},
                          .first = {.fd = -1, .ready = on_first_ended},
                          .post = {.fd = -1, .ready = on_post}};
    sigset_t signals, mask;
    int rc = -1;

    block_signals(&signals, &mask);
    probe.signals.ctx = probe.first.ctx = probe.post.ctx = &probe;
    streams_init(&probe.streams);
    report_status_init(&probe.status, options->job);
    probe.status.attempt = options->attempt;
    if (open_all(&probe, &signals, err) < 0)
        goto done;
    if (start_job(&probe, &mask) == 0) {
        write_pids(&probe);
        memory_out_init(&probe.memory, probe.keeper.child.pid);
        measure_start(probe.measure, probe.loop, loop_now_s());
        streams_start(&probe.streams, probe.loop, measure_line, probe.measure);
        report_started(&probe);
        run_job(&probe);
        end_job(&probe);
    }
    rc = probe.status.exit_status;
done:
    close_all(&probe);
    return rc;
}
