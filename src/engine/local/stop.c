/* stop.c - the steps of stopping, the sweep after the probe is gone, and the end told
 *
 * A stop goes: checkpoint signal - grace - SIGTERM - grace - SIGKILL to the processes of
 * the job - a moment for the probe to tell - SIGKILL to the probe.  The probe does most
 * of it itself; the engine's own deadlines are for a probe that cannot.
 *
 * local.c begins a stop and calls back at each deadline; the poller calls when a probe
 * has ended, by itself or not.  When no process of the attempt is left, the daemon hears
 * ENGINE_ENDED. */
#include "engine/local/local_private.h"

#include "base/clock.h"
#include "base/log.h"

#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROBE_SLACK_S 3.0 /* over the grace, until we do the probe's work */
#define TELL_SLACK_S  5.0 /* for the probe to write how it ended */

/* Before it has started the command, a probe may not be ready for signals: they would
 * end it, and a checkpoint would be lost. */
static void signal_probe(struct attempt *a, int signal)
{
    if (!a->told_start && signal != SIGKILL)
        a->owed_signal = signal;
    else if (a->pidfd >= 0)
        syscall(SYS_pidfd_send_signal, a->pidfd, signal, NULL, 0);
}

void stop_owed(struct attempt *a)
{
    int owed = a->owed_signal;

    a->owed_signal = 0;
    if (owed > 0)
        signal_probe(a, owed);
}

static void send_term(struct attempt *a)
{
    a->stop = ATTEMPT_TERM;
    a->deadline_s = clock_wall_s() + a->grace_s + PROBE_SLACK_S;
    signal_probe(a, SIGTERM);
}

/* Its processes are killed at the next look, its probe too if they had been already. */
static void hurry(struct attempt *a)
{
    if (a->stop <= ATTEMPT_TERM) {
        a->stop = ATTEMPT_TERM;
        a->killed = true;
    }
    a->deadline_s = 0;
}

void stop_begin(struct attempt *a, enum engine_stop how)
{
    bool first = a->stop == ATTEMPT_WANTED;

    if (a->state == ATTEMPT_SWEEPING || a->state == ATTEMPT_OVER)
        return;
    if (first)
        a->stop_epoch_s = clock_epoch_s();
    if (how == ENGINE_STOP_KILL) {
        hurry(a);
        return;
    }
    if (!first && (a->stop != ATTEMPT_CHECKPOINT || how != ENGINE_STOP_CANCEL))
        return; /* on its way already; a cancel does not wait for a checkpoint */
    if (how == ENGINE_STOP_MOVE && a->checkpoint_signal > 0 &&
        a->checkpoint_signal != SIGTERM) {
        a->stop = ATTEMPT_CHECKPOINT;
        a->deadline_s = clock_wall_s() + a->grace_s;
        signal_probe(a, a->checkpoint_signal);
        return;
    }
    send_term(a);
}

void stop_kill_members(struct local_engine *e, struct attempt *a)
{
    struct err err;

    cgroups_kill(e->groups, a->group);
    if (process_table_read(&e->processes, &err) < 0)
        return;
    process_table_collect(&e->processes, &a->members, getsid(0));
    for (size_t i = 0; i < a->members.count; i++)
        if (a->members.items[i].pid != a->probe.pid)
            process_signal(a->members.items[i], SIGKILL);
}

void stop_advance(struct local_engine *e, struct attempt *a, double now)
{
    if (a->stop == ATTEMPT_WANTED || now < a->deadline_s || a->state == ATTEMPT_SWEEPING)
        return;
    switch (a->stop) {
    case ATTEMPT_CHECKPOINT:
        send_term(a);
        break;
    case ATTEMPT_TERM:
        a->forced = true;
        a->stop = ATTEMPT_KILL;
        a->deadline_s = now + TELL_SLACK_S;
        stop_kill_members(e, a);
        break;
    case ATTEMPT_KILL:
        log_warn("engine_probe_killed", LOG_U64("job", a->job),
                 LOG_I64("attempt", a->number));
        a->stop = ATTEMPT_KILL_PROBE;
        a->deadline_s = INFINITY;
        stop_kill_members(e, a);
        signal_probe(a, SIGKILL);
        break;
    case ATTEMPT_KILL_PROBE:
    case ATTEMPT_WANTED:
        break;
    }
}

