/* local_engine.c - real commands through the local engine and the real probe */
#include "support/local_bench.h"

#include "base/file.h"
#include "base/process.h"
#include "support/test.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

static int set_up(void **state)
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

static int set_up_closed(void **state)
{
    struct bench *b = mem_new(struct bench);

    *state = b;
    bench_init(b);
    bench_has_probe(b);
    return 0;
}

static int tear_down(void **state)
{
    bench_fini(*state);
    free(*state);
    return 0;
}

static struct bench *bench_of(void **state)
{
    struct bench *b = *state;

    if (access(b->probe, X_OK) != 0)
        skip();
    return b;
}

static void start(struct bench *b, struct engine_job *job)
{
    struct err err = {0};

    if (b->engine.ops->start(b->engine.self, job, &err) < 0)
        fail_msg("%s", err.text);
}

static void stop(struct bench *b, uint64_t job, enum engine_stop how)
{
    struct err err = {0};

    if (b->engine.ops->stop(b->engine.self, job, how, &err) < 0)
        fail_msg("%s", err.text);
}

static const struct bench_event *ended(struct bench *b, uint64_t job)
{
    const struct bench_event *e = bench_await(b, ENGINE_ENDED, job);

    if (!e)
        fail_msg("job %d did not end", (int)job);
    return e;
}

static const struct bench_event *run(struct bench *b, uint64_t id, const char *command)
{
    struct bench_job j;

    start(b, bench_shell(&j, id, 0, command));
    return ended(b, id);
}

static char *output_of(struct bench *b, uint64_t job, size_t *count)
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
static int marked_processes(const struct bench *b)
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
static pid_t await_pid(struct bench *b, const char *name)
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

static bool is_gone(pid_t pid)
{
    struct process one;

    return !process_read(pid, &one) || one.state == 'Z';
}

/* ---- ends ----------------------------------------------------------------------------
 */

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

/* ---- killed from outside -------------------------------------------------------------
 */

static pid_t probe_of(struct bench *b, uint64_t job)
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
    for (double end = clock_wall_s() + BENCH_PATIENCE_S;
         marked_processes(b) > 0 && clock_wall_s() < end;)
        usleep(20000);
    reopen(b);
    assert_int_equal(b->engine.ops->adopt(b->engine.self, &j.engine, &err), 0);
    b->engine.ops->adopted(b->engine.self);
    assert_int_equal(ended(b, 17)->event.exit_status, 43);
    assert_int_equal(ended(b, 17)->event.end, ENGINE_END_FAILED);
    assert_true(bench_find(b, ENGINE_STARTED, 17) < bench_find(b, ENGINE_ENDED, 17));
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
#define OPEN(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define SHUT(name) cmocka_unit_test_setup_teardown(name, set_up_closed, tear_down)
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
        OPEN(a_daemon_left_behind_does_not_outlive_its_job),
        OPEN(a_probe_killed_leaves_no_orphan),
        SHUT(too_many_types_of_devices_are_refused),
        SHUT(what_was_not_named_gets_no_energy),
        SHUT(a_second_engine_adopts_what_the_first_left),
        SHUT(an_end_while_nobody_looked_is_told),
        SHUT(what_was_not_named_is_stopped),
        SHUT(engine_probe_and_job_all_killed_is_lost),
        OPEN(an_attempt_nobody_made_is_not_found),
        OPEN(only_one_engine_uses_a_state_folder),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
