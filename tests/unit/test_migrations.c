/* test_migrations.c - numbered steps, taken once and in order */
#include "store/store_private.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char dir[64];
static char path[96];
static struct err err;

static const char *const steps[] = {
    "CREATE TABLE a (x INTEGER) STRICT; INSERT INTO a VALUES (1)",
    "ALTER TABLE a ADD COLUMN y TEXT; UPDATE a SET y = 'one'",
    "INSERT INTO a VALUES (2, 'two')",
};

static int setup(void **state)
{
    (void)state;
    snprintf(dir, sizeof(dir), "/tmp/corgi-test-schema-XXXXXX");
    if (!mkdtemp(dir))
        return -1;
    snprintf(path, sizeof(path), "%s/x.db", dir);
    err = (struct err){0};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(dir);
}

static int migrate(const char *const *list, int count, int *from)
{
    struct db *db;
    int rc;

    assert_int_equal(db_open(&db, path, DB_WRITE, NULL, &err), 0);
    rc = migrations_apply(db, list, count, from, &err);
    db_close(db);
    return rc;
}

static int64_t number(const char *sql)
{
    struct db *db;
    int64_t value = -1;

    assert_int_equal(db_open(&db, path, DB_READ, NULL, &err), 0);
    db_number(db, sql, &value, &err);
    db_close(db);
    return value;
}

CASE(takes_the_missing_steps_only)
{
    int from = -1;

    assert_int_equal(migrate(steps, 1, &from), 0);
    assert_int_equal(from, 0);
    assert_int_equal(number("PRAGMA user_version"), 1);
    assert_int_equal(migrate(steps, 3, &from), 0);
    assert_int_equal(from, 1);
    assert_int_equal(number("SELECT count(*) FROM a WHERE y IN ('one', 'two')"), 2);
    assert_int_equal(migrate(steps, 3, &from), 0);
    assert_int_equal(from, 3);
    assert_int_equal(number("SELECT count(*) FROM a"), 2);
    assert_int_equal(number("PRAGMA application_id"), MIGRATIONS_APPLICATION_ID);
}

CASE(a_step_that_fails_is_undone)
{
    static const char *const broken[] = {
        "CREATE TABLE a (x INTEGER) STRICT",
        "INSERT INTO a VALUES (1); INSERT INTO nowhere VALUES (2)",
    };
    int from = -1;

    assert_int_equal(migrate(broken, 2, &from), -1);
    assert_int_equal(from, -1);
    assert_int_equal(number("PRAGMA user_version"), 1);
    assert_int_equal(number("SELECT count(*) FROM a"), 0);
}

/* What was measured before there was a latency to store has none. */
CASE(a_store_of_the_first_schema_gains_latency)
{
    static const char *before[] = {NULL, "INSERT INTO measurements (job, attempt, device,"
                                         " at_s, window_s, out_of_memory)"
                                         " VALUES (1, 1, '', 5, 1, 0)"};
    int from = -1;
    struct db *db;

    before[0] = migrations_steps[0];
    assert_int_equal(migrate(before, 1, &from), 0);
    assert_int_equal(db_open(&db, path, DB_WRITE, NULL, &err), 0);
    assert_int_equal(db_exec(db, before[1], &err), 0);
    db_close(db);
    assert_int_equal(migrate(migrations_steps, migrations_count, &from), 0);
    assert_int_equal(from, 1);
    assert_int_equal(
        number("SELECT count(*) FROM measurements WHERE latency_s IS NULL AND"
               " busy IS NULL AND median_s IS NULL AND held IS NULL"),
        1);
    assert_int_equal(number("SELECT count(timed_s) + count(latency_sum) +"
                            " count(latency_high) FROM measurement_hours"),
                     0);
}

/* A text that was damaged before there were sums is told from one that was not. */
CASE(texts_of_an_older_store_get_sums)
{
    int from = -1;
    struct db *db;

    assert_int_equal(migrate(migrations_steps, 4, &from), 0);
    assert_int_equal(db_open(&db, path, DB_WRITE, NULL, &err), 0);
    assert_int_equal(
        db_exec(db,
                "PRAGMA ignore_check_constraints = ON;"
                "INSERT INTO events VALUES (1, 5, 'job', 1, 'ann', '{\"a\":1}'),"
                " (2, 5, 'job', 1, 'ann', '{\"a\":');"
                "INSERT INTO quotes (id, user, at_s, verdict, detail)"
                " VALUES (1, 'ann', 5, 'accepted', '{}'), (2, 'ann', 5, 'refused', NULL)",
                &err),
        0);
    db_close(db);
    assert_int_equal(migrate(migrations_steps, migrations_count, &from), 0);
    assert_int_equal(from, 4);
    assert_int_equal(number("SELECT id FROM events WHERE data_sum = text_sum(data)"), 1);
    assert_int_equal(number("SELECT id FROM events WHERE data_sum <> text_sum(data)"), 2);
    assert_int_equal(number("SELECT id FROM quotes WHERE detail_sum = text_sum(detail)"),
                     1);
    assert_int_equal(number("SELECT id FROM quotes WHERE detail_sum IS NULL"), 2);
}

CASE(newer_is_refused)
{
    int from = -1;

    assert_int_equal(migrate(steps, 3, &from), 0);
    assert_int_equal(migrate(steps, 2, &from), -1);
    assert_int_equal(err.code, ERR_UNSUPPORTED);
}

CASE(a_reader_refuses_what_is_older)
{
    struct db *db;
    int from;

    assert_int_equal(migrate(steps, 0, &from), 0);
    assert_int_equal(db_open(&db, path, DB_READ, NULL, &err), 0);
    assert_int_equal(migrations_examine(db, &err), -1);
    assert_int_equal(err.code, ERR_UNSUPPORTED);
    db_close(db);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(takes_the_missing_steps_only),
        TEST(a_step_that_fails_is_undone),
        TEST(a_store_of_the_first_schema_gains_latency),
        TEST(texts_of_an_older_store_get_sums),
        TEST(newer_is_refused),
        TEST(a_reader_refuses_what_is_older),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
