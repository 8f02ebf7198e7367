/* finish.c - how an attempt ended, told once, see local_own.h */
#include "engine/local/local_private.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"

#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

/* How it ended, put together from what the probe wrote, what the kernel counted and what
 * the engine did. */
struct attempt_ending {
    enum engine_end end;
    int exit_status;
    int signal;
    double steps;
    double at_s; /* NaN: now */
    char text[400];
};

static void say(struct attempt_ending *d, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void say(struct attempt_ending *d, const char *format, ...)
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
    if (d->signal > 0)
        say(d, "ended by signal %d (%s)", d->signal, strsignal(d->signal));
    else
        say(d, "exit status %d", d->exit_status);
}

static void from_status(struct attempt_ending *d, const struct probe_status *s)
{
    d->exit_status = s->exit_status > 0 ? s->exit_status : 0;
    d->signal = s->signal > 0 ? s->signal : 0;
    d->steps = s->steps;
    d->at_s = s->ended_s;
    if (isnan(s->started_s)) {
        d->end = ENGINE_END_NOT_STARTED;
        say(d, "%s", s->text[0] ? s->text : "the command could not be started");
        return;
    }
    d->end = s->exit_status == 0 && d->signal == 0 ? ENGINE_END_DONE : ENGINE_END_FAILED;
    if (s->oom)
        d->end = ENGINE_END_OUT_OF_MEMORY;
    if (s->text[0])
        say(d, "%s", s->text);
    else if (s->oom)
        say(d, "ran out of memory");
    else if (d->end == ENGINE_END_FAILED)
        describe_exit(d);
}

/* The probe left no status: it was killed, or it failed itself. */
static void from_probe(struct attempt_ending *d, const struct attempt *a)
{
    char message[200];

    if (a->launch_failed) {
        d->end = ENGINE_END_NOT_STARTED;
        say(d, "%s", a->why);
        return;
    }
    if (a->waited && WIFEXITED(a->wait_status) && !a->told_start) {
        attempt_read_message(a, message, sizeof(message));
        d->end = ENGINE_END_NOT_STARTED;
        d->exit_status = WEXITSTATUS(a->wait_status);
        say(d, "corgi-probe failed before it started the command%s%s",
            message[0] ? ": " : "", message);
        return;
    }
    d->end = ENGINE_END_LOST;
    if (a->waited && WIFSIGNALED(a->wait_status))
        say(d,
            "corgi-probe was killed by signal %d (%s), so the exit status is not known; "
            "what was left of the job was killed",
            WTERMSIG(a->wait_status), strsignal(WTERMSIG(a->wait_status)));
    else
        say(d, "corgi-probe ended without telling how the job did; what was left of the "
               "job was killed");
}

/* What the engine itself did or saw goes before what the probe could see of it. */
static void correct(struct local_engine *e, struct attempt_ending *d,
                    const struct attempt *a)
{
    bool ours = a->stop != ATTEMPT_WANTED && d->end != ENGINE_END_NOT_STARTED &&
                (isnan(d->at_s) || d->at_s >= a->stop_epoch_s);

    if (a->out_of_memory || (d->end != ENGINE_END_DONE && killed_by_kernel(e, a))) {
        d->end = ENGINE_END_OUT_OF_MEMORY;
        say(d, "%s",
            a->why[0] ? a->why
                      : "the kernel killed it: its device's memory limit was reached");
    } else if (ours && d->end != ENGINE_END_OUT_OF_MEMORY) {
        d->end = ENGINE_END_STOPPED;
        if (a->forced)
            say(d, "did not end within %g s of SIGTERM and was killed", a->grace_s);
        else if (!d->text[0]) /* else the probe saw how it took the signal */
            say(d, "stopped");
    }
}

void finish(struct local_engine *e, struct attempt *a)
{
    struct attempt_ending d = {.steps = NAN, .at_s = NAN};
    struct engine_event event = outbox_blank(ENGINE_ENDED);
    struct probe_status status;

    if (attempt_read_status(a, &status))
        from_status(&d, &status);
    else
        from_probe(&d, a);
    correct(e, &d, a);
    if (d.end != ENGINE_END_NOT_STARTED && !a->told_start)
        start_tell(e, a); /* it was over before anybody said it began */
    look_at_end(e, a);
    for (int i = 0; i < a->device_count && !a->nobody; i++)
        device_power_leave(e->power, a->devices[i], a->job, clock_wall_s());
    cpu_quota_leave(e->quota, a->job, a->number);
    cgroups_remove(e->groups, a->group); /* of one that nobody had named */
    a->state = ATTEMPT_OVER;
    if (a->nobody)
        return;
    event.job = a->job;
    event.attempt = a->number;
    event.device = a->devices[0];
    event.end = d.end;
    event.exit_status = d.exit_status;
    event.signal = d.signal;
    event.steps = d.steps;
    event.measurement.job = a->job;
    event.measurement.out_of_memory = d.end == ENGINE_END_OUT_OF_MEMORY;
    local_tell(e, event, d.text);
}
