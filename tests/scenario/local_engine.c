/* local_engine.c - real commands through the local engine and the real probe: from their
 * start to their end.  What a second engine finds of them is in local_adopt.c. */
#include "support/local_cases.h"

#include <fcntl.h>
#include <math.h>
#include <sys/stat.h>
#include <sys/wait.h>

CASE(a_job_that_ends_well_is_done)
{
    struct bench *b = bench_of(state);
    const struct bench_event *e = run(b, 1, "echo hello; echo there >&2");
    size_t count;
    char *output = output_of(b, 1, &count);

    assert_int_equal(e->event.end, ENGINE_END_DONE);
    assert_int_equal(e->event.exit_status, 0);
    assert_int_equal(e->event.attempt, 1);
    assert_int_equal(bench_count(b, ENGINE_STARTED, 1), 1);
    assert_int_equal(bench_count(b, ENGINE_ENDED, 1), 1);
    assert_non_null(strstr(output, "hello\n"));
    assert_non_null(strstr(output, "there\n"));
    free(output);
}

CASE(an_exit_status_is_told)
{
    const struct bench_event *e = run(bench_of(state), 2, "exit 37");

    assert_int_equal(e->event.end, ENGINE_END_FAILED);
    assert_int_equal(e->event.exit_status, 37);
    assert_int_equal(e->event.signal, 0);
    assert_non_null(strstr(e->text, "37"));
}

CASE(a_signal_is_told)
{
    const struct bench_event *e = run(bench_of(state), 3, "kill -SEGV $$");

    assert_int_equal(e->event.end, ENGINE_END_FAILED);
    assert_int_equal(e->event.signal, SIGSEGV);
}

CASE(a_job_killed_from_outside_is_failed_not_lost)
{
    const struct bench_event *e = run(bench_of(state), 4, "kill -KILL $$");

    assert_int_equal(e->event.end, ENGINE_END_FAILED);
    assert_int_equal(e->event.signal, SIGKILL);
}

CASE(a_command_that_is_not_there_was_not_started)
{
    struct bench *b = bench_of(state);
    const struct bench_event *e;
    struct bench_job j;

    bench_shell(&j, 5, 0, "");
    j.argv[0] = "/nowhere/train";
    j.argv[1] = NULL;
    start(b, &j.engine);
    e = ended(b, 5);
    assert_int_equal(e->event.end, ENGINE_END_NOT_STARTED);
    assert_non_null(strstr(e->text, "/nowhere/train"));
    assert_int_equal(bench_count(b, ENGINE_STARTED, 5), 0);
}

CASE(a_missing_working_directory_is_named)
{
    struct bench *b = bench_of(state);
    const struct bench_event *e;
    struct bench_job j;

    bench_shell(&j, 6, 0, "true")->directory = "/nowhere/at/all";
    start(b, &j.engine);
    e = ended(b, 6);
    assert_int_equal(e->event.end, ENGINE_END_NOT_STARTED);
    assert_non_null(strstr(e->text, "working directory"));
}

CASE(binary_output_arrives_untouched)
{
    struct bench *b = bench_of(state);
    const struct bench_event *e =
        run(b, 7, "printf '\\001\\000\\377\\r\\n\\033[31m'; head -c 100000 /dev/zero");
    size_t count;
    char *output = output_of(b, 7, &count);

    assert_int_equal(e->event.end, ENGINE_END_DONE);
    assert_int_equal(count, 100000 + 10);
    assert_memory_equal(output, "\001\000\377\r\n\033[31m", 10);
    free(output);
}

CASE(many_that_end_at_once_are_all_told_once)
{
    struct bench *b = bench_of(state);
    struct bench_job jobs[20];

    for (int i = 0; i < 20; i++)
        start(b, bench_shell(&jobs[i], 100 + (uint64_t)i, i % 4, "exit $CORGI_JOB_ID"));
    for (uint64_t id = 100; id < 120; id++) {
        const struct bench_event *e = ended(b, id);

        assert_int_equal(e->event.exit_status, (int)id);
        assert_int_equal(e->event.end, ENGINE_END_FAILED);
    }
    bench_work(b, 0.3);
    for (uint64_t id = 100; id < 120; id++) {
        assert_int_equal(bench_count(b, ENGINE_STARTED, id), 1);
        assert_int_equal(bench_count(b, ENGINE_ENDED, id), 1);
    }
    assert_int_equal(marked_processes(b), 0);
}