static void wait_for_probe(struct attempt *a)
{
    siginfo_t info = {0};

    if (!a->child || a->waited)
        return;
    if (waitid(P_PIDFD, (id_t)a->pidfd, &info, WEXITED | WNOHANG) < 0 || info.si_pid == 0)
        return; /* somebody else waited for it: how it ended is not known */
    a->waited = true;
    a->wait_status = info.si_code == CLD_EXITED ? info.si_status << 8 : info.si_status;
}

/* All that carry the attempt's marks in the environment they began with, in whatever
 * session, below whatever parent. */
static void add_marked(struct local_engine *e, struct attempt *a)
{
    vec_each (const struct process, process, &e->processes.all)
        if (process->state != 'Z' && process->id.pid != getpid() &&
            attempt_marked(a, process->id.pid))
            vec_push(&a->members, process->id);
}

static size_t kill_alive(const struct attempt *a)
{
    size_t alive = 0;

    for (size_t i = 0; i < a->members.count; i++)
        if (process_alive(a->members.items[i])) {
            alive++;
            process_signal(a->members.items[i], SIGKILL);
        }
    return alive;
}

/* How it ended, put together from what the probe wrote, what the kernel counted and what
 * the engine did. */
struct attempt_ending {
    struct engine_event event;
    double at_s; /* NaN: now */
    int told;    /* as the probe's status says; -1: not known */
    char text[400];
};

__attribute__((format(printf, 2, 3))) static void say(struct attempt_ending *d,
                                                      const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(d->text, sizeof(d->text), format, args);
    va_end(args);
}

static bool killed_by_kernel(struct local_engine *e, const struct attempt *a)
{
    uint64_t kills = 0;

    return cgroups_oom_kills(e->groups, a->group, &kills) && kills > a->oom_kills;
}

static void describe_exit(struct attempt_ending *d)
{
    if (d->event.signal > 0)
        say(d, "ended by signal %d (%s)", d->event.signal, strsignal(d->event.signal));
    else
        say(d, "exit status %d", d->event.exit_status);
}

static void from_status(struct attempt_ending *d, const struct probe_report *s)
{
    d->event.exit_status = s->exit_status > 0 ? s->exit_status : 0;
    d->event.signal = s->signal > 0 ? s->signal : 0;
    d->event.steps = s->steps;
    d->at_s = s->at_s;
    d->told = s->told;
    if (isnan(s->started_s)) {
        d->event.end = ENGINE_END_NOT_STARTED;
        say(d, "%s", s->text[0] ? s->text : "the command could not be started");
        return;
    }
    d->event.end =
        s->exit_status == 0 && d->event.signal == 0 ? ENGINE_END_DONE : ENGINE_END_FAILED;
    if (s->oom)
        d->event.end = ENGINE_END_OUT_OF_MEMORY;
    if (s->text[0])
        say(d, "%s", s->text);
    else if (s->oom)
        say(d, "ran out of memory");
    else if (d->event.end == ENGINE_END_FAILED)
        describe_exit(d);
}

/* The probe left no status: it was killed, or it failed itself. */
static void from_probe(struct attempt_ending *d, const struct attempt *a)
{
    char message[200];

    if (a->launch_failed) {
        d->event.end = ENGINE_END_NOT_STARTED;
        say(d, "%s", a->why);
        return;
    }
    if (a->waited && WIFEXITED(a->wait_status) && !a->told_start) {
        attempt_read_message(a, message, sizeof(message));
        d->event.end = ENGINE_END_NOT_STARTED;
        d->event.exit_status = WEXITSTATUS(a->wait_status);
        say(d, "corgi-probe failed before it started the command%s%s",
            message[0] ? ": " : "", message);
        return;
    }
    d->event.end = ENGINE_END_LOST;
    if (a->waited && WIFSIGNALED(a->wait_status))
        say(d,
            "corgi-probe was killed by signal %d (%s), so the exit status is not known; "
            "what was left of the job was killed",
            WTERMSIG(a->wait_status), strsignal(WTERMSIG(a->wait_status)));
    else
        say(d, "corgi-probe ended without telling how the job did; what was left of the "
               "job was killed");
}

