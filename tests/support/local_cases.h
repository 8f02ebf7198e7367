/* local_cases.h - what the tests of the local engine have in common: a bench for each
 * case, starting, stopping and waiting for the end, and what is left of a job's processes
 */
#pragma once

#include "support/local_bench.h"

#include "base/file.h"
#include "base/process.h"
#include "support/test.h"

#include <errno.h>
#include <signal.h>

static inline int set_up(void **state)
{
    struct bench *b = mem_new(struct bench);
    struct err err = {0};

    *state = b;
    bench_init(b);
    if (!bench_has_probe(b)) {
        print_message("skipped: there is no corgi-probe at %s\n", b->probe);
        return 0;
    }
    if (bench_open(b, &err) < 0) {
        print_error("%s\n", err.text);
        return -1;
    }
    return 0;
}

static inline int set_up_closed(void **state)
{
    struct bench *b = mem_new(struct bench);

    *state = b;
    bench_init(b);
    bench_has_probe(b);
    return 0;
}

static inline int tear_down(void **state)
{
    bench_fini(*state);
    free(*state);
    return 0;
}

static inline struct bench *bench_of(void **state)
{
    struct bench *b = *state;

    if (access(b->probe, X_OK) != 0)
        skip();
    return b;
}

static inline void start(struct bench *b, struct engine_job *job)
{
    struct err err = {0};

    if (b->engine.ops->start(b->engine.self, job, &err) < 0)
        fail_msg("%s", err.text);
}

static inline void stop(struct bench *b, uint64_t job, enum engine_stop how)
{
    struct err err = {0};

    if (b->engine.ops->stop(b->engine.self, job, how, &err) < 0)
        fail_msg("%s", err.text);
}

static inline const struct bench_event *ended(struct bench *b, uint64_t job)
{
    const struct bench_event *e = bench_await(b, ENGINE_ENDED, job);

    if (!e)
        fail_msg("job %d did not end", (int)job);
    return e;
}

static inline const struct bench_event *run(struct bench *b, uint64_t id,
                                            const char *command)
{
    struct bench_job j;

    start(b, bench_shell(&j, id, 0, command));
    return ended(b, id);
}

static inline char *output_of(struct bench *b, uint64_t job, size_t *count)
{
    char path[128];
    char *bytes = NULL;
    struct err err;

    snprintf(path, sizeof(path), "%s/jobs/%d/attempt-1/output", b->dir, (int)job);
    if (file_read(path, 1 << 20, &bytes, count, &err) < 0)
        fail_msg("%s", err.text);
    return bytes;
}

/* Processes of this bench's jobs that are there, by their mark. */
static inline int marked_processes(const struct bench *b)
{
    struct process_table procs = {0};
    struct err err;
    char mark[128];
    const char *marks[] = {mark};
    int count = 0;

    snprintf(mark, sizeof(mark), "CORGI_ENGINE=%s", b->dir);
    assert_int_equal(process_table_read(&procs, &err), 0);
    vec_each (struct process, one, &procs.all)
        count += one->state != 'Z' && process_environ_has(one->id.pid, marks, 1);
    process_table_fini(&procs);
    return count;
}

/* The number in the first line of a file that a job writes. */
static inline pid_t await_pid(struct bench *b, const char *name)
{
    double end = clock_wall_s() + BENCH_PATIENCE_S;
    char path[128];
    int pid = 0;

    snprintf(path, sizeof(path), "%s/%s", b->dir, name);
    while (pid == 0 && clock_wall_s() < end) {
        FILE *f = fopen(path, "r");

        if (f && fscanf(f, "%d\n", &pid) != 1)
            pid = 0;
        if (f)
            fclose(f);
        if (b->engine.ops)
            bench_turn(b, 0.05);
        else
            usleep(20000);
    }
    if (pid == 0)
        fail_msg("%s was not written", path);
    return pid;
}

static inline bool is_gone(pid_t pid)
{
    struct process one;

    return !process_read(pid, &one) || one.state == 'Z';
}

/* ---- ends ----------------------------------------------------------------------------
 */

/* ---- killed from outside -------------------------------------------------------------
 */

static inline pid_t probe_of(struct bench *b, uint64_t job)
{
    double end = clock_wall_s() + BENCH_PATIENCE_S;
    char path[128];
    int pid = 0;

    snprintf(path, sizeof(path), "%s/jobs/%d/attempt-1/pid", b->dir, (int)job);
    while (pid == 0 && clock_wall_s() < end) {
        FILE *f = fopen(path, "r");

        if (f && fscanf(f, "probe=%d", &pid) != 1)
            pid = 0;
        if (f)
            fclose(f);
        usleep(20000);
    }
    assert_true(pid > 1);
    return pid;
}

#define OPEN(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define SHUT(name) cmocka_unit_test_setup_teardown(name, set_up_closed, tear_down)
