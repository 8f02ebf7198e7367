/* sim_journal.c - the simulated world's memory
 *
 * sim_engine.c and sim_world.c note here what a next daemon must find; journal_open()
 * reads it when that daemon makes its engine.
 *
 * Lines appended to a file: who was started where, how far it is, how it ended.  They are
 * not synced: the world is outside of the daemon, and a machine that loses power loses
 * its processes too. */
#include "engine/sim/sim_engine_private.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define JOURNAL_MAX_BYTES ((size_t)256 << 20)
#define JOURNAL_COMPACT   ((long)4 << 20)
#define STEPS_EVERY_S     1.0 /* of the wall */

/* A full disk may take a part of a line: the next one begins on a line of its own. */
static void put(struct sim_engine *e, struct str *text)
{
    ssize_t written;

    if (e->journal >= 0 && text->length > 0) {
        if (e->journal_torn && write(e->journal, "\n", 1) == 1)
            e->journal_torn = false;
        written = e->journal_torn ? -1 : write(e->journal, text->text, text->length);
        if (written == (ssize_t)text->length) {
            e->journal_bytes += (long)text->length;
        } else {
            e->journal_torn = e->journal_torn || written > 0;
            log_warn("sim_journal_failed", LOG_STR("error", strerror(errno)));
        }
    }
    str_fini(text);
}

void journal_note(struct sim_engine *e, const char *format, ...)
{
    struct str line = {0};
    char text[64];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    str_addf(&line, "%s\n", text);
    put(e, &line);
}

static void add_start(struct str *out, const struct run *run)
{
    str_addf(out, "start %llu %d %.3f %.9g %.3f", (unsigned long long)run->request.job.id,
             run->attempt, run->ready_s, run->before,
             isinf(run->ends_s) ? 0 : run->ends_s);
    for (int i = 0; i < run->device_count; i++)
        str_addf(out, " %d", run->devices[i]);
    str_add(out, "\n");
}

void journal_start(struct sim_engine *e, const struct run *run)
{
    struct str line = {0};

    str_addf(&line, "clock %.3f\n", e->now_s);
    add_start(&line, run);
    put(e, &line);
}

static void add_end(struct str *out, const struct run *run)
{
    str_addf(out, "end %llu %d %s %d %.9g\n", (unsigned long long)run->request.job.id,
             run->attempt, run->state == RUN_STOPPED ? "stopped" : "ended", (int)run->end,
             run->steps);
}

void journal_end(struct sim_engine *e, const struct run *run)
{
    struct str line = {0};

    str_addf(&line, "clock %.3f\n", e->now_s);
    add_end(&line, run);
    put(e, &line);
}

static void add_steps(struct sim_engine *e, struct str *out)
{
    str_addf(out, "clock %.3f\n", e->now_s);
    for (size_t i = 0; i < e->runs.count; i++) {
        struct run *run = e->runs.items[i];
        double steps;

        if (run->state != RUN_ACTIVE || run->request.job.kind != JOB_TRAINING)
            continue;
        steps = sim_world_done(run, e->now_s) - run->before;
        if (steps == run->written)
            continue;
        str_addf(out, "steps %llu %d %.9g\n", (unsigned long long)run->request.job.id,
                 run->attempt, steps);
        run->written = steps;
    }
}

static void add_runs(struct sim_engine *e, struct str *out)
{
    for (size_t i = 0; i < e->runs.count; i++) {
        add_start(out, e->runs.items[i]);
        e->runs.items[i]->written = NAN;
        if (e->runs.items[i]->state >= RUN_STOPPED)
            add_end(out, e->runs.items[i]);
    }
}