/* ---- what a job is given -------------------------------------------------------------
 */

CASE(the_environment_is_clean_and_says_which_device)
{
    static const char *const env[] = {"MINE=yes", "CORGI_JOB_ID=999",
                                      "CUDA_VISIBLE_DEVICES=7", NULL};
    struct bench *b = bench_of(state);
    struct bench_job j;
    size_t count;
    char *output;

    setenv("SECRET_OF_THE_DAEMON", "1", 1);
    bench_shell(&j, 8, 2, "env; ls /proc/self/fd; umask; ps -o sid= -p $$; echo $$")
        ->env = env;
    start(b, &j.engine);
    assert_int_equal(ended(b, 8)->event.end, ENGINE_END_DONE);
    output = output_of(b, 8, &count);
    assert_null(strstr(output, "SECRET_OF_THE_DAEMON"));
    assert_non_null(strstr(output, "MINE=yes\n"));
    assert_non_null(strstr(output, "CORGI_JOB_ID=8\n"));
    assert_non_null(strstr(output, "CORGI_ATTEMPT=1\n"));
    assert_non_null(strstr(output, "CORGI_DEVICES=2\n"));
    assert_non_null(strstr(output, "CORGI_NODE=here\n"));
    assert_non_null(strstr(output, "CUDA_VISIBLE_DEVICES=\n"));
    assert_non_null(strstr(output, "CUDA_DEVICE_ORDER=PCI_BUS_ID\n"));
    assert_non_null(strstr(output, "PATH=/"));
    assert_non_null(strstr(output, "HOME=/"));
    assert_non_null(strstr(output, "\n0022\n"));
    free(output);
    unsetenv("SECRET_OF_THE_DAEMON");
}

CASE(another_user_needs_root)
{
    struct bench *b = bench_of(state);
    struct bench_job j;
    struct err err = {0};

    bench_shell(&j, 9, 0, "id -u; id -G")->uid = 65534;
    j.engine.gid = 65534;
    chmod(b->dir, 0755);
    if (geteuid() != 0) {
        j.engine.uid = geteuid() + 1;
        assert_int_equal(b->engine.ops->start(b->engine.self, &j.engine, &err), -1);
        assert_int_equal(err.code, ERR_UNSUPPORTED);
        return;
    }
    start(b, &j.engine);
    if (ended(b, 9)->event.end == ENGINE_END_NOT_STARTED &&
        strstr(ended(b, 9)->text, "corgi-probe"))
        skip(); /* the folder of the build may be closed to others */
    assert_int_equal(ended(b, 9)->event.end, ENGINE_END_DONE);
    {
        size_t count;
        char *output = output_of(b, 9, &count);

        assert_string_equal(output, "65534\n65534\n");
        free(output);
    }
}

