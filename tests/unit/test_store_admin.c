/* test_store_admin.c - check, backup, export */
#include "fixture/store.h"

#include "base/rng.h"
#include "store/rows.h"
#include "store/admin.h"
#include "support/test.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>

static struct fixture f;
static char text[4000];
static char copy[128];

static int setup(void **state)
{
    (void)state;
    fixture_make(&f);
    snprintf(copy, sizeof(copy), "%s/copy.db", f.dir);
    text[0] = '\0';
    return fixture_open(&f);
}

static int teardown(void **state)
{
    (void)state;
    fixture_close(&f);
    fixture_remove(&f);
    return 0;
}

static void change(const char *sql)
{
    sqlite3 *db;

    assert_int_equal(sqlite3_open(f.path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static void commit(struct store_batch *batch)
{
    assert_int_equal(fixture_commit(f.store, batch, &f.err), 0);
}

/* ---- check ------------------------------------------------------------------------- */

static void note_finding(void *ctx, const char *sentence)
{
    (void)ctx;
    snprintf(text + strlen(text), 400, "%s\n", sentence);
}

static int check(struct store_check_result *result)
{
    text[0] = '\0';
    return store_check(f.path, false, note_finding, NULL, result, &f.err);
}

static void make_some(void)
{
    char bytes[1000] = "learned";

    for (uint64_t id = 1; id <= 3; id++)
        assert_int_equal(fixture_submit(&f, id), 0);
    assert_int_equal(fixture_move(&f, 1, JOB_RUNNING, 1500), 0);
    assert_int_equal(fixture_move(&f, 1, JOB_DONE, 1600), 0);
    assert_int_equal(fixture_move(&f, 2, JOB_RUNNING, 1700), 0);
    assert_int_equal(store_save_model(f.store, "blend", 1, 1, bytes, sizeof(bytes), NULL,
                                      NULL, &f.err),
                     0);
    store_flush(f.store);
}

CASE(a_sound_store_has_no_findings)
{
    struct store_check_result result = {0};

    make_some();
    assert_int_equal(check(&result), 0); /* while it is open */
    assert_string_equal(text, "");
    assert_int_equal(result.findings, 0);
    assert_int_equal(result.jobs, 3);
    assert_int_equal(result.transitions, 6);
    fixture_close(&f);
    assert_int_equal(check(&result), 0);
    assert_int_equal(result.findings, 0);
}

CASE(every_broken_invariant_is_found)
{
    static const struct {
        const char *sql;
        const char *sentence;
    } cases[] = {
        {"UPDATE jobs SET state = 'waiting' WHERE id = 2",
         "job 2 is waiting, but its last transition leads to running\n"},
        {"DELETE FROM transitions WHERE job = 3", "job 3 has no history\n"},
        {"UPDATE transitions SET from_state = 'waiting' WHERE id = 5",
         "transition 5 of "},
        {"UPDATE jobs SET devices = '' WHERE id = 2", "job 2 runs without a device\n"},
        {"UPDATE jobs SET attempt = 0 WHERE id = 2",
         "job 2 runs, but was never started\n"},
        {"UPDATE jobs SET ended_s = NULL WHERE id = 1",
         "job 1 is done, but the time of its end is missing\n"},
        {"UPDATE jobs SET key = 'k' WHERE id = 1", "job 1 has a key without"},
        {"INSERT INTO sequences VALUES ('jobs', 2) ON CONFLICT (name) DO UPDATE SET"
         " next = 2; UPDATE meta SET value = 0",
         "numbers of jobs begin again at 2\n"},
        {"INSERT INTO energy VALUES (0, 3600, 'a', 1, 'ben', 1, 0, 0, 0, 0, 0, 0)",
         "energy of job 1 is booked on ben, but it is of ann\n"},
        {"INSERT INTO energy VALUES (0, 3600, 'a', 1, 'ann', 1, 0, 2, 0, 0, 0, 0)",
         "energy of job 1 on a: more is modelled than used\n"},
        {"UPDATE model_parts SET bytes = x'00'", "checkpoint 1 of blend is damaged\n"},
        {"INSERT INTO transitions (job, at_s, to_state, what, attempt)"
         " VALUES (77, 1, 'done', 'x', 0)",
         "row 7 of transitions belongs to a row of jobs that is not there\n"},
    };
    struct store_check_result result;

    make_some();
    fixture_close(&f);
    assert_int_equal(store_backup(f.path, copy, false, &f.err), 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(store_backup(copy, f.path, true, &f.err), 0);
        change(cases[i].sql);
        assert_int_equal(check(&result), 0);
        assert_true(result.findings >= 1);
        if (!strstr(text, cases[i].sentence))
            fail_msg("%s\nfound: %s", cases[i].sql, text);
    }
}

/* Bytes of the file are changed at random: whatever happens is said, nothing crashes. */
CASE(a_damaged_file_is_refused_or_found)
{
    struct store_check_result result;
    char *whole = NULL, *bytes;
    size_t count = 0;
    struct rng rng;
    int noticed = 0;

    make_some();
    fixture_close(&f);
    assert_int_equal(file_read(f.path, 1 << 24, &whole, &count, &f.err), 0);
    bytes = malloc(count);
    rng_init(&rng, 1);
    for (int round = 0; round < 60; round++) {
        struct store *store = NULL;

        memcpy(bytes, whole, count);
        for (int i = 0; i < 64; i++)
            bytes[rng_below(&rng, count)] = (char)rng_below(&rng, 256);
        assert_int_equal(file_write(f.path, bytes, count, &f.err), 0);
        noticed += check(&result) < 0 || result.findings > 0;
        if (store_open(&store, &(struct store_options){.path = f.path}, &f.err) == 0)
            store_close(store);
    }
    assert_true(noticed > 30);
    free(bytes);
    free(whole);
}

/* ---- backup ------------------------------------------------------------------------ */

static atomic_bool enough;

static void *keep_submitting(void *arg)
{
    (void)arg;
    while (!atomic_load(&enough)) {
        struct store_request r = fixture_request(store_take_id(f.store, STORE_JOB_ID));
        struct err err = {0};

        fixture_commit(f.store, fixture_submission(&r), &err);
    }
    return NULL;
}

CASE(a_backup_is_whole_while_the_store_is_written)
{
    struct store_check_result result;
    pthread_t thread;

    atomic_store(&enough, false);
    assert_int_equal(pthread_create(&thread, NULL, keep_submitting, NULL), 0);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(store_backup(f.path, copy, i > 0, &f.err), 0);
        text[0] = '\0';
        assert_int_equal(store_check(copy, false, note_finding, NULL, &result, &f.err),
                         0);
        assert_string_equal(text, "");
        assert_int_equal(result.transitions, result.jobs);
    }
    atomic_store(&enough, true);
    pthread_join(thread, NULL);
}

CASE(a_backup_replaces_only_when_told)
{
    struct store *store = NULL;

    make_some();
    assert_int_equal(store_backup(f.path, copy, false, &f.err), 0);
    assert_int_equal(store_backup(f.path, copy, false, &f.err), -1);
    assert_int_equal(f.err.code, ERR_EXISTS);
    assert_int_equal(store_backup(f.path, copy, true, &f.err), 0);
    assert_int_equal(store_backup(f.path, f.path, true, &f.err), -1);
    assert_int_equal(f.err.code, ERR_INVALID);
    assert_int_equal(store_backup(f.path, "/nowhere-at-all/copy.db", false, &f.err), -1);
    assert_int_equal(f.err.code, ERR_SYSTEM);
    /* And it can be used. */
    assert_int_equal(store_open(&store, &(struct store_options){.path = copy}, &f.err),
                     0);
    store_close(store);
}

/* ---- export ------------------------------------------------------------------------ */

static void export_table(const char *table, enum store_format format, bool secrets)
{
    struct store_export_options options = {
        .table = table, .format = format, .secrets = secrets};
    uint64_t rows = 0;
    FILE *out = fmemopen(text, sizeof(text), "w");

    memset(text, 0, sizeof(text));
    assert_int_equal(store_export(f.path, &options, out, &rows, &f.err), 0);
    fclose(out);
}

CASE(jobs_are_exported_without_secrets)
{
    make_some();
    export_table("jobs", STORE_JSON_LINES, false);
    assert_memory_equal(text, "{\"id\":1,\"name\":\"job 1\",", 23);
    assert_non_null(strstr(text, "\"argv\":[\"python\",\"train.py\",\"--name\","));
    assert_non_null(strstr(text, "\"extra\":{\"label\":\"x\"}"));
    assert_null(strstr(text, "HOME=")); /* environments may hold passwords */
    export_table("jobs", STORE_JSON_LINES, true);
    assert_non_null(strstr(text, "\"env\":[\"HOME=/home/ann\",\"EMPTY=\"]"));
}

CASE(tables_are_exported_as_csv)
{
    struct store_batch *batch = store_batch_create();
    struct store_event event = {
        .id = 1, .at_s = 1.5, .kind = "a,\"b\"", .data = "{\"x\":[1,2]}"};

    store_put(batch, &event);
    commit(batch);
    export_table("events", STORE_CSV, false);
    assert_string_equal(text, "id,at_s,kind,job,user,data\n"
                              "1,1.5,\"a,\"\"b\"\"\",,,\"{\"\"x\"\":[1,2]}\"\n");
}

CASE(every_table_can_be_exported)
{
    struct store_token token = {.id = 1, .user = "ann", .role = STORE_USER};
    struct store_batch *batch = store_batch_create();
    struct store_export_options unknown = {.table = "x"};
    char tables[sizeof(f.err.text)];
    uint64_t rows;
    int count = 0;

    make_some();
    store_digest("x", 1, token.digest);
    store_put(batch, &token);
    commit(batch);
    assert_int_equal(store_export(f.path, &unknown, stdout, &rows, &f.err), -1);
    strcpy(tables, strstr(f.err.text, "there are ") + strlen("there are "));
    for (char *table = strtok(tables, ", "); table; table = strtok(NULL, ", ")) {
        export_table(table, STORE_JSON_LINES, true);
        export_table(table, STORE_CSV, true);
        count++;
    }
    assert_int_equal(count, 16);
    export_table("tokens", STORE_CSV, true);
    assert_null(strstr(text, "digest"));
}

CASE(an_unknown_table_is_named_with_those_there_are)
{
    struct store_export_options options = {.table = "sqlite_schema"};
    uint64_t rows = 7;

    assert_int_equal(store_export(f.path, &options, stdout, &rows, &f.err), -1);
    assert_int_equal(f.err.code, ERR_NOT_FOUND);
    assert_non_null(strstr(f.err.text, "transitions"));
    assert_int_equal(rows, 7);
}

CASE(a_full_target_is_told)
{
    struct store_export_options options = {.table = "jobs"};
    FILE *full = fopen("/dev/full", "w");
    uint64_t rows = 7;

    make_some();
    assert_non_null(full);
    assert_int_equal(store_export(f.path, &options, full, &rows, &f.err), -1);
    assert_int_equal(f.err.code, ERR_SYSTEM);
    fclose(full);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_sound_store_has_no_findings),
        TEST(every_broken_invariant_is_found),
        TEST(a_damaged_file_is_refused_or_found),
        TEST(a_backup_is_whole_while_the_store_is_written),
        TEST(a_backup_replaces_only_when_told),
        TEST(jobs_are_exported_without_secrets),
        TEST(tables_are_exported_as_csv),
        TEST(every_table_can_be_exported),
        TEST(an_unknown_table_is_named_with_those_there_are),
        TEST(a_full_target_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
