/* test_store_jobs.c - jobs and their history come back as they were put in */
#include "fixture/store.h"
#include "support/test.h"

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

static void assert_words(const char *const *got, const char *const *want)
{
    for (; *want; got++, want++)
        assert_string_equal(*got, *want);
    assert_null(*got);
}

static void assert_same_request(const struct store_request *got,
                                const struct store_request *want)
{
    assert_string_equal(got->job.name, want->job.name);
    assert_int_equal(got->job.owner, want->job.owner);
    assert_int_equal(got->job.kind, want->job.kind);
    assert_memory_equal(&got->job.descriptor, &want->job.descriptor,
                        sizeof(want->job.descriptor));
    assert_int_equal(got->job.need.kind, want->job.need.kind);
    assert_true(got->job.need.rate == want->job.need.rate);
    assert_true(got->job.need.latency_s == want->job.need.latency_s);
    assert_true(got->job.need.deadline_s == want->job.need.deadline_s);
    assert_true(got->job.need.confidence == want->job.need.confidence);
    assert_true(got->job.submitted_s == want->job.submitted_s);
    assert_true(got->job.total_steps == want->job.total_steps);
    assert_true(got->job.duration_s == want->job.duration_s);
    assert_int_equal(got->job.devices, want->job.devices);
    assert_true(got->job.memory_gb == want->job.memory_gb);
    assert_int_equal(got->job.priority, want->job.priority);
    assert_int_equal(got->job.may_share, want->job.may_share);
    assert_int_equal(got->job.may_move, want->job.may_move);
    assert_string_equal(got->types, want->types);
    assert_string_equal(got->user, want->user);
    assert_int_equal(got->uid, want->uid);
    assert_int_equal(got->gid, want->gid);
    assert_string_equal(got->directory, want->directory);
    assert_words(got->argv, want->argv);
    assert_words(got->env, want->env);
    assert_null(got->output);
    assert_string_equal(got->metrics_url, want->metrics_url);
    assert_null(got->metrics_counter);
    assert_null(got->progress_file);
    assert_true(got->stop_grace_s == want->stop_grace_s);
    assert_int_equal(got->checkpoint_signal, want->checkpoint_signal);
    assert_string_equal(got->extra, want->extra);
}

CASE(a_job_comes_back_whole)
{
    struct store_request r = fixture_request(7);
    struct store_job *job = NULL;

    r.job.need = (struct requirement){
        .kind = NEED_DEADLINE, .deadline_s = 12345.678, .confidence = 0.95};
    r.job.kind = JOB_INFERENCE;
    r.job.duration_s = 1e9 / 3;
    r.uid = 4294967294u;
    assert_int_equal(fixture_commit(f.store, fixture_submission(&r), &f.err), 0);
    assert_int_equal(store_read_job(f.reader, 7, &job, &f.err), 0);
    assert_same_request(&job->request, &r);
    assert_int_equal(job->progress.state, JOB_WAITING);
    assert_true(isnan(job->progress.started_s));
    assert_int_equal(job->progress.exit_status, -1);
    assert_string_equal(job->progress.devices, "");
    assert_null(job->progress.reason);
    store_job_destroy(job);
}

CASE(a_job_without_command_comes_back_without)
{
    struct store_request r = fixture_request(1);
    static const char *const nothing[] = {NULL};
    struct store_job *job = NULL;

    r.argv = NULL;
    r.env = nothing;
    assert_int_equal(fixture_commit(f.store, fixture_submission(&r), &f.err), 0);
    assert_int_equal(store_read_job(f.reader, 1, &job, &f.err), 0);
    assert_null(job->request.argv);
    assert_non_null(job->request.env);
    assert_null(job->request.env[0]);
    store_job_destroy(job);
}

CASE(an_unknown_job_is_not_found)
{
    struct store_batch *batch = store_batch_create();
    struct store_progress p = fixture_progress(JOB_RUNNING);
    struct store_job *job = NULL;

    assert_int_equal(store_read_job(f.reader, 5, &job, &f.err), -1);
    assert_int_equal(f.err.code, ERR_NOT_FOUND);
    assert_null(job);
    p.job = 5;
    store_put(batch, &p);
    assert_int_equal(fixture_commit(f.store, batch, &f.err), -1);
    assert_int_equal(f.err.code, ERR_NOT_FOUND);
}

CASE(an_id_is_stored_once)
{
    assert_int_equal(fixture_submit(&f, 3), 0);
    assert_int_equal(fixture_submit(&f, 3), -1);
    assert_int_equal(f.err.code, ERR_EXISTS);
}

