/* test_record.c - numbers from outside are checked and put in their context */
#include "loop_fixture.h"

#include "loop/record/record.h"

static struct measurement of_job(uint64_t job)
{
    return (struct measurement){
        .job = job, .at_s = 1000, .window_s = 60, .rate = 12, .device_watts = 80};
}

/* Refused, with this code, and the output is left alone. */
static void assert_refused(struct fixture *f, struct measurement m, double stable_since_s,
                           enum err_code code)
{
    struct observation seen = {.rate = -42};
    struct err err = {0};

    assert_int_not_equal(
        record_observe(&m, f->jobs, f->cluster, stable_since_s, &seen, &err),
        RECORD_TAKEN);
    assert_int_equal(err.code, code);
    assert_true(err.text[0]);
    assert_true(seen.rate == -42);
}

static struct observation taken(struct fixture *f, struct measurement m, double stable_s)
{
    struct observation seen = {0};
    struct err err = {0};

    assert_int_equal(record_observe(&m, f->jobs, f->cluster, stable_s, &seen, &err), 0);
    return seen;
}

static void only_running_jobs_can_be_measured(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f);
    jobs_add(f.jobs, &(struct job){.id = 2});
    assert_refused(&f, of_job(1), 0, ERR_NOT_FOUND);
    assert_refused(&f, of_job(2), 0, ERR_NOT_FOUND);
    fixture_fini(&f);
}

static void numbers_no_probe_can_mean_are_refused(void **state)
{
    const double bad_rates[] = {0, -1, NAN, INFINITY, 1e10};
    const double bad_watts[] = {0, -5, INFINITY, 1e6};
    const double bad_windows[] = {0, -60, NAN, INFINITY};
    struct measurement m;
    struct fixture f;

    (void)state;
    fixture_init(&f);
    fixture_running(&f, fixture_job(1, 1), (int[]){0}, 0);
    for (int i = 0; i < 5; i++) {
        m = of_job(1);
        m.rate = bad_rates[i];
        assert_refused(&f, m, 0, ERR_INVALID);
    }
    for (int i = 0; i < 4; i++) {
        m = of_job(1);
        m.device_watts = bad_watts[i];
        assert_refused(&f, m, 0, ERR_INVALID);
        m = of_job(1);
        m.window_s = bad_windows[i];
        assert_refused(&f, m, 0, ERR_INVALID);
    }
    m = of_job(1);
    m.at_s = NAN;
    assert_refused(&f, m, 0, ERR_INVALID);
    fixture_fini(&f);
}

static void a_window_that_straddles_a_change_is_refused(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f);
    fixture_running(&f, fixture_job(1, 1), (int[]){0}, 0);
    assert_refused(&f, of_job(1), 941, ERR_INVALID); /* it began at 940 */
    taken(&f, of_job(1), 940);
    fixture_fini(&f);
}

static void running_out_of_memory_needs_neither_rate_nor_window(void **state)
{
    struct observation seen;
    struct measurement m = of_job(1);
    struct fixture f;

    (void)state;
    fixture_init(&f);
    fixture_running(&f, fixture_job(1, 1), (int[]){0}, 0);
    m.out_of_memory = true;
    m.rate = NAN;
    seen = taken(&f, m, 990);
    assert_true(seen.out_of_memory);
    fixture_fini(&f);
}

static void the_context_is_who_runs_beside_it_under_which_cap(void **state)
{
    struct observation seen;
    struct fixture f;

    (void)state;
    fixture_init(&f);
    fixture_running(&f, fixture_job(1, 1), (int[]){3}, 0);
    fixture_running(&f, fixture_job(2, 1), (int[]){3}, 0);
    fixture_running(&f, fixture_job(3, 1), (int[]){4}, 0);
    f.cluster->devices[3].cap_watts = 250;
    seen = taken(&f, of_job(2), 0);
    assert_int_equal(seen.where.type, FAST);
    assert_int_equal(seen.where.count, 2);
    assert_true(seen.where.cap_watts == 250);
    assert_int_equal(seen.subject, 1);
    assert_int_equal(seen.where.members[0].job->id, 1);
    assert_int_equal(seen.where.members[1].job->id, 2);
    assert_true(seen.rate == 12 && seen.device_watts == 80 && seen.at_s == 1000);
    fixture_fini(&f);
}

