/* test_report_desk.c - which run may speak for a job, and tokens that only speak for one
 */
#include "service/report_desk.h"

#include "http/auth.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#define RUN_A "0123456789abcdef0123456789abcdef"
#define RUN_B "fedcba9876543210fedcba9876543210"

static struct report_run who(uint64_t job, const char *run, const char *node, int rank)
{
    struct report_run w = {.job = job, .rank = rank};

    snprintf(w.id, sizeof(w.id), "%s", run);
    snprintf(w.node, sizeof(w.node), "%s", node);
    return w;
}

static struct report_run *ask(struct report_desk *desk, uint64_t job, const char *run,
                              const char *node, int rank, double now_s, struct err *err)
{
    const struct report_run w = who(job, run, node, rank);

    return report_desk_run(desk, &w, now_s, err);
}

static void one_run_a_place_speaks_at_a_time(void **state)
{
    struct report_desk *desk = report_desk_create();
    struct err err = {0};
    struct report_run *run = ask(desk, 1, RUN_A, "n1", 0, 100, &err);

    (void)state;
    assert_non_null(run);
    assert_int_equal(run->next, 1);
    run->next = 5;
    assert_int_equal(ask(desk, 1, RUN_A, "n1", 0, 101, &err)->next, 5);
    assert_null(ask(desk, 1, RUN_B, "n1", 0, 102, &err));
    assert_int_equal(err.code, ERR_EXISTS);
    assert_null(ask(desk, 1, RUN_A, "n2", 0, 102, &err)); /* one id, one place */
    assert_non_null(ask(desk, 1, RUN_B, "n2", 0, 102, &err));
    assert_non_null(ask(desk, 2, RUN_A, "n1", 0, 102, &err)); /* another job */
    /* Silent for long, or ended: the next may come. */
    assert_non_null(ask(desk, 1, "00000000000000000000000000000000", "n1", 0,
                        101 + REPORT_SILENT_S, &err));
    ask(desk, 2, RUN_A, "n1", 0, 103, &err)->ended = true;
    assert_non_null(ask(desk, 2, RUN_B, "n1", 0, 104, &err));
    report_desk_destroy(desk);
}

static void a_run_keeps_its_claim_until_another_attempt_runs(void **state)
{
    struct report_desk *desk = report_desk_create();
    struct report_job job = {
        .fenced = true, .runs = true, .here = true, .attempt = 1, .began_s = 100};
    struct report_run *run = ask(desk, 1, RUN_A, "n1", 0, 101, NULL), w;

    (void)state;
    assert_int_equal(report_desk_claim(run, &job, 100), REPORT_HOLDS);
    assert_int_equal(run->attempt, 1);
    job.here = false; /* a gang's other node: what it has, it keeps */
    assert_int_equal(report_desk_claim(run, &job, 100), REPORT_HOLDS);
    job = (struct report_job){.fenced = true, .attempt = 2, .leaving = 1};
    assert_int_equal(report_desk_claim(run, &job, 100), REPORT_HOLDS); /* checkpoints */
    job.leaving = 0; /* it waits: whatever still runs is a copy too many */
    assert_int_equal(report_desk_claim(run, &job, 100), REPORT_LOST);
    job = (struct report_job){.fenced = true, .starts = true, .here = true, .attempt = 2};
    assert_int_equal(report_desk_claim(run, &job, 100), REPORT_LOST);
    /* The next one on the same node need not wait for it. */
    w = who(1, RUN_B, "n1", 0);
    assert_null(report_desk_run(desk, &w, 102, NULL));
    w.attempt = 2;
    run = report_desk_run(desk, &w, 102, NULL);
    assert_non_null(run);
    assert_int_equal(report_desk_claim(run, &job, 101), REPORT_HOLDS);
    job.fenced = false;
    assert_int_equal(report_desk_claim(run, &job, 101), REPORT_FREE);
    report_desk_destroy(desk);
}

static void a_run_that_comes_late_has_no_claim(void **state)
{
    struct report_desk *desk = report_desk_create();
    struct report_job job = {
        .fenced = true, .runs = true, .here = false, .attempt = 2, .began_s = 200};
    struct report_run *run = ask(desk, 1, RUN_A, "n1", 0, 300, NULL);

    (void)state;
    assert_int_equal(report_desk_claim(run, &job, 210), REPORT_LOST); /* elsewhere */
    job.here = true;
    assert_int_equal(report_desk_claim(run, &job, 100), REPORT_LOST); /* before */
    assert_int_equal(report_desk_claim(run, &job, NAN), REPORT_HOLDS);
    report_desk_destroy(desk);
}