CASE(wrong_jobs_are_refused_with_a_sentence)
{
    struct bench *b = bench_of(state);
    struct bench_job j;
    struct err err = {0};
    const struct engine_ops *ops = b->engine.ops;

    bench_shell(&j, 10, 4, "true");
    assert_int_equal(ops->start(b->engine.self, &j.engine, &err), -1);
    assert_non_null(strstr(err.text, "device 4"));
    bench_shell(&j, 10, 0, "true")->directory = "here";
    assert_int_equal(ops->start(b->engine.self, &j.engine, &err), -1);
    assert_non_null(strstr(err.text, "absolute"));
    bench_shell(&j, 10, 0, "true");
    j.argv[0] = NULL;
    assert_int_equal(ops->start(b->engine.self, &j.engine, &err), -1);
    assert_int_equal(ops->stop(b->engine.self, 10, ENGINE_STOP_CANCEL, &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_int_equal(ops->sleep(b->engine.self, 0, &err), -1);
    assert_int_equal(err.code, ERR_UNSUPPORTED);
    assert_int_equal(ops->cap(b->engine.self, 0, 5, &err), -1);
    assert_int_equal(err.code, ERR_UNSUPPORTED);
    assert_int_equal(b->events.count, 0);
}

CASE(a_job_is_there_only_once)
{
    struct bench *b = bench_of(state);
    struct bench_job j;
    struct err err = {0};

    start(b, bench_shell(&j, 11, 0, "sleep 60"));
    assert_int_equal(b->engine.ops->start(b->engine.self, &j.engine, &err), -1);
    assert_int_equal(err.code, ERR_EXISTS);
    stop(b, 11, ENGINE_STOP_CANCEL);
    assert_int_equal(ended(b, 11)->event.end, ENGINE_END_STOPPED);
    j.engine.attempt = 2;
    vec_clear(&b->events);
    start(b, &j.engine);
    assert_non_null(bench_await(b, ENGINE_STARTED, 11));
    assert_int_equal(bench_find(b, ENGINE_STARTED, 11)->event.attempt, 2);
    stop(b, 11, ENGINE_STOP_CANCEL);
    assert_int_equal(ended(b, 11)->event.attempt, 2);
}

/* ---- stopping ------------------------------------------------------------------------
 */

CASE(a_job_that_ignores_sigterm_is_killed_with_all_it_started)
{
    struct bench *b = bench_of(state);
    const struct bench_event *e;
    struct bench_job j;
    char command[600];
    pid_t first, second;

    /* One child in its session, one that made itself a daemon with an empty environment.
     */
    snprintf(command, sizeof(command),
             "trap '' TERM; "
             "(trap '' TERM; echo $$ > /dev/null; sh -c 'echo $$ > %s/first; exec sleep "
             "300') & "
             "setsid -f env -i sh -c 'trap \"\" TERM; echo $$ > %s/second; while :; do "
             "sleep 1; done'; "
             "while :; do sleep 1; done",
             b->dir, b->dir);
    bench_shell(&j, 12, 0, command)->stop_grace_s = 0.5;
    start(b, &j.engine);
    first = await_pid(b, "first");
    second = await_pid(b, "second");
    assert_false(is_gone(first) || is_gone(second));
    stop(b, 12, ENGINE_STOP_CANCEL);
    e = ended(b, 12);
    assert_int_equal(e->event.end, ENGINE_END_STOPPED);
    assert_true(is_gone(first));
    assert_true(is_gone(second));
    assert_int_equal(marked_processes(b), 0);
}

CASE(a_move_sends_the_checkpoint_signal_first)
{
    struct bench *b = bench_of(state);
    struct bench_job j;
    char command[300];
    size_t count;
    char *output;

    snprintf(command, sizeof(command),
             "trap 'echo saved; exit 0' USR1; trap 'echo termed; exit 1' TERM; "
             "echo $$ > %s/ready; while :; do sleep 0.1; done",
             b->dir);
    bench_shell(&j, 13, 0, command)->checkpoint_signal = SIGUSR1;
    j.engine.stop_grace_s = 30;
    start(b, &j.engine);
    await_pid(b, "ready");
    stop(b, 13, ENGINE_STOP_MOVE);
    assert_int_equal(ended(b, 13)->event.end, ENGINE_END_STOPPED);
    output = output_of(b, 13, &count);
    assert_non_null(strstr(output, "saved\n"));
    assert_null(strstr(output, "termed"));
    free(output);
}

CASE(a_job_that_was_done_before_it_was_told_to_stop_is_done)
{
    struct bench *b = bench_of(state);
    char command[400];
    struct bench_job j;

    /* What it left behind outlives it for a moment, and says when it was gone. */
    snprintf(command, sizeof(command),
             "setsid -f sh -c 'while kill -0 $0 2> /dev/null; do sleep 0.05; done; "
             "echo $$ > %s/over; exec sleep 300' $$; exit 0",
             b->dir);
    start(b, bench_shell(&j, 15, 0, command));
    await_pid(b, "over");
    stop(b, 15, ENGINE_STOP_MOVE);
    assert_int_equal(ended(b, 15)->event.end, ENGINE_END_DONE);
}

CASE(a_daemon_left_behind_does_not_outlive_its_job)
{
    struct bench *b = bench_of(state);
    char command[300];
    pid_t left;

    snprintf(command, sizeof(command),
             "setsid -f sh -c 'echo $$ > %s/left; exec sleep 300'; "
             "while [ ! -s %s/left ]; do sleep 0.05; done; exit 5",
             b->dir, b->dir);
    assert_int_equal(run(b, 14, command)->event.exit_status, 5);
    left = await_pid(b, "left");
    assert_true(is_gone(left));
    assert_int_equal(marked_processes(b), 0);
}

CASE(a_probe_killed_leaves_no_orphan)
{
    struct bench *b = bench_of(state);
    const struct bench_event *e;
    struct bench_job j;
    char command[400];
    pid_t one, two;

    snprintf(command, sizeof(command),
             "sh -c 'echo $$ > %s/one; exec sleep 300' & "
             "setsid -f sh -c 'echo $$ > %s/two; exec sleep 300'; exec sleep 300",
             b->dir, b->dir);
    start(b, bench_shell(&j, 15, 0, command));
    one = await_pid(b, "one");
    two = await_pid(b, "two");
    assert_non_null(bench_await(b, ENGINE_STARTED, 15));
    kill(probe_of(b, 15), SIGKILL);
    e = ended(b, 15);
    assert_int_equal(e->event.end, ENGINE_END_LOST);
    assert_non_null(strstr(e->text, "killed"));
    assert_true(is_gone(one));
    assert_true(is_gone(two));
    assert_int_equal(marked_processes(b), 0);
}

/* An engine in a process of its own that starts a job and waits to be killed. */

CASE(too_many_types_of_devices_are_refused)
{
    struct bench *b = bench_of(state);
    struct cpus_spec cpus[CLUSTER_MAX_TYPES + 1];
    char names[CLUSTER_MAX_TYPES + 1][16];
    struct cluster *cluster = NULL;
    struct err err = {0};

    for (int i = 0; i <= CLUSTER_MAX_TYPES; i++) {
        snprintf(names[i], sizeof(names[i]), "cpu-%d", i);
        cpus[i] = (struct cpus_spec){.type = names[i], .cores = "0", .quota = 1};
    }
    for (int more = 0; more < 2; more++) {
        assert_int_equal(
            local_engine_create(&b->engine,
                                &(struct local_engine_options){
                                    .state_dir = b->dir,
                                    .probe = b->probe,
                                    .cpus = {cpus, CLUSTER_MAX_TYPES + (size_t)more},
                                },
                                (struct engine_sink){bench_hear, b}, &err),
            0);
        assert_int_equal(b->engine.ops->cluster(b->engine.self, &cluster, &err), -more);
        bench_close(b);
    }
    assert_int_equal(err.code, ERR_LIMIT);
    assert_non_null(strstr(err.text, "more than 64 types"));
    cluster_destroy(cluster);
}

CASE(only_one_engine_uses_a_state_folder)
{
    struct bench *b = bench_of(state);
    struct bench other = *b;
    struct err err = {0};

    assert_int_equal(bench_open(&other, &err), -1);
    assert_int_equal(err.code, ERR_EXISTS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OPEN(a_job_that_ends_well_is_done),
        OPEN(an_exit_status_is_told),
        OPEN(a_signal_is_told),
        OPEN(a_job_killed_from_outside_is_failed_not_lost),
        OPEN(a_command_that_is_not_there_was_not_started),
        OPEN(a_missing_working_directory_is_named),
        OPEN(binary_output_arrives_untouched),
        OPEN(many_that_end_at_once_are_all_told_once),
        OPEN(the_environment_is_clean_and_says_which_device),
        OPEN(another_user_needs_root),
        OPEN(wrong_jobs_are_refused_with_a_sentence),
        OPEN(a_job_is_there_only_once),
        OPEN(a_job_that_ignores_sigterm_is_killed_with_all_it_started),
        OPEN(a_move_sends_the_checkpoint_signal_first),
        OPEN(a_job_that_was_done_before_it_was_told_to_stop_is_done),
        OPEN(a_daemon_left_behind_does_not_outlive_its_job),
        OPEN(a_probe_killed_leaves_no_orphan),
        SHUT(too_many_types_of_devices_are_refused),
        OPEN(only_one_engine_uses_a_state_folder),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