CASE(a_key_is_one_job_for_each_user)
{
    struct store_request r = fixture_request(1);
    struct store_job *job = NULL;

    r.key = "once";
    memset(r.digest, 7, sizeof(r.digest));
    assert_int_equal(fixture_commit(f.store, fixture_submission(&r), &f.err), 0);
    r.job.id = 2;
    assert_int_equal(fixture_commit(f.store, fixture_submission(&r), &f.err), -1);
    assert_int_equal(f.err.code, ERR_EXISTS);
    r.user = "ben";
    assert_int_equal(fixture_commit(f.store, fixture_submission(&r), &f.err), 0);
    assert_int_equal(store_find_job(f.reader, "ann", "once", &job, &f.err), 0);
    assert_int_equal(job->request.job.id, 1);
    assert_string_equal(job->request.key, "once");
    assert_memory_equal(job->request.digest, r.digest, sizeof(r.digest));
    store_job_destroy(job);
    assert_int_equal(store_find_job(f.reader, "eve", "once", &job, &f.err), -1);
    assert_int_equal(f.err.code, ERR_NOT_FOUND);
}

CASE(an_update_changes_the_request_only)
{
    struct store_request r = fixture_request(1);
    struct store_batch *batch = store_batch_create();
    struct store_job *job = NULL;

    r.key = "k";
    assert_int_equal(fixture_commit(f.store, fixture_submission(&r), &f.err), 0);
    assert_int_equal(fixture_move(&f, 1, JOB_RUNNING, 1100), 0);
    r.job.need.rate = 55;
    r.job.priority = 9;
    store_put(batch, &r);
    assert_int_equal(fixture_commit(f.store, batch, &f.err), 0);
    assert_int_equal(store_read_job(f.reader, 1, &job, &f.err), 0);
    assert_same_request(&job->request, &r);
    assert_string_equal(job->request.key, "k");
    assert_int_equal(job->progress.state, JOB_RUNNING);
    assert_string_equal(job->progress.devices, "node-1/0");
    assert_true(job->progress.started_s == 1100);
    store_job_destroy(job);
}

CASE(a_batch_is_stored_whole_or_not_at_all)
{
    struct store_request good = fixture_request(1), bad = fixture_request(2);
    struct store_batch *batch = fixture_submission(&good);
    struct store_progress p = fixture_progress(JOB_WAITING);
    struct store_job *job = NULL;

    bad.job.need.rate = NAN; /* no number: the schema refuses it */
    store_put(batch, &(struct store_job){bad, p});
    assert_int_equal(fixture_commit(f.store, batch, &f.err), -1);
    assert_int_equal(f.err.code, ERR_INVALID);
    assert_non_null(strstr(f.err.text, "jobs.rate"));
    assert_int_equal(store_read_job(f.reader, 1, &job, &f.err), -1);
    assert_int_equal(f.err.code, ERR_NOT_FOUND);
}

CASE(history_without_its_job_is_refused)
{
    struct store_batch *batch = store_batch_create();
    struct store_transition t = {.job = 99, .to = JOB_DONE, .what = "done"};

    store_put(batch, &t);
    assert_int_equal(fixture_commit(f.store, batch, &f.err), -1);
    assert_int_equal(f.err.code, ERR_NOT_FOUND);
}

/* ---- lists ------------------------------------------------------------------------- */

struct ids {
    uint64_t list[16];
    int count;
    int stop_at;
};

static int collect(void *ctx, const void *row)
{
    const struct store_job *job = row;
    struct ids *ids = ctx;

    ids->list[ids->count++] = job->request.job.id;
    return ids->count == ids->stop_at;
}

static void assert_ids(const struct ids *ids, const uint64_t *want, int count)
{
    assert_int_equal(ids->count, count);
    for (int i = 0; i < count; i++)
        assert_int_equal(ids->list[i], want[i]);
}

/* Jobs 1..6, the even ones ben's; 1 done, 2 failed, 3 runs. */
static void make_six(void)
{
    for (uint64_t id = 1; id <= 6; id++) {
        struct store_request r = fixture_request(id);

        r.user = id % 2 ? "ann" : "ben";
        assert_int_equal(fixture_commit(f.store, fixture_submission(&r), &f.err), 0);
    }
    assert_int_equal(fixture_move(&f, 1, JOB_DONE, 2000), 0);
    assert_int_equal(fixture_move(&f, 2, JOB_FAILED, 2000), 0);
    assert_int_equal(fixture_move(&f, 3, JOB_RUNNING, 2000), 0);
}

CASE(live_jobs_are_those_that_did_not_end)
{
    struct ids ids = {0};

    make_six();
    assert_int_equal(store_read(f.reader, STORE_LIVE_JOBS, NULL, collect, &ids, &f.err),
                     4);
    assert_ids(&ids, (uint64_t[]){3, 4, 5, 6}, 4);
}