static void a_gang_is_seen_on_its_most_crowded_device(void **state)
{
    struct observation seen;
    struct fixture f;

    (void)state;
    fixture_init(&f);
    fixture_running(&f, fixture_job(1, 3), (int[]){0, 1, 6}, 0);
    fixture_running(&f, fixture_job(2, 1), (int[]){6}, 0);
    seen = taken(&f, of_job(1), 0);
    assert_int_equal(seen.where.count, 2);
    assert_int_equal(seen.where.members[seen.subject].job->id, 1);
    assert_int_equal(seen.where.members[0].nodes, 2);
    assert_int_equal(seen.where.members[1].nodes, 1);
    fixture_fini(&f);
}

static void longer_windows_are_less_noisy_down_to_a_floor(void **state)
{
    struct measurement m = of_job(1);
    double minute, hour;
    struct fixture f;

    (void)state;
    fixture_init(&f);
    fixture_running(&f, fixture_job(1, 1), (int[]){0}, -1e9);
    minute = taken(&f, m, -1e9).rate_sd_log;
    m.window_s = 3600;
    hour = taken(&f, m, -1e9).rate_sd_log;
    m.window_s = 3.6e8;
    assert_true(minute > 0.03 && hour < minute && hour > 0);
    assert_true(taken(&f, m, -1e9).rate_sd_log > 0.005);
    fixture_fini(&f);
}

/* 5 % for a minute, half of that for four, and 1 % that no length cures. */
static void noise_falls_with_the_root_of_the_window(void **state)
{
    struct measurement m = of_job(1);
    struct fixture f;

    (void)state;
    fixture_init(&f);
    fixture_running(&f, fixture_job(1, 1), (int[]){0}, -1e9);
    assert_close(taken(&f, m, -1e9).rate_sd_log, 0.06, 1e-12);
    m.window_s = 240;
    assert_close(taken(&f, m, -1e9).rate_sd_log, 0.035, 1e-12);
    fixture_fini(&f);
}

static void small_numbers_and_the_largest_are_fine(void **state)
{
    struct measurement m = of_job(1);
    struct fixture f;

    (void)state;
    fixture_init(&f);
    fixture_running(&f, fixture_job(1, 1), (int[]){0}, -1e9);
    m.window_s = m.rate = m.device_watts = 0.5;
    assert_true(taken(&f, m, -1e9).rate == 0.5);
    m.rate = 1e9;
    m.device_watts = 1e5;
    assert_true(taken(&f, m, -1e9).device_watts == 1e5);
    m.device_watts = 1e5 + 1;
    assert_refused(&f, m, -1e9, ERR_INVALID);
    m.device_watts = NAN;
    m.rate = 1e9 + 1;
    assert_refused(&f, m, -1e9, ERR_INVALID);
    fixture_fini(&f);
}

static void a_source_that_doubts_itself_teaches_nothing(void **state)
{
    struct measurement m = of_job(1);
    struct observation seen;
    struct err err = {0};
    struct fixture f;

    (void)state;
    fixture_init(&f);
    fixture_running(&f, fixture_job(1, 1), (int[]){0}, -1e9);
    m.doubt = 0.7;
    taken(&f, m, -1e9);
    m.doubt = 0.71;
    assert_refused(&f, m, -1e9, ERR_INVALID);
    assert_int_equal(record_observe(&m, f.jobs, f.cluster, 0, &seen, &err),
                     RECORD_DOUBTED);
    assert_non_null(strstr(err.text, "sure"));
    fixture_fini(&f);
}

