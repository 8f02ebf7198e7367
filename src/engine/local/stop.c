/* stop.c - the steps of stopping, and the sweep after the probe is gone
 *
 * checkpoint signal - grace - SIGTERM - grace - SIGKILL to the processes of the job - a
 * moment for the probe to tell - SIGKILL to the probe.  The probe does most of it itself;
 * the engine's own deadlines are for a probe that cannot.  See local_own.h. */
#include "engine/local/local_private.h"

#include "base/clock.h"
#include "base/log.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
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

void stop_begin(struct local_engine *e, struct attempt *a, enum engine_stop how)
{
    (void)e;
    if (a->state == ATTEMPT_SWEEPING || a->state == ATTEMPT_OVER)
        return;
    if (a->stop == ATTEMPT_WANTED)
        a->stop_epoch_s = clock_epoch_s();
    else if (a->stop != ATTEMPT_CHECKPOINT || how != ENGINE_STOP_CANCEL)
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

void stop_probe_gone(struct local_engine *e, struct attempt *a)
{
    wait_for_probe(a);
    close(a->pidfd); /* leaves the epoll set too */
    a->pidfd = -1;
    if (a->result_fd >= 0)
        start_result(a); /* the pipe's end came together with it */
    a->state = ATTEMPT_SWEEPING;
    a->deadline_s = clock_wall_s() + STOP_STUBBORN_S;
    if (stop_sweep(e, a))
        finish(e, a);
}

/* Whoever carries the attempt's marks in the environment it began with, in whatever
 * session, below whatever parent. */
static void add_marked(struct local_engine *e, struct attempt *a)
{
    struct attempt_marks marks = {0};

    attempt_marks(&marks, e->state_dir, a->job, a->number);
    for (size_t i = 0; i < e->processes.all.count; i++) {
        const struct process *one = &e->processes.all.items[i];

        if (one->state != 'Z' && one->id.pid != getpid() &&
            process_environ_has(one->id.pid, marks.all, ATTEMPT_MARKS))
            vec_push(&a->members, one->id);
    }
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

bool stop_sweep(struct local_engine *e, struct attempt *a)
{
    struct err err;
    size_t alive;
    int held = cgroups_kill(e->groups, a->group);

    if (process_table_read(&e->processes, &err) < 0)
        return false;
    add_marked(e, a);
    process_table_collect(&e->processes, &a->members, getsid(0));
    alive = kill_alive(a);
    if (alive == 0 && held == 0)
        return true;
    if (clock_wall_s() > a->deadline_s && !a->stubborn_told) {
        a->stubborn_told = true;
        local_warn(e, a->nobody ? 0 : a->job,
                   "%zu processes of job %llu cannot be killed (they wait for a device "
                   "or a file server); its devices stay taken until they are gone",
                   alive, (unsigned long long)a->job);
    }
    return false;
}
