/* local_bench.h - a local engine in a temporary folder, and what it told
 *
 * Real processes through the real corgi-probe; the events are kept for the tests. */
#pragma once

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"
#include "engine/local/local.h"
#include "loop/cluster.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BENCH_PATIENCE_S 60.0 /* a busy machine under a sanitizer is slow */

struct bench_event {
    struct engine_event event;
    char text[400];
    char source[24];
    struct engine_share shares[16];
};

struct bench {
    char dir[64];
    char probe[512];
    bool no_cgroups;
    int output_mb;    /* 0: as the config has it */
    double memory_gb; /* of the first device */
    struct engine engine;
    vec_of(struct bench_event) events;
};

static inline void bench_hear(void *ctx, const struct engine_event *event)
{
    struct bench *b = ctx;
    struct bench_event kept = {.event = *event};

    str_copy(kept.text, sizeof(kept.text), event->text);
    str_copy(kept.source, sizeof(kept.source), event->source);
    for (int i = 0; i < event->share_count && i < 16; i++)
        kept.shares[i] = event->shares[i];
    kept.event.shares = NULL; /* the engine's: gone after this */
    vec_push(&b->events, kept);
}

/* Without a probe the tests of running jobs cannot run. */
static inline bool bench_has_probe(struct bench *b)
{
    const char *bin = getenv("CORGI_BIN"), *probe = getenv("CORGI_PROBE");

    if (probe)
        snprintf(b->probe, sizeof(b->probe), "%s", probe);
    else
        snprintf(b->probe, sizeof(b->probe), "%s/corgi-probe", bin ? bin : ".");
    return access(b->probe, X_OK) == 0;
}

static inline int bench_open(struct bench *b, struct err *err)
{
    struct cpus_spec cpus[] = {
        {.type = "cpu-fast", .cores = "0", .quota = 1, .memory_gb = b->memory_gb},
        {.type = "cpu-mid", .cores = "0", .quota = 0.5},
        {.type = "cpu-slow", .cores = "0", .quota = 0.25},
        {.type = "cpu-slow", .cores = "0", .quota = 0.25},
    };

    return local_engine_create(&b->engine,
                               &(struct local_engine_options){
                                   .state_dir = b->dir,
                                   .probe = b->probe,
                                   .node = "here",
                                   .cpus = {cpus, 4},
                                   .cgroups = !b->no_cgroups,
                                   .window_s = 1,
                                   .power_every_s = 0.5,
                                   .output_mb = b->output_mb ? b->output_mb : 64,
                               },
                               (struct engine_sink){bench_hear, b}, err);
}

static inline void bench_init(struct bench *b)
{
    str_copy(b->dir, sizeof(b->dir), "/tmp/corgi-local-XXXXXX");
    if (!mkdtemp(b->dir)) {
        perror("mkdtemp");
        abort();
    }
}

static inline void bench_close(struct bench *b)
{
    if (b->engine.ops)
        b->engine.ops->destroy(b->engine.self);
    b->engine = (struct engine){0};
}

static inline void bench_fini(struct bench *b)
{
    char command[128];

    bench_close(b);
    vec_free(&b->events);
    snprintf(command, sizeof(command), "rm -rf '%s'", b->dir);
    if (system(command) != 0)
        fprintf(stderr, "cannot remove %s\n", b->dir);
}

/* Let the engine work for at most this long, or until it has told something. */
static inline void bench_turn(struct bench *b, double seconds)
{
    struct pollfd wait = {.fd = b->engine.ops->fd(b->engine.self), .events = POLLIN};

    poll(&wait, 1, (int)(seconds * 1000));
    b->engine.ops->dispatch(b->engine.self, 0);
}

static inline void bench_work(struct bench *b, double seconds)
{
    double end = clock_wall_s() + seconds;

    for (double now = clock_wall_s(); now < end; now = clock_wall_s())
        bench_turn(b, end - now);
}

static inline const struct bench_event *
bench_find(const struct bench *b, enum engine_event_kind kind, uint64_t job)
{
    vec_each (const struct bench_event, e, &b->events)
        if (e->event.kind == kind && e->event.job == job)
            return e;
    return NULL;
}

static inline int bench_count(const struct bench *b, enum engine_event_kind kind,
                              uint64_t job)
{
    int count = 0;

    vec_each (const struct bench_event, e, &b->events)
        count += e->event.kind == kind && e->event.job == job;
    return count;
}

/* Wait for the first such event; NULL after the patience. */
static inline const struct bench_event *
bench_await(struct bench *b, enum engine_event_kind kind, uint64_t job)
{
    double end = clock_wall_s() + BENCH_PATIENCE_S;

    while (!bench_find(b, kind, job) && clock_wall_s() < end)
        bench_turn(b, 0.2);
    return bench_find(b, kind, job);
}

struct bench_job {
    struct job job;
    struct engine_job engine;
    const char *argv[8];
    int device;
};

/* A job that is a shell command.  The struct must stay while it is used. */
static inline struct engine_job *bench_shell(struct bench_job *j, uint64_t id, int device,
                                             const char *command)
{
    *j = (struct bench_job){.device = device};
    j->job =
        (struct job){.id = id, .kind = JOB_TRAINING, .devices = 1, .may_share = true};
    j->argv[0] = "/bin/sh";
    j->argv[1] = "-c";
    j->argv[2] = command;
    j->engine = (struct engine_job){
        .job = &j->job,
        .attempt = 1,
        .uid = getuid(),
        .gid = getgid(),
        .directory = "/tmp",
        .argv = j->argv,
        .stop_grace_s = 2,
        .device_count = 1,
        .devices = &j->device,
    };
    return &j->engine;
}
