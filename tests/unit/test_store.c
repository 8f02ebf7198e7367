/* test_store.c - opening, handing over, telling, closing */
#include "fixture/store.h"

#include "store/rows.h"
#include "support/test.h"

#include <pthread.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>

static struct fixture f;

static int setup(void **state)
{
    (void)state;
    fixture_make(&f);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    fixture_close(&f);
    fixture_remove(&f);
    return 0;
}

static int run_sql(const char *sql)
{
    sqlite3 *db;
    int rc = sqlite3_open(f.path, &db);

    if (rc == SQLITE_OK)
        rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
    sqlite3_close(db);
    return rc;
}

/* ---- opening ----------------------------------------------------------------------- */

CASE(a_store_is_made_private_with_its_folders)
{
    struct stat st;
    char deep[128];
    struct store *store = NULL;

    snprintf(deep, sizeof(deep), "%s/a/b/store.db", f.dir);
    assert_int_equal(store_open(&store, &(struct store_options){.path = deep}, &f.err),
                     0);
    assert_string_equal(store_path(store), deep);
    assert_false(store_was_interrupted(store));
    assert_int_equal(stat(deep, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    store_close(store);
    unlink(deep);
    snprintf(deep, sizeof(deep), "%s/a/b/store.db.lock", f.dir);
    unlink(deep);
    snprintf(deep, sizeof(deep), "%s/a/b/store.db.mark", f.dir);
    unlink(deep);
    snprintf(deep, sizeof(deep), "%s/a/b", f.dir);
    assert_int_equal(rmdir(deep), 0); /* nothing else was left */
    snprintf(deep, sizeof(deep), "%s/a", f.dir);
    rmdir(deep);
}

CASE(two_cannot_have_one_store)
{
    struct store *second = NULL;
    char pid[32];

    assert_int_equal(fixture_open(&f), 0);
    assert_int_equal(store_open(&second, &(struct store_options){.path = f.path}, &f.err),
                     -1);
    assert_int_equal(f.err.code, ERR_EXISTS);
    snprintf(pid, sizeof(pid), "process %d", (int)getpid());
    assert_non_null(strstr(f.err.text, pid));
    assert_null(second);
    fixture_close(&f);
    assert_int_equal(fixture_open(&f), 0);
}

CASE(a_newer_store_is_refused_and_left_alone)
{
    assert_int_equal(fixture_open(&f), 0);
    fixture_close(&f);
    assert_int_equal(run_sql("PRAGMA user_version = 4711"), SQLITE_OK);
    assert_int_equal(
        store_open(&f.store, &(struct store_options){.path = f.path}, &f.err), -1);
    assert_int_equal(f.err.code, ERR_UNSUPPORTED);
    assert_non_null(strstr(f.err.text, "4711"));
    assert_int_equal(store_reader_open(&f.reader, f.path, &f.err), -1);
    assert_int_equal(f.err.code, ERR_UNSUPPORTED);
}

CASE(a_database_of_another_program_is_refused)
{
    assert_int_equal(run_sql("CREATE TABLE recipes (name TEXT)"), SQLITE_OK);
    assert_int_equal(
        store_open(&f.store, &(struct store_options){.path = f.path}, &f.err), -1);
    assert_int_equal(f.err.code, ERR_FORMAT);
    assert_int_equal(run_sql("SELECT name FROM recipes"), SQLITE_OK);
    assert_int_equal(run_sql("SELECT id FROM jobs"), SQLITE_ERROR);
}

CASE(a_file_that_is_no_database_is_refused)
{
    char text[8192];

    memset(text, 'x', sizeof(text));
    assert_int_equal(file_write(f.path, text, sizeof(text), &f.err), 0);
    assert_int_equal(
        store_open(&f.store, &(struct store_options){.path = f.path}, &f.err), -1);
    assert_int_equal(f.err.code, ERR_FORMAT);
}

CASE(a_reader_needs_a_store)
{
    assert_int_equal(store_reader_open(&f.reader, f.path, &f.err), -1);
    assert_int_equal(f.err.code, ERR_NOT_FOUND);
}

CASE(a_path_that_cannot_be_is_refused)
{
    assert_int_equal(store_open(&f.store,
                                &(struct store_options){.path = "/dev/null/x/store.db"},
                                &f.err),
                     -1);
    assert_int_equal(f.err.code, ERR_SYSTEM);
}

/* ---- telling ----------------------------------------------------------------------- */

/* A post() that can be held: the writer then stands still inside it. */
struct gate {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool held;
    bool inside;
    int posts;
    int told;
    int failed;
};

static struct gate gate;

static void hold_post(void *ctx, const struct store_completion *list, size_t count)
{
    (void)ctx;
    for (size_t i = 0; i < count; i++)
        list[i].done(list[i].ctx, &list[i]);
    pthread_mutex_lock(&gate.lock);
    gate.posts++;
    gate.inside = true;
    pthread_cond_broadcast(&gate.changed);
    while (gate.held)
        pthread_cond_wait(&gate.changed, &gate.lock);
    gate.inside = false;
    pthread_mutex_unlock(&gate.lock);
}

static void told(void *ctx, const struct store_completion *completion)
{
    (void)ctx;
    pthread_mutex_lock(&gate.lock);
    gate.told++;
    gate.failed += completion->err.code != ERR_NONE;
    pthread_mutex_unlock(&gate.lock);
}

static void submit_async(uint64_t id)
{
    struct store_request r = fixture_request(id);

    assert_int_equal(
        store_commit(f.store, fixture_submission(&r), STORE_DURABLE, told, NULL, &f.err),
        0);
}

/* Open a store whose writer stands still after one commit. */
static void open_held(size_t queue_rows)
{
    gate = (struct gate){.lock = PTHREAD_MUTEX_INITIALIZER,
                         .changed = PTHREAD_COND_INITIALIZER,
                         .held = true};
    assert_int_equal(
        fixture_open_with(
            &f, (struct store_options){.post = hold_post, .queue_rows = queue_rows}),
        0);
    submit_async(1);
    pthread_mutex_lock(&gate.lock);
    while (!gate.inside)
        pthread_cond_wait(&gate.changed, &gate.lock);
    pthread_mutex_unlock(&gate.lock);
}

static void let_go(void)
{
    pthread_mutex_lock(&gate.lock);
    gate.held = false;
    pthread_cond_broadcast(&gate.changed);
    pthread_mutex_unlock(&gate.lock);
}

CASE(all_that_waits_shares_one_commit)
{
    struct store_stats stats;

    open_held(0);
    for (uint64_t id = 2; id <= 101; id++)
        submit_async(id);
    let_go();
    store_flush(f.store);
    store_stats(f.store, &stats);
    assert_int_equal(stats.commits, 2);
    assert_int_equal(stats.batches, 101);
    assert_int_equal(stats.rows, 202);
    assert_int_equal(gate.posts, 2);
    assert_int_equal(gate.told, 101);
    assert_int_equal(gate.failed, 0);
    assert_true(stats.waiting_rows_peak >= 200);
    assert_int_equal(stats.waiting_rows, 0);
    assert_true(stats.wal_bytes > 0 && stats.database_bytes > 0);
}

CASE(a_refused_batch_does_not_spoil_its_group)
{
    struct store_job *job = NULL;

    open_held(0);
    submit_async(2);
    submit_async(1); /* is there already */
    submit_async(3);
    let_go();
    store_flush(f.store);
    assert_int_equal(gate.told, 4);
    assert_int_equal(gate.failed, 1);
    for (uint64_t id = 1; id <= 3; id++) {
        assert_int_equal(store_read_job(f.reader, id, &job, &f.err), 0);
        store_job_destroy(job);
    }
}

CASE(too_much_is_refused_and_stays_the_callers)
{
    struct store_request r = fixture_request(9);
    struct store_batch *batch = fixture_submission(&r);
    struct store_stats stats;

    open_held(4);
    submit_async(2);
    submit_async(3); /* two rows each */
    assert_int_equal(store_commit(f.store, batch, STORE_DURABLE, told, NULL, &f.err), -1);
    assert_int_equal(f.err.code, ERR_BUSY);
    let_go();
    store_flush(f.store);
    assert_int_equal(store_commit(f.store, batch, STORE_DURABLE, told, NULL, &f.err), 0);
    store_flush(f.store);
    assert_int_equal(gate.told, 4);
    store_stats(f.store, &stats);
    assert_int_equal(stats.refused, 1);
}

CASE(closing_writes_all_that_waits)
{
    struct store_job *job = NULL;
    struct store_batch *batch = store_batch_create();
    struct store_measurement m = {.job = 1, .at_s = 5, .window_s = 1, .rate = 2};

    open_held(0);
    for (uint64_t id = 2; id <= 50; id++)
        submit_async(id);
    store_put(batch, &m);
    assert_int_equal(store_commit(f.store, batch, STORE_RELAXED, told, NULL, &f.err), 0);
    let_go();
    fixture_close(&f);
    assert_int_equal(gate.told, 51);
    assert_int_equal(gate.failed, 0);
    assert_int_equal(fixture_open(&f), 0);
    assert_false(store_was_interrupted(f.store));
    assert_int_equal(store_read_job(f.reader, 50, &job, &f.err), 0);
    store_job_destroy(job);
}

static int count_measurement(void *ctx, const void *row)
{
    const struct store_measurement *m = row;

    *(int *)ctx += m->rate == 2;
    return 0;
}

CASE(relaxed_batches_come_without_being_asked_for)
{
    struct store_measurement m = {.job = 1, .at_s = 5, .window_s = 1, .rate = 2};
    struct store_stats stats;
    int seen = 0;

    assert_int_equal(fixture_open_with(&f, (struct store_options){.relaxed_s = 0.005}),
                     0);
    for (int i = 0; i < 10; i++) {
        struct store_batch *batch = store_batch_create();

        store_put(batch, &m);
        assert_int_equal(store_commit(f.store, batch, STORE_RELAXED, NULL, NULL, &f.err),
                         0);
    }
    do { /* ends when the writer has them, or never */
        usleep(1000);
        store_stats(f.store, &stats);
    } while (stats.rows < 10);
    assert_true(stats.relaxed_commits >= 1);
    assert_int_equal(stats.commits, 0);
    assert_int_equal(store_read(f.reader, STORE_MEASUREMENTS,
                                &(struct store_filter){.job = 1}, count_measurement,
                                &seen, &f.err),
                     10);
    assert_int_equal(seen, 10);
}

/* ---- many threads ------------------------------------------------------------------ */

#define THREADS     8
#define SUBMISSIONS 100

static void *submit_many(void *arg)
{
    (void)arg;
    for (int i = 0; i < SUBMISSIONS; i++) {
        struct store_request r = fixture_request(store_take_id(f.store, STORE_JOB_ID));
        struct err err = {0};

        if (fixture_commit(f.store, fixture_submission(&r), &err) < 0)
            return &f;
    }
    return NULL;
}

static int take_count(void *ctx, const void *row)
{
    const struct store_state_count *jobs = row;

    *(uint64_t *)ctx += jobs->count;
    return 0;
}

CASE(many_threads_lose_and_double_nothing)
{
    pthread_t threads[THREADS];
    struct store_stats stats;
    uint64_t count = 0;
    void *failed;

    assert_int_equal(fixture_open(&f), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, submit_many, NULL), 0);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    assert_int_equal(
        store_read(f.reader, STORE_STATE_COUNTS, NULL, take_count, &count, &f.err), 1);
    assert_int_equal(count, THREADS * SUBMISSIONS);
    store_stats(f.store, &stats);
    assert_int_equal(stats.batches, THREADS * SUBMISSIONS);
    assert_true(stats.commits <= stats.batches);
}

/* ---- numbers ----------------------------------------------------------------------- */

CASE(numbers_go_on_where_they_were)
{
    assert_int_equal(fixture_open(&f), 0);
    assert_int_equal(store_take_id(f.store, STORE_JOB_ID), 1);
    assert_int_equal(store_take_id(f.store, STORE_JOB_ID), 2);
    assert_int_equal(store_take_id(f.store, STORE_EVENT_ID), 1);
    assert_int_equal(fixture_submit(&f, 2), 0);
    fixture_close(&f);
    assert_int_equal(fixture_open(&f), 0);
    assert_int_equal(store_take_id(f.store, STORE_JOB_ID), 3);
    assert_int_equal(store_take_id(f.store, STORE_EVENT_ID), 2);
    assert_int_equal(store_take_id(f.store, STORE_TOKEN_ID), 1);
}

/* A child gives out the event numbers 1 to 3, of which only 1 gets stored, and dies. */
static void die_in_use(void)
{
    struct store_batch *batch = store_batch_create();
    struct store_event event = {.kind = "x"};

    if (fixture_open(&f) < 0)
        _exit(2);
    event.id = store_take_id(f.store, STORE_EVENT_ID);
    store_put(batch, &event);
    if (fixture_commit(f.store, batch, &f.err) < 0)
        _exit(3);
    store_take_id(f.store, STORE_EVENT_ID);
    store_take_id(f.store, STORE_EVENT_ID);
    _exit(0);
}

CASE(numbers_a_crash_has_cost_are_not_given_again)
{
    uint64_t oldest = 0, newest = 0;
    int status = 0;
    pid_t child = fork();

    if (child == 0)
        die_in_use();
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(fixture_open(&f), 0);
    assert_true(store_was_interrupted(f.store));
    assert_int_equal(store_read_event_span(f.reader, &oldest, &newest, &f.err), 0);
    assert_int_equal(oldest, 1);
    assert_int_equal(newest, 1);
    assert_true(store_take_id(f.store, STORE_EVENT_ID) > 3);
    assert_int_equal(store_take_id(f.store, STORE_JOB_ID), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_store_is_made_private_with_its_folders),
        TEST(two_cannot_have_one_store),
        TEST(a_newer_store_is_refused_and_left_alone),
        TEST(a_database_of_another_program_is_refused),
        TEST(a_file_that_is_no_database_is_refused),
        TEST(a_reader_needs_a_store),
        TEST(a_path_that_cannot_be_is_refused),
        TEST(all_that_waits_shares_one_commit),
        TEST(a_refused_batch_does_not_spoil_its_group),
        TEST(too_much_is_refused_and_stays_the_callers),
        TEST(closing_writes_all_that_waits),
        TEST(relaxed_batches_come_without_being_asked_for),
        TEST(many_threads_lose_and_double_nothing),
        TEST(numbers_go_on_where_they_were),
        TEST(numbers_a_crash_has_cost_are_not_given_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
