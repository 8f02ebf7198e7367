/* store_kill.c - kill -9 of a process that writes, at random moments
 *
 * A real child process with several threads submits, moves jobs on, measures and saves
 * checkpoints in a store on a real disk, and tells through a pipe what was acknowledged.
 * It is killed at a random moment, again and again, on one store.  Whatever it was told
 * is stored must be there afterwards, with its history, once.
 *
 * CORGI_KILLS sets how often (default 25). */
#include "fixture/store.h"

#include "base/parse.h"
#include "base/rng.h"
#include "base/vec.h"
#include "store/admin.h"
#include "store/rows.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#define THREADS  4
#define FIRST_MS 60000 /* for the first acknowledgement */

/* What the child was told is stored. */
struct ack {
    uint64_t id;
    enum job_state state;
};

static struct fixture f;
static vec_of(struct ack) acks;

static void on_finding(void *ctx, const char *sentence)
{
    (void)ctx;
    fprintf(stderr, "finding: %s\n", sentence);
}

/* ---- the child --------------------------------------------------------------------- */

static int pipe_out;

static void tell(uint64_t id, enum job_state state)
{
    struct ack ack = {id, state};

    if (write(pipe_out, &ack, sizeof(ack)) != (ssize_t)sizeof(ack))
        _exit(6);
}

static void measure(uint64_t id)
{
    struct store_measurement m = {.job = id, .at_s = 1, .window_s = 1, .rate = 1};
    struct store_batch *batch = store_batch_create();
    struct err err = {0};

    store_put(batch, &m);
    if (store_commit(f.store, batch, STORE_RELAXED, NULL, NULL, &err) < 0)
        store_batch_destroy(batch);
}

/* Each thread's struct err is its own, so it does not use fixture_submit(). */
static void *submit_for_ever(void *arg)
{
    struct fixture mine = f;

    (void)arg;
    for (;;) {
        uint64_t id = store_take_id(mine.store, STORE_JOB_ID);

        if (fixture_submit(&mine, id) < 0)
            _exit(3);
        tell(id, JOB_WAITING);
        measure(id);
        if (fixture_move(&mine, id, JOB_RUNNING, 2000) < 0)
            _exit(4);
        tell(id, JOB_RUNNING);
        if (id % 2 == 0) {
            if (fixture_move(&mine, id, JOB_DONE, 3000) < 0)
                _exit(5);
            tell(id, JOB_DONE);
        }
    }
    return NULL;
}

static void save_checkpoint(const char *bytes, size_t count)
{
    struct err err = {0};

    /* ERR_BUSY: the last ones still wait. */
    store_save_model(f.store, "blend", 1, 1, bytes, count, NULL, NULL, &err);
    usleep(20000);
}

static void child_main(void)
{
    static char bytes[700000];
    struct store_retention keep = {.telemetry_s = 1, .models = 2};
    pthread_t threads[THREADS];
    struct err err = {0};

    if (fixture_open(&f) < 0)
        _exit(2);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, submit_for_ever, NULL);
    for (;;) {
        save_checkpoint(bytes, sizeof(bytes));
        store_retain(f.store, &keep, 1e6, NULL, NULL, &err);
    }
}

/* ---- the parent -------------------------------------------------------------------- */

static void read_acks(int fd, int timeout_ms)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
    struct ack ack;

    /* A write of this size into a pipe is never torn. */
    while (poll(&poll_fd, 1, timeout_ms) > 0 &&
           read(fd, &ack, sizeof(ack)) == (ssize_t)sizeof(ack))
        vec_push(&acks, ack);
}

static double now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* Start a child, kill it after a while, keep what it has told.  The while counts from its
 * first acknowledgement, so that a slow machine tests as much as a fast one; or, when
 * early, from its start. */
static void run_and_kill(bool early, double for_ms)
{
    size_t before = acks.count;
    int ends[2], status = 0;
    double until;
    pid_t child;

    assert_int_equal(pipe(ends), 0);
    fflush(NULL);
    child = fork();
    if (child == 0) {
        close(ends[0]);
        pipe_out = ends[1];
        child_main();
    }
    close(ends[1]);
    until = now_ms() + FIRST_MS;
    while (!early && acks.count == before && now_ms() < until)
        read_acks(ends[0], 1);
    until = now_ms() + for_ms;
    while (now_ms() < until)
        read_acks(ends[0], 1);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status)); /* it did not fail before */
    read_acks(ends[0], 0);
    close(ends[0]);
}

static void verify_ack(const struct ack *ack, struct store_reader *reader)
{
    struct store_request want = fixture_request(ack->id);
    struct store_job *job = NULL;

    if (store_read_job(reader, ack->id, &job, &f.err) < 0)
        fail_msg("job %llu was acknowledged: %s", (unsigned long long)ack->id,
                 f.err.text);
    assert_string_equal(job->request.job.name, want.job.name);
    assert_string_equal(job->request.argv[1], want.argv[1]);
    assert_true(job->progress.state >= ack->state);
    store_job_destroy(job);
}

static void verify(size_t from)
{
    struct store_check_result result = {0};
    struct store_model model = {0};
    struct store_reader *reader = NULL;
    struct err err = {0};

    if (acks.count == 0)
        return; /* killed before there was a store */
    if (store_reader_open(&reader, f.path, &f.err) < 0)
        fail_msg("%s", f.err.text);
    for (size_t i = from; i < acks.count; i++)
        verify_ack(&acks.items[i], reader);
    if (store_load_model(reader, "blend", &model, &err) == 0)
        assert_int_equal(model.skipped, 0); /* whole, or not there */
    else
        assert_int_equal(err.code, ERR_NOT_FOUND);
    free(model.bytes);
    store_reader_close(reader);
    assert_int_equal(store_check(f.path, true, on_finding, NULL, &result, &f.err), 0);
    assert_int_equal(result.findings, 0);
}

/* The next job's number is above all that were given out and told. */
static void verify_numbers(bool wrote)
{
    uint64_t largest = 0;

    for (size_t i = 0; i < acks.count; i++)
        if (acks.items[i].id > largest)
            largest = acks.items[i].id;
    assert_int_equal(fixture_open(&f), 0);
    if (wrote) /* else it may have been killed before it opened the store */
        assert_true(store_was_interrupted(f.store));
    assert_true(store_take_id(f.store, STORE_JOB_ID) > largest);
    fixture_close(&f);
}

static int rounds(void)
{
    const char *text = getenv("CORGI_KILLS");
    int count = 25;

    if (text && !parse_int(text, &count))
        fail_msg("CORGI_KILLS is no number: %s", text);
    return count;
}

static void what_was_acknowledged_is_there(void **state)
{
    int count = rounds();
    struct rng rng;

    (void)state;
    fixture_make(&f);
    rng_init(&rng, 6);
    for (int round = 0; round < count; round++) {
        size_t before = acks.count;

        run_and_kill(round % 4 == 3, rng_range(&rng, 0, 100));
        verify(round % 5 == 4 ? 0 : before); /* now and then all of them */
        if (round % 3 == 2)
            verify_numbers(acks.count > before);
    }
    verify(0);
    print_message("%d kills, %zu acknowledgements\n", count, acks.count);
    assert_true(acks.count > (size_t)count);
    vec_free(&acks);
    fixture_remove(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_acknowledged_is_there),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
