/* test_store_retention.c - what is old is folded or goes, and nothing else */
#include "fixture/store.h"

#include "store/rows.h"
#include "store/admin.h"
#include "support/test.h"

#include <sqlite3.h>
#include <stdatomic.h>

#define DAY 86400.0

static struct fixture f;
static char text[4000];

static int setup(void **state)
{
    (void)state;
    fixture_make(&f);
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

static int64_t number(const char *path, const char *sql)
{
    sqlite3 *db;
    sqlite3_stmt *statement;
    int64_t value;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return value;
}

static void change(const char *sql)
{
    sqlite3 *db;

    assert_int_equal(sqlite3_open(f.path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static atomic_int retained;

static void note_retained(void *ctx, const struct store_completion *completion)
{
    (void)ctx;
    atomic_store(&retained, completion->err.code == ERR_NONE ? 1 : 2);
}

static void retain(struct store_retention keep, double now_s)
{
    atomic_store(&retained, 0);
    assert_int_equal(store_retain(f.store, &keep, now_s, note_retained, NULL, &f.err), 0);
    while (atomic_load(&retained) == 0)
        usleep(1000);
    assert_int_equal(atomic_load(&retained), 1);
}

static void commit(struct store_batch *batch)
{
    assert_int_equal(fixture_commit(f.store, batch, &f.err), 0);
}

static const struct store_filter of_one = {.job = 1};

static int note_measurement(void *ctx, const void *row)
{
    const struct store_measurement *m = row;

    (void)ctx;
    snprintf(text + strlen(text), 200, "%g %gs %g[%g,%g] %gW %g %d;", m->at_s,
             m->window_s, m->rate, m->rate_low, m->rate_high, m->watts, m->steps,
             (int)m->windows);
    return 0;
}

static int note_latency(void *ctx, const void *row)
{
    const struct store_measurement *m = row;

    (void)ctx;
    snprintf(text + strlen(text), 200, "%g %g,%g %g %g %g %d;", m->at_s, m->latency_s,
             m->latency_high_s, m->median_s, m->busy, m->held, (int)m->windows);
    return 0;
}

/* Only some windows have one, as nobody may have asked for anything. */
CASE(old_latencies_become_means_and_the_highest)
{
    static const double latencies[] = {0.5, 0, NAN, 2};
    struct store_batch *batch = store_batch_create();

    for (int i = 0; i < 4; i++)
        store_put(batch, &(struct store_measurement){.job = 1,
                                                     .at_s = 100 + i,
                                                     .window_s = i == 3 ? 2 : 4,
                                                     .rate = 1,
                                                     .latency_s = latencies[i],
                                                     .median_s = latencies[i] / 2,
                                                     .busy = latencies[i] / 4,
                                                     .held = latencies[i] * 8});
    commit(batch);
    assert_int_equal(
        store_read(f.reader, STORE_MEASUREMENTS, &of_one, note_latency, NULL, &f.err), 4);
    assert_string_equal(text, "100 0.5,0.5 0.25 0.125 4 1;101 nan,nan nan nan nan 1;"
                              "102 nan,nan nan nan nan 1;103 2,2 1 0.5 16 1;");
    retain((struct store_retention){.telemetry_s = DAY}, DAY + 3600);
    text[0] = '\0';
    assert_int_equal(
        store_read(f.reader, STORE_MEASUREMENTS, &of_one, note_latency, NULL, &f.err), 1);
    assert_string_equal(text, "3600 1,2 nan nan nan 4;"); /* (0.5 * 4 + 2 * 2) / 6 */
}

/* 5000 rows: more than one step takes. */
CASE(old_measurements_become_hours)
{
    struct store_batch *batch = store_batch_create();

    for (int i = 0; i < 5000; i++) {
        struct store_measurement m = {.job = 1,
                                      .device = "a",
                                      .at_s = i < 2400 ? 100 + i : 3600 + (i - 2400),
                                      .window_s = i % 2 ? 1 : 3,
                                      .rate = i % 2 ? 10 : 20,
                                      .watts = i % 2 ? NAN : 50,
                                      .steps = i};

        store_put(batch, &m);
    }
    commit(batch);
    retain((struct store_retention){.telemetry_s = DAY}, DAY + 3600 + 1000);
    assert_int_equal(number(f.path, "SELECT count(*) FROM measurements"), 1600);
    assert_int_equal(store_read(f.reader, STORE_MEASUREMENTS,
                                &(struct store_filter){.job = 1, .to_s = 4600},
                                note_measurement, NULL, &f.err),
                     3);
    /* Mean rate (10*1 + 20*3) / 4; the first row of those left is raw. */
    assert_memory_equal(text,
                        "3600 4800s 17.5[10,20] 50W 2399 2400;"
                        "4600 3s 20[20,20] 50W 3400 1;",
                        66);
    retain((struct store_retention){.telemetry_s = DAY}, DAY + 7200 + 1e5);
    text[0] = '\0';
    assert_int_equal(
        store_read(f.reader, STORE_MEASUREMENTS, &of_one, note_measurement, NULL, &f.err),
        2);
    assert_string_equal(text, "3600 4800s 17.5[10,20] 50W 2399 2400;"
                              "7200 5200s 17.5[10,20] 50W 4999 2600;");
    retain((struct store_retention){.telemetry_s = DAY, .hours_s = DAY}, DAY + 3600);
    assert_int_equal(number(f.path, "SELECT count(*) FROM measurement_hours"), 1);
}

CASE(old_power_keeps_its_joules)
{
    struct store_batch *batch = store_batch_create();

    for (int i = 0; i < 3000; i++) {
        struct store_power power = {.device = i % 2 ? "a" : "b",
                                    .at_s = i,
                                    .window_s = 2,
                                    .watts = 100,
                                    .joules = 200};

        store_put(batch, &power);
    }
    commit(batch);
    retain((struct store_retention){.telemetry_s = 1}, 1e6);
    assert_int_equal(number(f.path, "SELECT count(*) FROM power"), 0);
    assert_int_equal(number(f.path, "SELECT count(*) FROM power_hours"), 2);
    assert_int_equal(number(f.path, "SELECT sum(joules) FROM power_hours"), 600000);
}

static int sum_energy(void *ctx, const void *row)
{
    const struct store_energy_sum *sum = row;

    *(double *)ctx += sum->joules;
    return 0;
}

CASE(hours_of_energy_become_days_and_lose_nothing)
{
    struct store_batch *batch = store_batch_create();
    double sum = 0;

    for (int hour = 0; hour < 100; hour++) {
        struct store_energy energy = {.at_s = hour * 3600.0,
                                      .device = "a",
                                      .job = (uint64_t)(hour % 2),
                                      .user = hour % 2 ? "ann" : NULL,
                                      .joules = 1};

        store_put(batch, &energy);
    }
    commit(batch);
    retain((struct store_retention){.hours_s = DAY}, 4 * DAY + 7000);
    assert_int_equal(number(f.path, "SELECT count(*) FROM energy WHERE span_s = 86400"),
                     6);
    assert_int_equal(number(f.path, "SELECT count(*) FROM energy WHERE span_s = 3600"),
                     28);
    assert_int_equal(
        store_read(f.reader, STORE_ENERGY_BY_HOUR, &of_one, sum_energy, &sum, &f.err),
        17);
    assert_true(sum == 50);
}

/* A day of more jobs than one step takes: its parts add up. */
CASE(a_day_of_many_jobs_is_folded_in_parts)
{
    struct store_batch *batch = store_batch_create();

    for (int i = 0; i < 5000; i++)
        store_put(batch, &(struct store_energy){.at_s = i % 2 * 3600.0,
                                                .device = "a",
                                                .job = 1 + (uint64_t)i / 2,
                                                .user = "ann",
                                                .joules = 1});
    commit(batch);
    retain((struct store_retention){.hours_s = DAY}, 4 * DAY);
    assert_int_equal(number(f.path, "SELECT count(*) FROM energy WHERE span_s = 3600"),
                     0);
    assert_int_equal(number(f.path, "SELECT count(*) FROM energy WHERE joules = 2"),
                     2500);
}

CASE(a_late_hour_is_added_to_its_day)
{
    struct store_batch *batch = store_batch_create();
    struct store_energy energy = {.at_s = 10, .device = "a", .joules = 1};

    store_put(batch, &energy);
    commit(batch);
    retain((struct store_retention){.hours_s = DAY}, 9 * DAY);
    batch = store_batch_create();
    store_put(batch, &energy);
    commit(batch);
    retain((struct store_retention){.hours_s = DAY}, 9 * DAY);
    assert_int_equal(number(f.path, "SELECT count(*) FROM energy"), 1);
    assert_int_equal(number(f.path, "SELECT joules FROM energy"), 2);
}

CASE(old_jobs_go_with_their_history_and_keep_their_numbers)
{
    struct store_batch *batch = store_batch_create();
    struct store_decision decision = {.id = 1, .job = 60, .what = "start"};
    struct store_quote quote = {.id = 1, .job = 60, .user = "ann", .verdict = "accepted"};
    struct store_guard guard = {.job = 60, .kind = "rate", .action = "none"};

    for (int id = 1; id <= 61; id++)
        assert_int_equal(fixture_submit(&f, store_take_id(f.store, STORE_JOB_ID)), 0);
    for (uint64_t id = 1; id <= 60; id++)
        assert_int_equal(fixture_move(&f, id, JOB_DONE, 2000), 0);
    assert_int_equal(fixture_move(&f, 61, JOB_DONE, 5000), 0);
    store_put(batch, &decision);
    store_put(batch, &quote);
    store_put(batch, &guard);
    commit(batch);
    retain((struct store_retention){.jobs_s = 100}, 3000);
    assert_int_equal(number(f.path, "SELECT count(*) FROM jobs"), 1);
    assert_int_equal(number(f.path, "SELECT count(*) FROM transitions"), 2);
    assert_int_equal(number(f.path, "SELECT count(*) FROM decisions"), 0);
    retain((struct store_retention){.jobs_s = 100}, 6000);
    assert_int_equal(number(f.path, "SELECT count(*) FROM jobs"), 0);
    fixture_close(&f);
    assert_int_equal(fixture_open(&f), 0);
    assert_int_equal(store_take_id(f.store, STORE_JOB_ID), 62);
}

CASE(live_jobs_never_go)
{
    assert_int_equal(fixture_submit(&f, 1), 0);
    retain((struct store_retention){.jobs_s = 1}, 1e12);
    assert_int_equal(number(f.path, "SELECT count(*) FROM jobs"), 1);
}

CASE(old_events_and_audit_go)
{
    struct store_batch *batch = store_batch_create();

    for (int i = 1; i <= 4500; i++) {
        struct store_event event = {.id = (uint64_t)i, .at_s = i, .kind = "x"};
        struct store_audit audit = {.at_s = i, .action = "x", .outcome = "done"};

        store_put(batch, &event);
        store_put(batch, &audit);
    }
    commit(batch);
    retain((struct store_retention){.events_s = 100, .audit_s = 1000}, 4600);
    assert_int_equal(number(f.path, "SELECT min(id) FROM events"), 4500);
    assert_int_equal(number(f.path, "SELECT min(at_s) FROM audit"), 3600);
}

CASE(the_newest_checkpoints_stay)
{
    char *bytes = calloc(1, 600000);

    for (int i = 0; i < 5; i++) {
        assert_int_equal(store_save_model(f.store, i == 1 ? "other" : "blend", 1, i,
                                          bytes, 600000, NULL, NULL, &f.err),
                         0);
        store_flush(f.store);
    }
    change("UPDATE models SET whole = 0 WHERE id = 3");
    retain((struct store_retention){.models = 2}, 100);
    assert_int_equal(number(f.path, "SELECT group_concat(id, '') FROM models"), 245);
    assert_int_equal(number(f.path, "SELECT count(*) FROM model_parts"), 9);
    free(bytes);
}

CASE(nothing_is_removed_without_an_age)
{
    struct store_batch *batch = store_batch_create();
    struct store_event event = {.id = 1, .kind = "x"};

    store_put(batch, &event);
    commit(batch);
    retain((struct store_retention){0}, 1e12);
    assert_int_equal(number(f.path, "SELECT count(*) FROM events"), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(old_latencies_become_means_and_the_highest),
        TEST(old_measurements_become_hours),
        TEST(old_power_keeps_its_joules),
        TEST(hours_of_energy_become_days_and_lose_nothing),
        TEST(a_day_of_many_jobs_is_folded_in_parts),
        TEST(a_late_hour_is_added_to_its_day),
        TEST(old_jobs_go_with_their_history_and_keep_their_numbers),
        TEST(live_jobs_never_go),
        TEST(old_events_and_audit_go),
        TEST(the_newest_checkpoints_stay),
        TEST(nothing_is_removed_without_an_age),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
