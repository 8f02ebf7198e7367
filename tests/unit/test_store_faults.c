/* test_store_faults.c - failing writes, failing syncs, a full disk, a power cut
 *
 * Whatever the disk does: one clear error, reading goes on, nothing is damaged, and the
 * store works again when the disk does. */
#include "fixture/fault_vfs.h"
#include "fixture/store.h"

#include "base/log.h"
#include "store/admin.h"
#include "store/rows.h"
#include "support/test.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

static struct fixture f;

static int setup(void **state)
{
    (void)state;
    fault_register();
    fault_set(FAULT_NONE, 0);
    fault_remember(false);
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

static void open_faulty(void)
{
    assert_int_equal(fixture_open_with(&f, (struct store_options){.vfs = FAULT_VFS}), 0);
}

static bool has_job(uint64_t id)
{
    struct store_job *job = NULL;
    struct err err = {0};
    int rc = store_read_job(f.reader, id, &job, &err);

    assert_true(rc == 0 || err.code == ERR_NOT_FOUND);
    store_job_destroy(job);
    return rc == 0;
}

static void print_finding(void *ctx, const char *sentence)
{
    (void)ctx;
    fprintf(stderr, "%s\n", sentence);
}

static void assert_sound(void)
{
    struct store_check_result result;

    assert_int_equal(store_check(f.path, false, print_finding, NULL, &result, &f.err), 0);
    assert_int_equal(result.findings, 0);
}

/* One fault in the middle of a commit, then another, then the disk is well again. */
static void survive(enum fault kind, int after)
{
    struct store_stats stats;

    open_faulty();
    assert_int_equal(fixture_submit(&f, 1), 0);
    fault_set(kind, after);
    for (uint64_t id = 2; id < 40; id++) /* until it strikes */
        if (fixture_submit(&f, id) < 0)
            break;
    assert_int_equal(f.err.code, ERR_SYSTEM);
    assert_non_null(strstr(f.err.text, f.path));
    if (kind == FAULT_FULL)
        assert_non_null(strstr(f.err.text, "is full"));
    store_stats(f.store, &stats);
    assert_true(stats.failing);
    assert_string_equal(stats.failure, f.err.text);
    assert_int_equal(fixture_submit(&f, 50), -1);
    assert_true(has_job(1)); /* reading goes on */
    assert_false(has_job(50));
    fault_set(FAULT_NONE, 0);
    assert_int_equal(fixture_submit(&f, 60), 0);
    store_stats(f.store, &stats);
    assert_false(stats.failing);
    assert_string_equal(stats.failure, "");
    assert_int_equal(stats.failures, 2);
    assert_false(has_job(50));
    assert_true(has_job(60));
    assert_sound();
    fixture_close(&f);
    assert_int_equal(fixture_open(&f), 0);
    assert_true(has_job(1) && has_job(60) && !has_job(50));
    assert_sound();
    fixture_close(&f);
    fixture_remove(&f);
    fixture_make(&f);
}

static void survives_each(enum fault kind)
{
    for (int after = 0; after < 24; after += 3)
        survive(kind, after);
}

CASE(a_full_disk_is_survived)
{
    survives_each(FAULT_FULL);
}

CASE(failing_writes_are_survived)
{
    survives_each(FAULT_WRITE);
}

CASE(torn_writes_are_survived)
{
    survives_each(FAULT_TORN);
}

CASE(failing_syncs_are_survived)
{
    survive(FAULT_SYNC, 0);
    survive(FAULT_SYNC, 1);
    survive(FAULT_SYNC, 5);
}

static int note_last_step(void *ctx, const void *row)
{
    *(struct store_transition *)ctx = *(const struct store_transition *)row;
    return 0;
}

/* The job ran and ended, but nobody could write down that it ran. */
CASE(a_history_whose_step_was_refused_is_one_all_the_same)
{
    struct store_transition last = {0};

    open_faulty();
    assert_int_equal(fixture_submit(&f, 1), 0);
    fault_set(FAULT_FULL, 0);
    assert_int_equal(fixture_move(&f, 1, JOB_RUNNING, 1500), -1);
    fault_set(FAULT_NONE, 0);
    assert_int_equal(fixture_move(&f, 1, JOB_DONE, 1600), 0);
    assert_sound();
    assert_int_equal(store_read(f.reader, STORE_TRANSITIONS,
                                &(struct store_filter){.job = 1}, note_last_step, &last,
                                &f.err),
                     2);
    assert_int_equal(last.from, JOB_WAITING);
    assert_int_equal(last.to, JOB_DONE);
}

CASE(a_store_that_cannot_be_made_says_so)
{
    for (int after = 0; after < 10; after++) {
        fault_set(FAULT_FULL, after);
        assert_int_equal(
            store_open(&f.store,
                       &(struct store_options){.path = f.path, .vfs = FAULT_VFS}, &f.err),
            -1);
        assert_non_null(strstr(f.err.text, "is full"));
        assert_null(f.store);
    }
    fault_set(FAULT_NONE, 0);
    open_faulty();
    assert_int_equal(fixture_submit(&f, 1), 0);
    assert_sound();
}

/* ---- relaxed batches --------------------------------------------------------------- */

static atomic_int told;

static void tell(void *ctx, const struct store_completion *completion)
{
    (void)ctx;
    atomic_fetch_add(&told, completion->err.code == ERR_NONE ? 1 : 1000);
}

static int look(void *ctx, const void *row)
{
    (void)ctx;
    (void)row;
    return 0;
}

static int stored_measurements(void)
{
    return store_read(f.reader, STORE_MEASUREMENTS, &(struct store_filter){.job = 1},
                      look, NULL, &f.err);
}

CASE(telemetry_waits_for_the_disk)
{
    struct store_measurement m = {.job = 1, .at_s = 5, .window_s = 1};

    atomic_store(&told, 0);
    open_faulty();
    fault_set(FAULT_FULL, 0);
    for (int i = 0; i < 5; i++) {
        struct store_batch *batch = store_batch_create();

        m.at_s = i;
        store_put(batch, &m);
        assert_int_equal(store_commit(f.store, batch, STORE_RELAXED, tell, NULL, &f.err),
                         0);
    }
    store_flush(f.store); /* tried once */
    assert_int_equal(atomic_load(&told), 0);
    fault_set(FAULT_NONE, 0);
    store_flush(f.store);
    assert_int_equal(atomic_load(&told), 5);
    assert_int_equal(stored_measurements(), 5);
}

/* The daemon says it is not ready, so nobody submits: it must find out by itself. */
CASE(the_store_notices_that_the_disk_is_well)
{
    struct store_stats stats;

    open_faulty();
    fault_set(FAULT_SYNC, 0);
    assert_int_equal(fixture_submit(&f, 1), -1);
    fault_set(FAULT_NONE, 0);
    do { /* ends, or never */
        usleep(10000);
        store_stats(f.store, &stats);
    } while (stats.failing);
    assert_false(has_job(1));
}

CASE(closing_on_a_full_disk_ends)
{
    struct store_measurement m = {.job = 1, .at_s = 5, .window_s = 1};
    struct store_batch *batch = store_batch_create();

    atomic_store(&told, 0);
    open_faulty();
    assert_int_equal(fixture_submit(&f, 1), 0);
    fault_set(FAULT_FULL, 0);
    store_put(batch, &m);
    assert_int_equal(store_commit(f.store, batch, STORE_RELAXED, tell, NULL, &f.err), 0);
    fixture_close(&f);
    assert_int_equal(atomic_load(&told), 1000);
    fault_set(FAULT_NONE, 0);
    assert_int_equal(fixture_open(&f), 0);
    assert_true(store_was_interrupted(f.store)); /* it could not say otherwise */
    assert_true(has_job(1));
    assert_sound();
}

/* ---- a power cut ------------------------------------------------------------------- */

/* In a child: acknowledged submissions and telemetry, then the process is gone. */
static void write_and_die(int jobs)
{
    fault_remember(true);
    if (fixture_open_with(&f, (struct store_options){.vfs = FAULT_VFS}) < 0)
        _exit(2);
    for (int i = 1; i <= jobs; i++)
        if (fixture_submit(&f, (uint64_t)i) < 0)
            _exit(3);
    for (int i = 0; i < 20; i++) {
        struct store_measurement m = {.job = 1, .at_s = i, .window_s = 1};
        struct store_batch *batch = store_batch_create();

        store_put(batch, &m);
        if (store_commit(f.store, batch, STORE_RELAXED, NULL, NULL, &f.err) < 0)
            _exit(4);
        store_flush(f.store);
    }
    if (stored_measurements() != 20)
        _exit(5);
    _exit(0);
}

static void cut_power(void)
{
    static const char *const files[] = {"", "-wal", "-journal"};
    char path[128];

    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        snprintf(path, sizeof(path), "%s%s", f.path, files[i]);
        fault_power_cut(path);
    }
    snprintf(path, sizeof(path), "%s-shm", f.path); /* lives in memory only */
    unlink(path);
}

