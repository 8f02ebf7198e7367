/* test_store_rows.c - events, telemetry, energy, tokens, audit, settings, checkpoints */
#include "fixture/store.h"

#include "store/rows.h"
#include "support/test.h"

#include <sqlite3.h>

static struct fixture f;
static struct store_batch *batch;
static char text[2000];

static int setup(void **state)
{
    (void)state;
    fixture_make(&f);
    batch = store_batch_create();
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

static void commit(void)
{
    assert_int_equal(fixture_commit(f.store, batch, &f.err), 0);
    batch = store_batch_create();
}

static void drop_batch(void)
{
    store_batch_destroy(batch);
}

static void note(const char *format, ...)
{
    size_t used = strlen(text);
    va_list args;

    va_start(args, format);
    vsnprintf(text + used, sizeof(text) - used, format, args);
    va_end(args);
}

static const char *or_none(const char *word)
{
    return word ? word : "-";
}

/* ---- events ------------------------------------------------------------------------ */

static int note_event(void *ctx, const void *row)
{
    const struct store_event *event = row;

    (void)ctx;
    note("%d %s %d %s %s;", (int)event->id, event->kind, (int)event->job,
         or_none(event->user), event->data);
    return 0;
}

CASE(a_client_resumes_after_the_last_event_it_saw)
{
    uint64_t oldest = 7, newest = 7;

    assert_int_equal(store_read_event_span(f.reader, &oldest, &newest, &f.err), 0);
    assert_true(oldest == 0 && newest == 0);
    for (int i = 1; i <= 4; i++) {
        struct store_event event = {.id = (uint64_t)i,
                                    .kind = "job.started",
                                    .job = i == 3 ? 0 : 9,
                                    .user = i == 3 ? NULL : "ann",
                                    .data = i == 4 ? NULL : "{\"n\":1}"};

        store_put(batch, &event);
    }
    commit();
    assert_int_equal(store_read(f.reader, STORE_EVENTS,
                                &(struct store_filter){.after_id = 2}, note_event, NULL,
                                &f.err),
                     2);
    assert_string_equal(text, "3 job.started 0 - {\"n\":1};4 job.started 9 ann {};");
    text[0] = '\0';
    assert_int_equal(store_read(f.reader, STORE_EVENTS,
                                &(struct store_filter){.limit = 1}, note_event, NULL,
                                &f.err),
                     1);
    assert_string_equal(text, "1 job.started 9 ann {\"n\":1};");
    text[0] = '\0';
    assert_int_equal(store_read(f.reader, STORE_EVENTS,
                                &(struct store_filter){.after_id = UINT64_MAX},
                                note_event, NULL, &f.err),
                     0);
    assert_string_equal(text, "");
    assert_int_equal(store_read_event_span(f.reader, &oldest, &newest, &f.err), 0);
    assert_true(oldest == 1 && newest == 4);
    drop_batch();
}

/* ---- telemetry --------------------------------------------------------------------- */

static int note_measurement(void *ctx, const void *row)
{
    const struct store_measurement *m = row;

    (void)ctx;
    note("%g %g %g %g %s %s %d;", m->at_s, m->rate, m->watts, m->steps,
         or_none(m->device), or_none(m->source), (int)m->windows);
    return 0;
}

CASE(measurements_come_in_order_of_time)
{
    struct store_measurement m = {.job = 1,
                                  .at_s = 20,
                                  .window_s = 5,
                                  .rate = 3,
                                  .watts = NAN,
                                  .steps = 60,
                                  .device = "node-1/0",
                                  .source = "heartbeat",
                                  .confidence = 1};

    store_put(batch, &m);
    m.at_s = 10;
    m.device = NULL;
    m.source = NULL;
    store_put(batch, &m);
    m.at_s = 30;
    store_put(batch, &m);
    m.job = 2;
    store_put(batch, &m);
    commit();
    assert_int_equal(
        store_read(f.reader, STORE_MEASUREMENTS,
                   &(struct store_filter){.job = 1, .from_s = 10, .to_s = 25},
                   note_measurement, NULL, &f.err),
        2);
    assert_string_equal(text, "10 3 nan 60 - - 1;20 3 nan 60 node-1/0 heartbeat 1;");
    drop_batch();
}

CASE(power_is_kept_by_device)
{
    struct store_power power = {
        .device = "a", .at_s = 2, .window_s = 2, .watts = 50, .joules = 100};

    store_put(batch, &power);
    power.device = "b";
    power.modelled = true;
    store_put(batch, &power);
    commit();
    fixture_expect(&f, "power",
                   "{\"id\":1,\"device\":\"a\",\"at_s\":2,\"window_s\":2,\"watts\":50,"
                   "\"joules\":100,\"modelled\":0}\n"
                   "{\"id\":2,\"device\":\"b\",\"at_s\":2,\"window_s\":2,\"watts\":50,"
                   "\"joules\":100,\"modelled\":1}\n");
    drop_batch();
}

/* ---- energy ------------------------------------------------------------------------ */

static void add_energy(double at_s, const char *device, uint64_t job, const char *user,
                       double joules)
{
    struct store_energy energy = {.at_s = at_s,
                                  .device = device,
                                  .job = job,
                                  .user = user,
                                  .joules = joules,
                                  .error_joules = joules / 10,
                                  .busy_s = 1};

    store_put(batch, &energy);
}

static int note_sum(void *ctx, const void *row)
{
    const struct store_energy_sum *sum = row;

    (void)ctx;
    note("%g+%g %d %s %s %g~%g %g;", sum->start_s, sum->span_s, (int)sum->job,
         or_none(sum->user), or_none(sum->device), sum->joules, sum->error_joules,
         sum->busy_s);
    return 0;
}

static void check_energy(enum store_table by, struct store_filter filter,
                         const char *want)
{
    text[0] = '\0';
    assert_true(store_read(f.reader, by, &filter, note_sum, NULL, &f.err) >= 0);
    assert_string_equal(text, want);
}

CASE(energy_adds_up_by_whatever_is_asked)
{
    add_energy(100, "a", 1, "ann", 10);
    add_energy(3599, "a", 1, "ann", 20); /* the same hour */
    add_energy(3600, "a", 2, "ben", 50);
    add_energy(3700, "b", 2, "ben", 40);
    add_energy(90000, "b", 0, NULL, 10);
    commit();
    check_energy(STORE_ENERGY_BY_JOB, (struct store_filter){0},
                 "90000+3600 0 - b 10~1 1;0+3600 1 ann a 30~3 2;3600+3600 2 ben a 50~5 1;"
                 "3600+3600 2 ben b 40~4 1;");
    check_energy(STORE_ENERGY_BY_JOB, (struct store_filter){.user = "ann"},
                 "0+3600 1 ann a 30~3 2;");
    check_energy(STORE_ENERGY_BY_HOUR, (struct store_filter){.job = 2},
                 "3600+3600 0 - - 90~9 2;");
    check_energy(STORE_ENERGY_BY_HOUR, (struct store_filter){.device = "a"},
                 "0+3600 0 - - 30~3 2;3600+3600 0 - - 50~5 1;");
    check_energy(STORE_ENERGY_BY_JOB, (struct store_filter){.from_s = 3600, .to_s = 7200},
                 "3600+3600 2 ben a 50~5 1;3600+3600 2 ben b 40~4 1;");
    check_energy(STORE_ENERGY_BY_JOB, (struct store_filter){.user = "eve"}, "");
    drop_batch();
}

CASE(impossible_energy_is_refused)
{
    add_energy(INFINITY, "a", 0, NULL, 1);
    assert_int_equal(fixture_commit(f.store, batch, &f.err), -1);
    assert_int_equal(f.err.code, ERR_INVALID);
    batch = store_batch_create();
    add_energy(1, "a", 0, NULL, -1);
    assert_int_equal(fixture_commit(f.store, batch, &f.err), -1);
    assert_int_equal(f.err.code, ERR_INVALID);
}

/* ---- access ------------------------------------------------------------------------ */

static int note_token(void *digest, const void *row)
{
    const struct store_token *token = row;

    assert_memory_equal(token->digest, digest, sizeof(token->digest));
    note("%d %d %s %s %g %g;", (int)token->id, (int)token->role, token->user,
         or_none(token->note), token->expires_s, token->revoked_s);
    return 0;
}

CASE(a_token_is_kept_by_its_digest_and_not_in_clear)
{
    struct store_token token = {.id = 1,
                                .role = STORE_OPERATOR,
                                .user = "ann",
                                .uid = 1000,
                                .note = "ci",
                                .created_s = 5,
                                .expires_s = 99};

    store_digest("secret", 6, token.digest);
    assert_int_equal(token.digest[0], 0x2b); /* sha256sum says 2bb80d53... */
    store_put(batch, &token);
    commit();
    assert_int_equal(
        store_read(f.reader, STORE_TOKENS, NULL, note_token, token.digest, &f.err), 1);
    assert_string_equal(text, "1 2 ann ci 99 0;");
    store_put(batch, &(struct store_revocation){1, 50});
    store_put(batch, &(struct store_revocation){1, 60});
    commit();
    text[0] = '\0';
    assert_int_equal(
        store_read(f.reader, STORE_TOKENS, NULL, note_token, token.digest, &f.err), 1);
    assert_string_equal(text, "1 2 ann ci 99 50;");
    store_put(batch, &(struct store_revocation){2, 60});
    assert_int_equal(fixture_commit(f.store, batch, &f.err), -1);
    assert_int_equal(f.err.code, ERR_NOT_FOUND);
}

CASE(the_audit_log_is_exported)
{
    struct store_audit audit = {.at_s = 1,
                                .user = "ann",
                                .from = "unix",
                                .action = "job.cancel",
                                .outcome = "done"};

    store_put(batch, &audit);
    audit.user = NULL;
    audit.outcome = "refused";
    store_put(batch, &audit);
    commit();
    fixture_expect(&f, "audit",
                   "{\"id\":1,\"at_s\":1,\"user\":\"ann\",\"peer\":\"unix\","
                   "\"action\":\"job.cancel\",\"target\":null,\"outcome\":\"done\","
                   "\"note\":null}\n"
                   "{\"id\":2,\"at_s\":1,\"user\":null,\"peer\":\"unix\","
                   "\"action\":\"job.cancel\",\"target\":null,\"outcome\":\"refused\","
                   "\"note\":null}\n");
    drop_batch();
}

/* ---- settings ---------------------------------------------------------------------- */

static int note_setting(void *ctx, const void *row)
{
    const struct store_setting *setting = row;

    (void)ctx;
    note("%s=%s;", setting->name, setting->text);
    return 0;
}

CASE(settings_are_replaced_and_found_by_name)
{
    store_put(batch, &(struct store_setting){"policy", "{}"});
    store_put(batch, &(struct store_setting){"b", "1"});
    store_put(batch, &(struct store_setting){"policy", "{\"x\":1}"});
    commit();
    assert_int_equal(
        store_read(f.reader, STORE_SETTINGS, NULL, note_setting, NULL, &f.err), 2);
    assert_string_equal(text, "b=1;policy={\"x\":1};");
    text[0] = '\0';
    assert_int_equal(store_read(f.reader, STORE_SETTINGS,
                                &(struct store_filter){.name = "policy"}, note_setting,
                                NULL, &f.err),
                     1);
    assert_string_equal(text, "policy={\"x\":1};");
    assert_int_equal(store_read(f.reader, STORE_SETTINGS,
                                &(struct store_filter){.name = "c"}, note_setting, NULL,
                                &f.err),
                     0);
    drop_batch();
}

static int note_operator(void *ctx, const void *row)
{
    const struct store_operator *word = row;

    (void)ctx;
    note("%d %s %d %d %g %s;", (int)word->scope, word->name, word->drained,
         (int)word->power, word->cap_watts, or_none(word->reason));
    return 0;
}

CASE(an_operators_word_stays)
{
    struct store_operator word = {.scope = STORE_DEVICE,
                                  .name = "node-1/0",
                                  .drained = true,
                                  .cap_watts = 150,
                                  .reason = "fan"};

    store_put(batch, &word);
    word = (struct store_operator){
        .scope = STORE_NODE, .name = "node-1", .power = STORE_POWER_OFF};
    store_put(batch, &word);
    word.drained = true;
    store_put(batch, &word);
    commit();
    assert_int_equal(
        store_read(f.reader, STORE_OPERATORS, NULL, note_operator, NULL, &f.err), 2);
    assert_string_equal(text, "1 node-1/0 1 0 150 fan;0 node-1 1 2 0 -;");
    drop_batch();
}

/* ---- checkpoints ------------------------------------------------------------------- */

static void save(int version, size_t count)
{
    unsigned char *bytes = malloc(count);

    for (size_t i = 0; i < count; i++)
        bytes[i] = (unsigned char)(i * 31 + (size_t)version);
    assert_int_equal(store_save_model(f.store, "blend", version, 10 + version, bytes,
                                      count, NULL, NULL, &f.err),
                     0);
    free(bytes);
    store_flush(f.store);
}

CASE(the_newest_checkpoint_comes_back)
{
    struct store_model model = {0};
    const size_t count = 1000003; /* four pieces */

    assert_int_equal(store_load_model(f.reader, "blend", &model, &f.err), -1);
    assert_int_equal(f.err.code, ERR_NOT_FOUND);
    save(1, 17);
    save(2, count);
    assert_int_equal(store_load_model(f.reader, "blend", &model, &f.err), 0);
    assert_int_equal(model.version, 2);
    assert_true(model.at_s == 12);
    assert_int_equal(model.count, count);
    assert_int_equal(model.skipped, 0);
    for (size_t i = 0; i < count; i++)
        assert_int_equal((unsigned char)model.bytes[i], (unsigned char)(i * 31 + 2));
    free(model.bytes);
    drop_batch();
}

static void damage(const char *sql)
{
    sqlite3 *db;

    assert_int_equal(sqlite3_open(f.path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

CASE(a_damaged_checkpoint_is_passed_over)
{
    struct store_model model = {0};

    save(1, 17);
    save(2, 600000);
    save(3, 600000);
    damage("UPDATE model_parts SET bytes = zeroblob(length(bytes))"
           " WHERE model = 3 AND part = 1");
    damage(
        "UPDATE models SET whole = 0 WHERE id = 2"); /* a crash before its last piece */
    assert_int_equal(store_load_model(f.reader, "blend", &model, &f.err), 0);
    assert_int_equal(model.version, 1);
    assert_int_equal(model.skipped, 1);
    free(model.bytes);
    drop_batch();
}

CASE(a_checkpoint_has_a_size)
{
    assert_int_equal(store_save_model(f.store, "blend", 1, 0, "", 0, NULL, NULL, &f.err),
                     -1);
    assert_int_equal(f.err.code, ERR_LIMIT);
    assert_int_equal(store_save_model(f.store, "blend", 1, 0, "",
                                      STORE_MODEL_MAX_BYTES + 1, NULL, NULL, &f.err),
                     -1);
    assert_int_equal(f.err.code, ERR_LIMIT);
    drop_batch();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_client_resumes_after_the_last_event_it_saw),
        TEST(measurements_come_in_order_of_time),
        TEST(power_is_kept_by_device),
        TEST(energy_adds_up_by_whatever_is_asked),
        TEST(impossible_energy_is_refused),
        TEST(a_token_is_kept_by_its_digest_and_not_in_clear),
        TEST(the_audit_log_is_exported),
        TEST(settings_are_replaced_and_found_by_name),
        TEST(an_operators_word_stays),
        TEST(the_newest_checkpoint_comes_back),
        TEST(a_damaged_checkpoint_is_passed_over),
        TEST(a_checkpoint_has_a_size),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
