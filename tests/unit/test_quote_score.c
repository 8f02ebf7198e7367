/* test_quote_score.c - what was quoted against what came */
#include "loop/record/quote_score.h"

#include "loop/estimate/predict.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define SD 0.2

/* A job quoted 10 a second on device 3 at 100 s, and its neighbour. */
struct fixture {
    struct quote_score score;
    struct job_status job;
    struct job other;
};

static struct fixture quoted(void)
{
    struct fixture f = {.job = {.job = {.id = 7, .kind = JOB_TRAINING},
                                .device_count = 1,
                                .devices = {3}},
                        .other = {.id = 8}};

    f.job.quoted = (struct quote_kept){
        .given = true,
        .asked_s = 100,
        .start_s = 100,
        .rate = estimate_from_log(log(10), SD, ESTIMATE_CORRELATED, 3),
        .watts = 50,
        .device_count = 1,
        .devices = {3}};
    return f;
}

static struct observation window(const struct fixture *f, double rate)
{
    return (struct observation){.where = {.count = 1, .members = {{.job = &f->job.job}}},
                                .rate = rate,
                                .device_watts = 50};
}

static void measure(struct fixture *f, const struct observation *seen)
{
    quote_score_measured(&f->score, &f->job, seen);
}

/* Which of the three rates a first window of this many sd above the median keeps. */
static int kept_at(double deviation)
{
    struct fixture f = quoted();
    struct observation seen = window(&f, 10 * exp(SD * deviation));
    const struct quote_windows *w = &f.score.windows[ESTIMATE_CORRELATED][0][0];

    quote_score_started(&f.score, &f.job, 100);
    measure(&f, &seen);
    assert_int_equal(w->measured, 1);
    assert_int_equal(quote_score_windows(&f.score).measured, 1);
    return (int)(100 * w->kept[0] + 10 * w->kept[1] + w->kept[2]);
}

static void a_first_window_keeps_the_rates_it_is_not_below(void **state)
{
    (void)state;
    assert_int_equal(kept_at(0.1), 111);
    assert_int_equal(kept_at(-0.1), 11);
    assert_int_equal(kept_at(-0.8), 11); /* 20 % are below -0.84 */
    assert_int_equal(kept_at(-0.9), 1);
    assert_int_equal(kept_at(-1.6), 1); /* 5 % are below -1.645 */
    assert_int_equal(kept_at(-1.7), 0);
}

static void only_the_first_window_counts(void **state)
{
    struct fixture f = quoted();
    struct observation good = window(&f, 11), bad = window(&f, 1);

    (void)state;
    measure(&f, &good);
    assert_int_equal(quote_score_windows(&f.score).measured, 0); /* it has not begun */
    quote_score_started(&f.score, &f.job, 100);
    measure(&f, &good);
    measure(&f, &bad);
    assert_int_equal(quote_score_windows(&f.score).measured, 1);
    assert_int_equal(quote_score_windows(&f.score).kept[0], 1);
    assert_int_equal(f.score.covered, 1);
    assert_int_equal(f.score.energies, 1);
}

static void what_was_not_quoted_is_not_judged(void **state)
{
    struct fixture f = quoted();
    struct observation capped = window(&f, 5), shared = window(&f, 5),
                       usual = window(&f, 12);

    (void)state;
    quote_score_started(&f.score, &f.job, 100);
    assert_int_equal(f.score.at_place, 1);
    capped.where.cap_watts = 40;
    shared.where.count = 2;
    shared.where.members[1].job = &f.other;
    measure(&f, &capped);
    measure(&f, &shared);
    assert_int_equal(quote_score_windows(&f.score).measured, 0);
    measure(&f, &usual);
    assert_int_equal(quote_score_windows(&f.score).measured, 1);
}

static void the_neighbour_must_be_the_one_that_was_named(void **state)
{
    struct fixture f = quoted();
    struct observation seen = window(&f, 12);

    (void)state;
    f.job.quoted.neighbour = 9;
    quote_score_started(&f.score, &f.job, 100);
    seen.where.count = 2;
    seen.where.members[1].job = &f.other;
    measure(&f, &seen);
    assert_int_equal(quote_score_windows(&f.score).measured, 0);
    f.job.quoted.neighbour = 8;
    measure(&f, &seen);
    assert_int_equal(f.score.windows[ESTIMATE_CORRELATED][1][0].measured, 1);
}

static void another_place_or_a_later_time_is_not_the_quoted_place(void **state)
{
    struct fixture elsewhere = quoted(), later = quoted(), none = quoted();
    struct observation seen = window(&elsewhere, 12);

    (void)state;
    elsewhere.job.devices[0] = 4;
    quote_score_started(&elsewhere.score, &elsewhere.job, 100);
    measure(&elsewhere, &seen);
    assert_int_equal(elsewhere.score.started_at_once, 1);
    assert_int_equal(elsewhere.score.at_place, 0);
    quote_score_started(&later.score, &later.job, 200);
    measure(&later, &seen);
    assert_int_equal(later.score.started_at_once, 0);
    none.job.quoted.given = false;
    quote_score_started(&none.score, &none.job, 100);
    measure(&none, &seen);
    assert_int_equal(none.score.started_at_once, 0);
    assert_int_equal(quote_score_windows(&elsewhere.score).measured +
                         quote_score_windows(&later.score).measured +
                         quote_score_windows(&none.score).measured,
                     0);
}

/* Of a job that was to wait from 100 s on until this time, and started then. */
static void waited(struct quote_score *score, double told_s, double started_s)
{
    struct fixture f = quoted();

    f.job.quoted.device_count = 0;
    f.job.quoted.start_s = told_s;
    quote_score_started(score, &f.job, started_s);
    quote_score_started(score, &f.job, started_s + 1000); /* again, after a failure */
}

static void starts_are_told_well_within_a_fifth_of_the_wait_or_30_s(void **state)
{
    struct quote_score score = {0};

    (void)state;
    assert_true(isnan(quote_score_start_median(&score)));
    waited(&score, 1250, 1100); /* 150 of 1000 */
    waited(&score, 850, 1100);  /* 250 */
    waited(&score, 129, 101);   /* 28 s */
    waited(&score, 132, 101);   /* 31 s */
    waited(&score, NAN, 500);
    assert_int_equal(score.starts, 4);
    assert_int_equal(score.starts_good, 2);
    assert_int_equal(score.starts_unknown, 1);
    /* 0.15, 0.25, 0.187 and 0.207, counted in steps of 0.05 */
    assert_true(fabs(quote_score_start_median(&score) - 0.2) < 1e-9);
    for (int i = 0; i < 4; i++)
        waited(&score, 1e6, 1100);
    assert_true(quote_score_start_median(&score) > 0.25);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_first_window_keeps_the_rates_it_is_not_below),
        cmocka_unit_test(only_the_first_window_counts),
        cmocka_unit_test(what_was_not_quoted_is_not_judged),
        cmocka_unit_test(the_neighbour_must_be_the_one_that_was_named),
        cmocka_unit_test(another_place_or_a_later_time_is_not_the_quoted_place),
        cmocka_unit_test(starts_are_told_well_within_a_fifth_of_the_wait_or_30_s),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