static int open_file(const struct sim_engine *e)
{
    return open(e->options.journal, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
}

/* The file again from what is known now; a crash in between leaves the old one. */
static void compact(struct sim_engine *e)
{
    struct str text = {0};
    struct err err = {0};

    add_runs(e, &text);
    add_steps(e, &text);
    for (int n = 0; n < e->cluster->node_count; n++)
        if (e->cluster->nodes[n].state == NODE_ASLEEP)
            str_addf(&text, JOURNAL_NODE "\n", n, 1);
    for (int d = 0; d < e->cluster->device_count; d++)
        if (e->cluster->devices[d].cap_watts > 0)
            str_addf(&text, JOURNAL_CAP "\n", d, e->cluster->devices[d].cap_watts);
    if (file_write(e->options.journal, str_text(&text), text.length, &err) < 0)
        log_warn("sim_journal_failed", LOG_ERR(&err));
    close(e->journal);
    e->journal = open_file(e);
    e->journal_bytes = (long)text.length;
    str_fini(&text);
}

void journal_steps(struct sim_engine *e, bool at_once)
{
    struct str text = {0};
    double wall_s = clock_wall_s();

    if (e->journal < 0 || (!at_once && wall_s - e->journaled_s < STEPS_EVERY_S))
        return;
    e->journaled_s = wall_s;
    add_steps(e, &text);
    put(e, &text);
    if (e->journal_bytes > JOURNAL_COMPACT)
        compact(e);
}

/* ---- reading ---------------------------------------------------------------------- */

static struct run *run_of(struct sim_engine *e, unsigned long long job)
{
    struct run *run = sim_engine_find(e, job);

    if (job > e->last_job && job <= INT64_MAX)
        e->last_job = job;
    if (!run)
        run = sim_engine_add(e, job);
    run->started = true;
    return run;
}

static void read_start(struct sim_engine *e, const char *line)
{
    unsigned long long job;
    int attempt, at = 0, device, used;
    double ready_s, before, ends_s;
    struct run *run;

    if (sscanf(line, "start %llu %d %lf %lf %lf%n", &job, &attempt, &ready_s, &before,
               &ends_s, &at) != 5 ||
        !isfinite(ready_s + before + ends_s))
        return;
    run = run_of(e, job);
    run->attempt = attempt;
    run->state = RUN_ACTIVE;
    run->ready_s = ready_s;
    run->before = before;
    run->steps = 0;
    run->ends_s = ends_s > 0 ? ends_s : INFINITY;
    run->device_count = 0;
    while (run->device_count < LOOP_MAX_GANG &&
           sscanf(line + at, " %d%n", &device, &used) == 1) {
        if (device >= 0 && device < e->cluster->device_count)
            run->devices[run->device_count++] = device;
        at += used;
    }
}

static void read_end(struct sim_engine *e, const char *line)
{
    unsigned long long job;
    int attempt, end;
    char how[16];
    double steps;
    struct run *run;

    if (sscanf(line, "end %llu %d %15s %d %lf", &job, &attempt, how, &end, &steps) != 5 ||
        !isfinite(steps))
        return;
    run = run_of(e, job);
    run->attempt = attempt;
    run->state = strcmp(how, "stopped") == 0 ? RUN_STOPPED : RUN_ENDED;
    run->end = (enum engine_end)end;
    run->steps = steps;
}

static void read_line(struct sim_engine *e, const char *line)
{
    unsigned long long job;
    int attempt, n, asleep;
    double value = 0;

    if (sscanf(line, "clock %lf", &value) == 1)
        e->now_s = isfinite(value) ? fmax(e->now_s, value) : e->now_s; /* damaged */
    else if (str_starts(line, "start "))
        read_start(e, line);
    else if (str_starts(line, "end "))
        read_end(e, line);
    else if (sscanf(line, "steps %llu %d %lf", &job, &attempt, &value) == 3 &&
             isfinite(value))
        run_of(e, job)->steps = value;
    else if (sscanf(line, "forget %llu", &job) == 1)
        sim_engine_forget(e, job);
    else if (sscanf(line, "node %d %d", &n, &asleep) == 2 && n >= 0 &&
             n < e->cluster->node_count)
        e->cluster->nodes[n].state = asleep ? NODE_ASLEEP : NODE_AWAKE;
    else if (sscanf(line, "cap %d %lf", &n, &value) == 2 && isfinite(value) && n >= 0 &&
             n < e->cluster->device_count)
        e->cluster->devices[n].cap_watts = value;
}

static int read_all(struct sim_engine *e, struct err *err)
{
    char *text, *line, *rest;
    size_t count;
    struct err missing = {0};

    if (file_read(e->options.journal, JOURNAL_MAX_BYTES, &text, &count, &missing) < 0) {
        if (missing.code == ERR_NOT_FOUND)
            return 0;
        return err_set(err, missing.code, "%s", missing.text);
    }
    e->now_s = 0;
    for (line = text; (rest = strchr(line, '\n')); line = rest + 1) {
        *rest = '\0';
        read_line(e, line); /* a last line without its end was cut by a crash */
    }
    free(text);
    if (!(e->now_s > 0))
        e->now_s = e->options.start_s;
    e->journal_bytes = (long)count;
    return 0;
}

int journal_open(struct sim_engine *e, struct err *err)
{
    e->journal = -1;
    if (!e->options.journal)
        return 0;
    if (read_all(e, err) < 0)
        return -1;
    e->journal = open_file(e);
    if (e->journal < 0)
        return err_sys(err, "cannot open %s", e->options.journal);
    journal_note(e, "%s", ""); /* after a torn line */
    return 0;
}