static int note_count(void *ctx, const void *row)
{
    const struct store_state_count *jobs = row;

    ((int *)ctx)[jobs->state] = (int)jobs->count;
    return 0;
}

CASE(jobs_are_counted_by_their_state)
{
    int counts[JOB_CANCELLED + 1] = {0};

    make_six();
    assert_int_equal(
        store_read(f.reader, STORE_STATE_COUNTS, NULL, note_count, counts, &f.err), 4);
    assert_int_equal(counts[JOB_WAITING], 3);
    assert_int_equal(counts[JOB_RUNNING], 1);
    assert_int_equal(counts[JOB_DONE], 1);
    assert_int_equal(counts[JOB_FAILED], 1);
    assert_int_equal(counts[JOB_CANCELLED], 0);
}

static void check_filter(struct store_filter filter, const uint64_t *want, int count)
{
    struct ids ids = {0};

    assert_int_equal(store_read(f.reader, STORE_JOBS, &filter, collect, &ids, &f.err),
                     count);
    assert_ids(&ids, want, count);
}

CASE(filters_and_pages_newest_first)
{
    unsigned ended = 1u << JOB_DONE | 1u << JOB_FAILED | 1u << JOB_CANCELLED;

    make_six();
    check_filter((struct store_filter){0}, (uint64_t[]){6, 5, 4, 3, 2, 1}, 6);
    check_filter((struct store_filter){.limit = 2}, (uint64_t[]){6, 5}, 2);
    check_filter((struct store_filter){.limit = 2, .before_id = 5}, (uint64_t[]){4, 3},
                 2);
    check_filter((struct store_filter){.user = "ben"}, (uint64_t[]){6, 4, 2}, 3);
    check_filter((struct store_filter){.states = ended}, (uint64_t[]){2, 1}, 2);
    check_filter((struct store_filter){.user = "ann", .states = ended}, (uint64_t[]){1},
                 1);
    check_filter((struct store_filter){.name = "job 4"}, (uint64_t[]){4}, 1);
    check_filter((struct store_filter){.from_s = 1005}, (uint64_t[]){6, 5}, 2);
    check_filter((struct store_filter){.to_s = 1001}, (uint64_t[]){1}, 1);
    check_filter((struct store_filter){.user = "x' OR 1=1 --"}, NULL, 0);
}

CASE(a_reader_may_stop_early)
{
    struct ids ids = {.stop_at = 2};
    struct store_filter all = {0};

    make_six();
    assert_int_equal(store_read(f.reader, STORE_JOBS, &all, collect, &ids, &f.err), 2);
    assert_int_equal(ids.count, 2);
}

/* ---- history ----------------------------------------------------------------------- */

static int log_transition(void *ctx, const void *row)
{
    const struct store_transition *t = row;

    snprintf((char *)ctx + strlen(ctx), 200, "%s%g %d>%d %s;",
             t->from == STORE_NO_STATE ? "first " : "", t->at_s, t->from, (int)t->to,
             t->what);
    return 0;
}

CASE(transitions_keep_their_order)
{
    char text[600] = "";

    make_six();
    assert_int_equal(fixture_move(&f, 3, JOB_DONE, 1500), 0);
    assert_int_equal(store_read(f.reader, STORE_TRANSITIONS,
                                &(struct store_filter){.job = 3}, log_transition, text,
                                &f.err),
                     3);
    assert_string_equal(text, "first 1003 -1>0 submitted;2000 0>1 moved;1500 1>2 moved;");
}

static int keep_decision(void *ctx, const void *row)
{
    const struct store_decision *d = row;

    snprintf((char *)ctx + strlen(ctx), 200, "%d:%d %s %s %s;", (int)d->id, (int)d->job,
             d->what, d->devices, d->alternatives);
    assert_true(isnan(d->rate));
    return 0;
}

CASE(the_ledger_tells_what_was_decided)
{
    struct store_batch *batch = store_batch_create();
    struct store_decision d = {.id = 11,
                               .job = 1,
                               .at_s = 5,
                               .round = 3,
                               .what = "start",
                               .devices = "node-1/0",
                               .rate = NAN,
                               .joules = 100,
                               .alternatives = "[{\"joules\":120}]"};
    struct store_filter filter = {.limit = 5};
    char text[600] = "";

    assert_int_equal(fixture_submit(&f, 1), 0);
    assert_int_equal(fixture_submit(&f, 2), 0);
    store_put(batch, &d);
    d.id = 12;
    d.job = 2;
    d.at_s = 6;
    store_put(batch, &d);
    assert_int_equal(fixture_commit(f.store, batch, &f.err), 0);
    assert_int_equal(
        store_read(f.reader, STORE_DECISIONS, &filter, keep_decision, text, &f.err), 2);
    assert_string_equal(text, "12:2 start node-1/0 [{\"joules\":120}];"
                              "11:1 start node-1/0 [{\"joules\":120}];");
    text[0] = '\0';
    filter.job = 1;
    assert_int_equal(
        store_read(f.reader, STORE_DECISIONS, &filter, keep_decision, text, &f.err), 1);
    assert_string_equal(text, "11:1 start node-1/0 [{\"joules\":120}];");
}