static void a_run_from_before_an_attempt_that_starts_is_not_its(void **state)
{
    struct report_desk *desk = report_desk_create();
    struct report_job job = {
        .fenced = true, .starts = true, .here = true, .attempt = 2, .began_s = 200};
    struct report_run *run = ask(desk, 1, RUN_A, "n1", 0, 300, NULL);

    (void)state;
    assert_int_equal(report_desk_claim(run, &job, 100), REPORT_LOST);
    assert_int_equal(report_desk_claim(run, &job, 201), REPORT_HOLDS);
    job.here = false;
    assert_int_equal(report_desk_claim(run, &job, 201), REPORT_LOST);
    assert_int_equal(run->attempt, 0); /* nobody has seen it run */
    report_desk_destroy(desk);
}

static void runs_are_bounded(void **state)
{
    struct report_desk *desk = report_desk_create();
    struct err err = {0};
    char run[API_RUN_BYTES + 1];

    (void)state;
    assert_null(ask(desk, 1, "short", "n1", 0, 1, &err));
    assert_null(ask(desk, 1, "0123456789ABCDEF0123456789abcdef", "n1", 0, 1, &err));
    for (int i = 0; i < REPORT_MAX_RUNS; i++) {
        snprintf(run, sizeof(run), "%032x", i);
        assert_non_null(ask(desk, 1, run, "n1", i, 1, &err));
    }
    assert_null(ask(desk, 1, RUN_A, "n1", 99, 1, &err));
    assert_int_equal(err.code, ERR_LIMIT);
    report_desk_forget(desk, 1);
    assert_non_null(ask(desk, 1, RUN_A, "n1", 99, 1, &err));
    for (int i = 0; i < REPORT_MAX_ALL_RUNS + 10; i++)
        assert_non_null(ask(desk, (uint64_t)i + 2, RUN_A, "n1", 0, 2 + i, &err));
    /* The one that was silent longest has gone: it begins anew. */
    assert_int_equal(ask(desk, 1, RUN_A, "n1", 99, 1e6, &err)->next, 1);
    report_desk_destroy(desk);
}

/* ---- tokens of jobs -----------------------------------------------------------------
 */

static void a_token_is_good_for_its_job_and_time_only(void **state)
{
    unsigned char key[AUTH_KEY_BYTES], other[AUTH_KEY_BYTES];
    char text[AUTH_JOB_TOKEN_SIZE], changed[AUTH_JOB_TOKEN_SIZE + 8];
    uint64_t job = 0;

    (void)state;
    assert_int_equal(auth_key_make(key, NULL), 0);
    assert_int_equal(auth_key_make(other, NULL), 0);
    assert_int_equal(auth_job_token_make(key, 7, 2000, text, NULL), 0);
    assert_true(auth_job_token_check(key, text, 1999, &job));
    assert_int_equal(job, 7);
    assert_false(auth_job_token_check(key, text, 2000, &job));
    assert_false(auth_job_token_check(other, text, 1999, &job));
    /* Every single character counts. */
    for (size_t i = 0; text[i]; i++) {
        memcpy(changed, text, sizeof(text));
        changed[i] = changed[i] == '8' ? '9' : '8';
        assert_false(auth_job_token_check(key, changed, 1, &job));
        memcpy(changed, text, i);
        changed[i] = '\0';
        assert_false(auth_job_token_check(key, changed, 1, &job));
    }
    snprintf(changed, sizeof(changed), "%sA", text);
    assert_false(auth_job_token_check(key, changed, 1, &job));
    assert_int_equal(auth_job_token_make(key, UINT64_MAX, 1e11, text, NULL), 0);
    assert_int_equal(auth_job_token_make(key, UINT64_MAX, 1e300, text, NULL), -1);
}

static void a_bearer_of_a_job_is_its_reporter(void **state)
{
    unsigned char key[AUTH_KEY_BYTES] = {1};
    const struct auth_rules rules = {.job_key = key}, none = {0};
    char text[AUTH_JOB_TOKEN_SIZE], header[AUTH_JOB_TOKEN_SIZE + 16];
    struct auth_identity who_is;

    (void)state;
    assert_int_equal(auth_job_token_make(key, 9, 2000, text, NULL), 0);
    snprintf(header, sizeof(header), "Bearer %s", text);
    assert_true(auth_bearer(&rules, header, 1, &who_is));
    assert_int_equal(who_is.role, AUTH_REPORTER);
    assert_int_equal(who_is.job, 9);
    assert_true(who_is.role < AUTH_VIEWER);
    assert_false(auth_bearer(&rules, header, 2001, &who_is));
    assert_int_equal(who_is.role, AUTH_NOBODY);
    assert_int_equal(who_is.job, 0);
    assert_false(auth_bearer(&none, header, 1, &who_is));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_run_a_place_speaks_at_a_time),
        cmocka_unit_test(a_run_keeps_its_claim_until_another_attempt_runs),
        cmocka_unit_test(a_run_that_comes_late_has_no_claim),
        cmocka_unit_test(a_run_from_before_an_attempt_that_starts_is_not_its),
        cmocka_unit_test(runs_are_bounded),
        cmocka_unit_test(a_token_is_good_for_its_job_and_time_only),
        cmocka_unit_test(a_bearer_of_a_job_is_its_reporter),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