static void refusals_have_names(void **state)
{
    (void)state;
    assert_string_equal(record_refusal_name(RECORD_NOT_RUNNING), "not_running");
    assert_string_equal(record_refusal_name(RECORD_NUMBERS), "numbers");
    assert_string_equal(record_refusal_name(RECORD_STRADDLES), "straddles");
    assert_string_equal(record_refusal_name(RECORD_DOUBTED), "doubted");
}

/* Of 60 s: a step takes some work on any device. */
static void more_steps_than_the_work_seen_are_refused(void **state)
{
    struct measurement m = of_job(1);
    struct observation seen;
    struct fixture f;

    (void)state;
    fixture_init(&f);
    fixture_running(&f, fixture_job(1, 1), (int[]){0}, 0);
    m.rate = 5e8;
    taken(&f, m, 0); /* nobody looked */
    m.worked_s = 30;
    assert_int_equal(record_observe(&m, f.jobs, f.cluster, 0, &seen, NULL),
                     RECORD_CONTRADICTED);
    m.rate = 1e6;
    taken(&f, m, 0);
    m.worked_s = 1e-9; /* it slept */
    assert_int_equal(record_observe(&m, f.jobs, f.cluster, 0, &seen, NULL),
                     RECORD_CONTRADICTED);
    m.rate = 50;
    taken(&f, m, 0); /* a tick is not seen */
    fixture_fini(&f);
}

static enum record_refusal own_word(double at_s, double window_s, double told_s,
                                    bool measured)
{
    struct measurement m = {.job = 1, .at_s = at_s, .window_s = window_s, .rate = 5};
    struct record_attempt attempt = {
        .began_s = 1000, .now_s = 2000, .told_s = told_s, .measured = measured};
    struct err err = {0};
    enum record_refusal refusal = record_own_word(&m, &attempt, &err);

    assert_true((refusal == RECORD_TAKEN) == (err.text[0] == 0));
    return refusal;
}

static void a_job_tells_of_its_own_time_once(void **state)
{
    (void)state;
    assert_int_equal(own_word(1500, 60, NAN, false), RECORD_TAKEN);
    assert_int_equal(own_word(1500, 60, 1440, false), RECORD_TAKEN);
    assert_int_equal(own_word(1500, 60, 1441, false), RECORD_OVERLAPS);
    assert_int_equal(own_word(1500, 60, 1500, false), RECORD_OVERLAPS);
    assert_int_equal(own_word(1030, 60, NAN, false), RECORD_OUTSIDE);
    assert_int_equal(own_word(2100, 60, NAN, false), RECORD_OUTSIDE);
    assert_int_equal(own_word(NAN, 60, NAN, false), RECORD_OUTSIDE);
    assert_int_equal(own_word(1500, 60, NAN, true), RECORD_ENGINE_MEASURES);
    assert_false(record_refusal_is_false(RECORD_STRADDLES));
    assert_true(record_refusal_is_false(RECORD_OVERLAPS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_running_jobs_can_be_measured),
        cmocka_unit_test(numbers_no_probe_can_mean_are_refused),
        cmocka_unit_test(a_window_that_straddles_a_change_is_refused),
        cmocka_unit_test(running_out_of_memory_needs_neither_rate_nor_window),
        cmocka_unit_test(the_context_is_who_runs_beside_it_under_which_cap),
        cmocka_unit_test(a_gang_is_seen_on_its_most_crowded_device),
        cmocka_unit_test(longer_windows_are_less_noisy_down_to_a_floor),
        cmocka_unit_test(noise_falls_with_the_root_of_the_window),
        cmocka_unit_test(small_numbers_and_the_largest_are_fine),
        cmocka_unit_test(a_source_that_doubts_itself_teaches_nothing),
        cmocka_unit_test(refusals_have_names),
        cmocka_unit_test(more_steps_than_the_work_seen_are_refused),
        cmocka_unit_test(a_job_tells_of_its_own_time_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
