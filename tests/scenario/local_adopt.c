/* local_adopt.c - engines that end while their jobs run, and the next one that looks for
 * what they left */
#include "support/local_cases.h"

#include <fcntl.h>
#include <sys/wait.h>

static pid_t engine_elsewhere(struct bench *b, struct engine_job *job)
{
    int told[2];
    char byte;
    pid_t pid;

    assert_int_equal(pipe(told), 0);
    pid = fork();
    if (pid == 0) {
        struct err err = {0};

        close(told[0]);
        if (bench_open(b, &err) < 0 ||
            b->engine.ops->start(b->engine.self, job, &err) < 0 ||
            !bench_await(b, ENGINE_STARTED, job->job->id)) {
            fprintf(stderr, "engine elsewhere: %s\n", err.text);
            _exit(1);
        }
        if (write(told[1], "x", 1) != 1)
            _exit(1);
        for (;;)
            bench_turn(b, 1);
    }
    close(told[1]);
    assert_int_equal(read(told[0], &byte, 1), 1);
    close(told[0]);
    return pid;
}

static void kill_engine(pid_t pid)
{
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void reopen(struct bench *b)
{
    struct err err = {0};

    if (bench_open(b, &err) < 0)
        fail_msg("%s", err.text);
}

CASE(a_second_engine_adopts_what_the_first_left)
{
    struct bench *b = bench_of(state);
    struct bench_job j;
    struct err err = {0};
    char command[200];
    pid_t job_pid;

    snprintf(command, sizeof(command),
             "echo $$ > %s/pid; while [ ! -e %s/go ]; do sleep 0.05; done; exit 42",
             b->dir, b->dir);
    kill_engine(engine_elsewhere(b, bench_shell(&j, 16, 1, command)));
    job_pid = await_pid(b, "pid");
    assert_false(is_gone(job_pid));
    reopen(b);
    assert_int_equal(b->engine.ops->adopt(b->engine.self, &j.engine, &err), 0);
    b->engine.ops->adopted(b->engine.self);
    bench_work(b, 0.5);
    assert_false(is_gone(job_pid));
    assert_int_equal(bench_count(b, ENGINE_ENDED, 16), 0);
    assert_int_equal(bench_count(b, ENGINE_STARTED, 16), 1);
    snprintf(command, sizeof(command), "%s/go", b->dir);
    close(open(command, O_CREAT | O_WRONLY, 0644));
    assert_int_equal(ended(b, 16)->event.end, ENGINE_END_FAILED);
    assert_int_equal(ended(b, 16)->event.exit_status, 42);
    assert_int_equal(marked_processes(b), 0);
}

static void await_none(struct bench *b)
{
    for (double end = clock_wall_s() + BENCH_PATIENCE_S;
         marked_processes(b) > 0 && clock_wall_s() < end;)
        usleep(20000);
}

CASE(an_end_while_nobody_looked_is_told)
{
    struct bench *b = bench_of(state);
    struct bench_job j;
    struct err err = {0};
    char command[200];

    snprintf(command, sizeof(command),
             "while [ ! -e %s/go ]; do sleep 0.05; done; exit 43", b->dir);
    kill_engine(engine_elsewhere(b, bench_shell(&j, 17, 0, command)));
    snprintf(command, sizeof(command), "%s/go", b->dir);
    close(open(command, O_CREAT | O_WRONLY, 0644));
    await_none(b);
    reopen(b);
    assert_int_equal(b->engine.ops->adopt(b->engine.self, &j.engine, &err), 0);
    b->engine.ops->adopted(b->engine.self);
    assert_int_equal(ended(b, 17)->event.exit_status, 43);
    assert_int_equal(ended(b, 17)->event.end, ENGINE_END_FAILED);
    assert_true(bench_find(b, ENGINE_STARTED, 17) < bench_find(b, ENGINE_ENDED, 17));
}

/* A backup was put back: a later attempt of the same number is there, of another life. */
CASE(an_end_is_told_although_a_later_attempt_was_there_before)
{
    struct bench *b = bench_of(state);
    struct bench_job j;
    struct err err = {0};

    bench_shell(&j, 21, 0, "sleep 0.2; exit 3")->attempt = 2;
    kill_engine(engine_elsewhere(b, &j.engine));
    await_none(b);
    bench_shell(&j, 21, 0, "sleep 0.2; exit 43");
    kill_engine(engine_elsewhere(b, &j.engine));
    await_none(b);
    reopen(b);
    assert_int_equal(b->engine.ops->adopt(b->engine.self, &j.engine, &err), 0);
    b->engine.ops->adopted(b->engine.self);
    assert_int_equal(ended(b, 21)->event.exit_status, 43);
}

CASE(what_was_not_named_is_stopped)
{
    struct bench *b = bench_of(state);
    struct bench_job j;
    char command[200];
    pid_t job_pid;

    snprintf(command, sizeof(command), "echo $$ > %s/pid; exec sleep 300", b->dir);
    kill_engine(engine_elsewhere(b, bench_shell(&j, 18, 0, command)));
    job_pid = await_pid(b, "pid");
    reopen(b);
    b->engine.ops->adopted(b->engine.self);
    for (double end = clock_wall_s() + BENCH_PATIENCE_S;
         marked_processes(b) > 0 && clock_wall_s() < end;)
        bench_turn(b, 0.1);
    assert_true(is_gone(job_pid));
    assert_int_equal(marked_processes(b), 0);
    assert_non_null(bench_await(b, ENGINE_WARNING, 0));
    assert_int_equal(bench_count(b, ENGINE_WARNING, 0), 1);
    assert_int_equal(bench_count(b, ENGINE_ENDED, 18), 0);
}

/* Which device it was on is not known, so its processor time is nobody's energy. */
CASE(what_was_not_named_gets_no_energy)
{
    struct bench *b = bench_of(state);
    struct bench_job j;
    char command[200];

    snprintf(command, sizeof(command), "echo $$ > %s/pid; while :; do :; done", b->dir);
    kill_engine(engine_elsewhere(b, bench_shell(&j, 18, 1, command)));
    await_pid(b, "pid");
    usleep(500000);
    reopen(b);
    b->engine.ops->adopted(b->engine.self);
    for (double end = clock_wall_s() + BENCH_PATIENCE_S;
         marked_processes(b) > 0 && clock_wall_s() < end;)
        bench_turn(b, 0.1);
    bench_work(b, 1.5); /* three readings of power */
    assert_non_null(bench_await(b, ENGINE_POWER, 0));
    vec_each (const struct bench_event, e, &b->events)
        for (int i = 0; e->event.kind == ENGINE_POWER && i < e->event.share_count; i++)
            assert_int_not_equal(e->shares[i].job, 18);
}

CASE(engine_probe_and_job_all_killed_is_lost)
{
    struct bench *b = bench_of(state);
    struct bench_job j;
    struct err err = {0};
    char command[200];
    pid_t job_pid, engine;

    snprintf(command, sizeof(command),
             "setsid -f sh -c 'echo $$ > %s/pid; exec sleep 300'; exec sleep 300",
             b->dir);
    engine = engine_elsewhere(b, bench_shell(&j, 19, 0, command));
    job_pid = await_pid(b, "pid");
    kill_engine(engine);
    kill(probe_of(b, 19), SIGKILL);
    reopen(b);
    assert_int_equal(b->engine.ops->adopt(b->engine.self, &j.engine, &err), 0);
    b->engine.ops->adopted(b->engine.self);
    assert_int_equal(ended(b, 19)->event.end, ENGINE_END_LOST);
    assert_true(is_gone(job_pid));
    assert_int_equal(marked_processes(b), 0);
}

CASE(an_attempt_nobody_made_is_not_found)
{
    struct bench *b = bench_of(state);
    struct bench_job j;
    struct err err = {0};

    bench_shell(&j, 20, 0, "true");
    assert_int_equal(b->engine.ops->adopt(b->engine.self, &j.engine, &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SHUT(what_was_not_named_gets_no_energy),
        SHUT(a_second_engine_adopts_what_the_first_left),
        SHUT(an_end_while_nobody_looked_is_told),
        SHUT(an_end_is_told_although_a_later_attempt_was_there_before),
        SHUT(what_was_not_named_is_stopped),
        SHUT(engine_probe_and_job_all_killed_is_lost),
        OPEN(an_attempt_nobody_made_is_not_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