CASE(what_was_acknowledged_outlives_a_power_cut)
{
    int status = 0;
    pid_t child;

    for (int jobs = 1; jobs <= 33; jobs += 8) {
        fflush(NULL);
        child = fork();
        if (child == 0)
            write_and_die(jobs);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
        cut_power();
        assert_int_equal(fixture_open(&f), 0);
        for (int i = 1; i <= jobs; i++)
            assert_true(has_job((uint64_t)i));
        /* The cut was real: telemetry is not synced, and the last of it is gone. */
        assert_int_equal(stored_measurements(), 0);
        assert_sound();
        fixture_close(&f);
        fixture_remove(&f);
        fixture_make(&f);
    }
}

/* ---- real limits ------------------------------------------------------------------- */

/* In a child of its own, where a limit or a mount does no harm; its status is 0, or the
 * number of the step that failed. */
static int in_child(int (*run)(void))
{
    int status = -1;
    pid_t child;

    fflush(NULL);
    child = fork();
    if (child == 0)
        _exit(run());
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int outgrow_the_file_limit(void)
{
    struct rlimit limit = {.rlim_cur = 300000, .rlim_max = RLIM_INFINITY};
    uint64_t id = 1;

    signal(SIGXFSZ, SIG_IGN);
    if (fixture_open(&f) < 0 || setrlimit(RLIMIT_FSIZE, &limit) < 0)
        return 1;
    while (id < 2000 && fixture_submit(&f, id) == 0)
        id++;
    if (id == 2000 || f.err.code != ERR_SYSTEM || !strstr(f.err.text, "cannot write"))
        return 2;
    if (!has_job(1) || !has_job(id - 1) || has_job(id))
        return 3;
    limit.rlim_cur = RLIM_INFINITY;
    if (setrlimit(RLIMIT_FSIZE, &limit) < 0 || fixture_submit(&f, id) < 0)
        return 4;
    fixture_close(&f);
    return 0;
}

CASE(a_file_size_limit_is_survived)
{
    assert_int_equal(in_child(outgrow_the_file_limit), 0);
    assert_sound();
}

#define NO_MOUNTS 77

/* Fill what is left; the file to remove is "log". */
static int fill_disk(const char *path)
{
    char chunk[4096] = "";
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    if (fd < 0)
        return -1;
    while (write(fd, chunk, sizeof(chunk)) == (ssize_t)sizeof(chunk))
        ;
    return close(fd);
}

static int fill_a_small_disk(void)
{
    struct store_check_result result;
    char filler[128];
    uint64_t id = 1;

    if (unshare(CLONE_NEWNS) < 0 ||
        mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("tmpfs", f.dir, "tmpfs", 0, "size=4m") < 0)
        return NO_MOUNTS;
    snprintf(filler, sizeof(filler), "%s/log", f.dir);
    if (fixture_open(&f) < 0 || fixture_submit(&f, 1) < 0 || fill_disk(filler) < 0)
        return 1;
    for (id = 2; id < 100 && fixture_submit(&f, id) == 0;)
        id++; /* the log's last page may have had room */
    if (id == 100 || f.err.code != ERR_SYSTEM || !strstr(f.err.text, "full"))
        return 2;
    if (!has_job(1) || has_job(id) || fixture_submit(&f, id) == 0)
        return 3;
    if (unlink(filler) < 0 || fixture_submit(&f, id) < 0 || !has_job(id))
        return 4;
    fixture_close(&f);
    if (store_check(f.path, false, print_finding, NULL, &result, &f.err) < 0 ||
        result.findings > 0)
        return 5;
    return 0;
}

CASE(a_full_file_system_is_survived)
{
    int status = in_child(fill_a_small_disk);

    if (status == NO_MOUNTS) {
        print_message("skipped: this process may not mount a small file system\n");
        skip();
    }
    assert_int_equal(status, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_full_disk_is_survived),
        TEST(failing_writes_are_survived),
        TEST(torn_writes_are_survived),
        TEST(failing_syncs_are_survived),
        TEST(a_history_whose_step_was_refused_is_one_all_the_same),
        TEST(a_store_that_cannot_be_made_says_so),
        TEST(telemetry_waits_for_the_disk),
        TEST(the_store_notices_that_the_disk_is_well),
        TEST(closing_on_a_full_disk_ends),
        TEST(what_was_acknowledged_outlives_a_power_cut),
        TEST(a_file_size_limit_is_survived),
        TEST(a_full_file_system_is_survived),
    };
    FILE *quiet = fopen("/dev/null", "w");
    int failed;

    log_setup(quiet, LOG_LEVEL_ERROR, LOG_FORMAT_TEXT, NULL);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    fclose(quiet);
    return failed;
}