CASE(broken_json_is_refused)
{
    struct store_batch *batch = store_batch_create();
    struct store_decision d = {.id = 1, .job = 1, .what = "x", .alternatives = "[oops"};

    assert_int_equal(fixture_submit(&f, 1), 0);
    store_put(batch, &d);
    assert_int_equal(fixture_commit(f.store, batch, &f.err), -1);
    assert_int_equal(f.err.code, ERR_INVALID);
}

static int keep_quote(void *ctx, const void *row)
{
    const struct store_quote *quote = row;

    *(struct store_quote *)ctx = *quote;
    assert_string_equal(quote->verdict, "accepted");
    assert_string_equal(quote->user, "ann");
    assert_string_equal(quote->neighbour, "job 2");
    assert_null(quote->devices);
    return 0;
}

CASE(a_quote_is_found_by_its_job_and_by_its_number)
{
    struct store_batch *batch = store_batch_create();
    struct store_quote quote = {.id = 4,
                                .job = 1,
                                .user = "ann",
                                .verdict = "accepted",
                                .rate = 42,
                                .joules = 9,
                                .joules_low = 8,
                                .joules_high = NAN,
                                .neighbour = "job 2"};
    struct store_quote got = {0};

    assert_int_equal(fixture_submit(&f, 1), 0);
    store_put(batch, &quote);
    quote.id = 5;
    quote.job = 0; /* only asked */
    store_put(batch, &quote);
    assert_int_equal(fixture_commit(f.store, batch, &f.err), 0);
    assert_int_equal(store_read(f.reader, STORE_QUOTES, &(struct store_filter){.job = 1},
                                keep_quote, &got, &f.err),
                     1);
    assert_int_equal(got.id, 4);
    assert_true(got.rate == 42 && got.joules_low == 8 && isnan(got.joules_high));
    fixture_expect(&f, "quotes",
                   "{\"id\":4,\"job\":1,\"user\":\"ann\",\"at_s\":0,"
                   "\"verdict\":\"accepted\",\"rate\":42,\"confidence\":0,\"joules\":9,"
                   "\"joules_low\":8,\"joules_high\":null,\"start_s\":0,"
                   "\"valid_until_s\":0,\"devices\":null,\"neighbour\":\"job 2\","
                   "\"detail\":null}\n"
                   "{\"id\":5,\"job\":null,\"user\":\"ann\",\"at_s\":0,"
                   "\"verdict\":\"accepted\",\"rate\":42,\"confidence\":0,\"joules\":9,"
                   "\"joules_low\":8,\"joules_high\":null,\"start_s\":0,"
                   "\"valid_until_s\":0,\"devices\":null,\"neighbour\":\"job 2\","
                   "\"detail\":null}\n");
}

CASE(the_guard_is_remembered)
{
    struct store_batch *batch = store_batch_create();
    struct store_guard guard = {.job = 1,
                                .at_s = 10,
                                .kind = "rate",
                                .promised = 40,
                                .measured = 30,
                                .window_s = 60,
                                .action = "lift_cap"};

    assert_int_equal(fixture_submit(&f, 1), 0);
    store_put(batch, &guard);
    assert_int_equal(fixture_commit(f.store, batch, &f.err), 0);
    fixture_expect(&f, "guard_events",
                   "{\"id\":1,\"job\":1,\"at_s\":10,\"kind\":\"rate\",\"promised\":40,"
                   "\"measured\":30,\"window_s\":60,\"device\":null,"
                   "\"action\":\"lift_cap\",\"reason\":null}\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_job_comes_back_whole),
        TEST(a_job_without_command_comes_back_without),
        TEST(an_unknown_job_is_not_found),
        TEST(an_id_is_stored_once),
        TEST(a_key_is_one_job_for_each_user),
        TEST(an_update_changes_the_request_only),
        TEST(a_batch_is_stored_whole_or_not_at_all),
        TEST(history_without_its_job_is_refused),
        TEST(live_jobs_are_those_that_did_not_end),
        TEST(jobs_are_counted_by_their_state),
        TEST(filters_and_pages_newest_first),
        TEST(a_reader_may_stop_early),
        TEST(transitions_keep_their_order),
        TEST(the_ledger_tells_what_was_decided),
        TEST(broken_json_is_refused),
        TEST(a_quote_is_found_by_its_job_and_by_its_number),
        TEST(the_guard_is_remembered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
