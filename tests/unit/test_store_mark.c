/* test_store_mark.c - a store that lost something is noticed by what stands beside it */
#include "fixture/store.h"
#include "store/store_mark.h"
#include "support/test.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

static struct fixture f;

static int setup(void **state)
{
    (void)state;
    fixture_make(&f);
    return fixture_open(&f);
}

static int teardown(void **state)
{
    (void)state;
    fixture_close(&f);
    fixture_remove(&f);
    return 0;
}

static void put_jobs(struct fixture *at, int count)
{
    for (int i = 0; i < count; i++) {
        struct store_batch *batch = store_batch_create();
        uint64_t id = store_take_id(at->store, STORE_JOB_ID);

        store_put(batch, &(struct store_job){fixture_request(id),
                                             fixture_progress(JOB_WAITING)});
        assert_int_equal(
            store_commit(at->store, batch, STORE_DURABLE, NULL, NULL, &at->err), 0);
        store_flush(at->store);
    }
}

static char *beside(const char *suffix)
{
    static char path[128];

    snprintf(path, sizeof(path), "%s%s", f.path, suffix);
    return path;
}

/* Another process puts jobs into the store and is killed. */
static void killed_after(int jobs)
{
    pid_t pid;

    fixture_close(&f);
    pid = fork();
    if (pid == 0) {
        if (fixture_open(&f) < 0)
            _exit(1);
        put_jobs(&f, jobs);
        kill(getpid(), SIGKILL);
    }
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

CASE(a_kill_loses_nothing_and_leaves_no_gap)
{
    killed_after(5);
    assert_int_equal(fixture_open(&f), 0);
    assert_null(store_shortened(f.store));
    assert_int_equal(store_take_id(f.store, STORE_JOB_ID), 6);
}

CASE(a_log_that_is_gone_is_missed)
{
    killed_after(5);
    unlink(beside("-wal"));
    unlink(beside("-shm"));
    assert_int_equal(fixture_open(&f), 0);
    assert_non_null(strstr(store_shortened(f.store), "5 transactions are missing"));
    assert_true(store_take_id(f.store, STORE_JOB_ID) > 5);
    /* It is said once: then this is what there is. */
    fixture_close(&f);
    assert_int_equal(fixture_open(&f), 0);
    assert_null(store_shortened(f.store));
    assert_true(store_take_id(f.store, STORE_JOB_ID) > 5);
}

CASE(a_log_that_was_cut_is_missed)
{
    struct stat st;

    killed_after(20);
    assert_int_equal(stat(beside("-wal"), &st), 0);
    assert_int_equal(truncate(beside("-wal"), st.st_size * 2 / 3), 0);
    assert_int_equal(fixture_open(&f), 0);
    assert_non_null(store_shortened(f.store));
    assert_true(store_take_id(f.store, STORE_JOB_ID) > 20);
}

CASE(a_backup_put_back_is_noticed)
{
    char copy[128];

    snprintf(copy, sizeof(copy), "%s/copy.db", f.dir);
    put_jobs(&f, 2);
    assert_int_equal(store_backup(f.path, copy, false, &f.err), 0);
    put_jobs(&f, 3);
    fixture_close(&f);
    assert_int_equal(rename(copy, f.path), 0);
    assert_int_equal(fixture_open(&f), 0);
    assert_non_null(strstr(store_shortened(f.store), "3 transactions are missing"));
    assert_int_equal(store_take_id(f.store, STORE_JOB_ID), 6);
}

/* Killed before it had a row with a number above: nothing is missing then, and the store
 * itself knows nothing of what was given before. */
CASE(numbers_stay_above_a_loss_after_a_kill)
{
    char copy[128];

    snprintf(copy, sizeof(copy), "%s/copy.db", f.dir);
    put_jobs(&f, 2);
    assert_int_equal(store_backup(f.path, copy, false, &f.err), 0);
    put_jobs(&f, 3);
    fixture_close(&f);
    assert_int_equal(rename(copy, f.path), 0);
    for (int life = 0; life < 3; life++)
        killed_after(0);
    assert_int_equal(fixture_open(&f), 0);
    assert_null(store_shortened(f.store));
    assert_int_equal(store_take_id(f.store, STORE_JOB_ID), 6);
}

CASE(another_store_is_noticed)
{
    put_jobs(&f, 2);
    fixture_close(&f);
    unlink(f.path);
    assert_int_equal(fixture_open(&f), 0);
    assert_non_null(strstr(store_shortened(f.store), "not the one that was here"));
    assert_int_equal(store_take_id(f.store, STORE_JOB_ID), 3);
}

CASE(a_damaged_mark_is_not_believed)
{
    int fd;

    put_jobs(&f, 2);
    fixture_close(&f);
    fd = open(beside(".mark"), O_WRONLY);
    assert_int_equal(pwrite(fd, "9", 1, 40), 1);
    close(fd);
    assert_int_equal(fixture_open(&f), 0);
    assert_null(store_shortened(f.store));
    assert_int_equal(store_take_id(f.store, STORE_JOB_ID), 3);
}

/* A boot later the transaction in the mark may be too low: numbers skip what was
 * reserved, so that those of a log lost in a power cut are not given again. */
CASE(numbers_skip_ahead_after_a_power_cut)
{
    struct store_mark mark;
    struct mark_record found;

    killed_after(5);
    assert_int_equal(mark_open(&mark, f.path, &found, &f.err), 0);
    assert_true(found.same_boot);
    assert_int_equal(found.commit, 5);
    mark.now = found;
    snprintf(mark.boot, sizeof(mark.boot), "another");
    mark_write(&mark, true);
    mark_close(&mark);
    assert_int_equal(fixture_open(&f), 0);
    assert_null(store_shortened(f.store));
    assert_true(store_take_id(f.store, STORE_JOB_ID) > 500);
}

CASE(numbers_the_engine_has_seen_are_not_given)
{
    store_raise_id(f.store, STORE_JOB_ID, 41);
    store_raise_id(f.store, STORE_JOB_ID, 7);
    assert_int_equal(store_take_id(f.store, STORE_JOB_ID), 42);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_kill_loses_nothing_and_leaves_no_gap),
        TEST(a_log_that_is_gone_is_missed),
        TEST(a_log_that_was_cut_is_missed),
        TEST(a_backup_put_back_is_noticed),
        TEST(numbers_stay_above_a_loss_after_a_kill),
        TEST(another_store_is_noticed),
        TEST(a_damaged_mark_is_not_believed),
        TEST(numbers_skip_ahead_after_a_power_cut),
        TEST(numbers_the_engine_has_seen_are_not_given),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