/* Did it end because we said so?  One that was done before our signal reached it did not,
 * whenever its last process went. */
static bool ended_by_us(const struct attempt_ending *d, const struct attempt *a)
{
    if (a->stop == ATTEMPT_WANTED || d->event.end == ENGINE_END_NOT_STARTED)
        return false;
    if (d->told >= 0)
        return d->told || ((a->forced || a->killed) && d->event.end != ENGINE_END_DONE);
    return isnan(d->at_s) || d->at_s >= a->stop_epoch_s;
}

/* The engine's own deeds and counts go before what the probe could see of them. */
static void correct(struct local_engine *e, struct attempt_ending *d,
                    const struct attempt *a)
{
    if (a->out_of_memory || (d->event.end != ENGINE_END_DONE && killed_by_kernel(e, a))) {
        d->event.end = ENGINE_END_OUT_OF_MEMORY;
        say(d, "%s",
            a->why[0] ? a->why
                      : "the kernel killed it: its device's memory limit was reached");
    } else if (ended_by_us(d, a) && d->event.end != ENGINE_END_OUT_OF_MEMORY) {
        d->event.end = ENGINE_END_STOPPED;
        if (a->killed)
            say(d, "killed at once, as was asked for");
        else if (a->forced)
            say(d, "did not end within %g s of SIGTERM and was killed", a->grace_s);
        else if (!d->text[0]) /* else the probe saw how it took the signal */
            say(d, "stopped");
    }
}

static void finish(struct local_engine *e, struct attempt *a)
{
    struct attempt_ending d = {
        .event = local_event_of(ENGINE_ENDED, a), .at_s = NAN, .told = -1};
    struct probe_report status;

    if (attempt_read_status(a, &status))
        from_status(&d, &status);
    else
        from_probe(&d, a);
    correct(e, &d, a);
    if (d.event.end != ENGINE_END_NOT_STARTED && !a->told_start)
        start_tell(e, a); /* it was over before anybody said it began */
    watch_at_end(e, a);
    for (int i = 0; i < a->device_count && !a->nobody; i++)
        if (e->devices[a->devices[i]].booking)
            energy_booking_leave(e->devices[a->devices[i]].booking, a->job,
                                 clock_wall_s());
    cpu_quota_leave(e, a);
    cgroups_remove(e->groups, a->group); /* of one that nobody had named */
    cgroups_remove(e->groups, a->aside);
    a->state = ATTEMPT_OVER;
    if (a->nobody)
        return;
    d.event.at_s = clock_epoch_s();
    d.event.measurement.job = a->job;
    d.event.measurement.out_of_memory = d.event.end == ENGINE_END_OUT_OF_MEMORY;
    local_tell(e, d.event, d.text);
}

void stop_sweep(struct local_engine *e, struct attempt *a)
{
    struct err err;
    size_t alive;
    int held = cgroups_kill(e->groups, a->group) + cgroups_kill(e->groups, a->aside);

    if (process_table_read(&e->processes, &err) < 0)
        return;
    add_marked(e, a);
    process_table_collect(&e->processes, &a->members, getsid(0));
    alive = kill_alive(a);
    if (alive == 0 && held == 0) {
        finish(e, a);
    } else if (clock_wall_s() > a->deadline_s && !a->stubborn_told) {
        a->stubborn_told = true;
        local_warn(e, a->nobody ? 0 : a->job,
                   "%zu processes of job %llu cannot be killed (they wait for a device "
                   "or a file server); its devices stay taken until they are gone",
                   alive, (unsigned long long)a->job);
    }
}

void stop_probe_gone(void *ctx, uint32_t events)
{
    struct attempt *a = ctx;

    (void)events;
    watch_reports(a->engine); /* what it said before it went comes first */
    wait_for_probe(a);
    attempt_close_probe(a);
    if (a->result_fd >= 0)
        start_result(a); /* the pipe's end came together with it */
    a->state = ATTEMPT_SWEEPING;
    a->deadline_s = clock_wall_s() + STOP_STUBBORN_S;
    stop_sweep(a->engine, a);
}
