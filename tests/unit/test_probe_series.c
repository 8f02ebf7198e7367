/* test_probe_series.c - rates from counts and stated rates, however they arrive */
#include "probe/tracks.h"
#include "support/test.h"

#include <math.h>

#define WINDOW 10.0

static void assert_near(double found, double wanted)
{
    if (!(fabs(found / wanted - 1) <= 0.02))
        fail_msg("%g is not within 2 %% of %g", found, wanted);
}

static struct rate_series fresh(void)
{
    struct rate_series s;

    rate_series_init(&s, WINDOW);
    return s;
}

static double rate_at(const struct rate_series *s, double now_s)
{
    struct rate_series_rate r;

    return rate_series_rate(s, now_s, WINDOW, &r) ? r.rate : NAN;
}

CASE(one_count_is_no_rate)
{
    struct rate_series s = fresh();

    assert_true(isnan(rate_at(&s, 5)));
    rate_series_count(&s, 1, 100, NAN);
    assert_true(isnan(rate_at(&s, 5)));
}

CASE(a_steady_count_gives_its_rate)
{
    struct rate_series s = fresh();

    for (int i = 0; i < 1000; i++)
        rate_series_count(&s, i * 0.02, i, NAN);
    assert_near(rate_at(&s, 20), 50);
}

CASE(the_rate_is_that_of_the_window_not_of_the_run)
{
    struct rate_series s = fresh();

    for (int i = 0; i < 100; i++)
        rate_series_count(&s, i, i * 10, NAN);
    for (int i = 0; i < 20; i++)
        rate_series_count(&s, 100 + i, 1000 + i * 30, NAN);
    assert_near(rate_at(&s, 119), 30);
    assert_near(rate_series_overall(&s), (1000 + 570) / 119.0);
}

CASE(bursts_longer_than_the_window_apart_give_the_mean)
{
    struct rate_series s = fresh();

    for (int burst = 1; burst <= 6; burst++)
        for (int j = 0; j < 100; j++)
            rate_series_count(&s, burst * 25 + j * 1e-4, (burst - 1) * 100 + j + 1, NAN);
    assert_near(rate_at(&s, 155), 4);
}

CASE(a_count_that_stands_still_pulls_the_rate_down)
{
    struct rate_series s = fresh();

    for (int i = 0; i <= 100; i++)
        rate_series_count(&s, i * 0.1, i, NAN);
    assert_near(rate_at(&s, 10.5), 10);
    assert_true(rate_at(&s, 40) < 1);
    assert_true(rate_at(&s, 400) < 0.1);
}

CASE(slow_counts_are_not_rounded_to_the_window)
{
    struct rate_series s = fresh();

    for (int i = 0; i <= 200; i++) /* one step in 8 s, said every second */
        rate_series_count(&s, i, i / 8, NAN);
    for (double now = 195; now < 205; now += 1)
        assert_near(rate_at(&s, now), 0.125);
}

CASE(a_count_that_begins_again_goes_on)
{
    struct rate_series s = fresh();

    for (int epoch = 0; epoch < 3; epoch++)
        for (int i = 1; i <= 50; i++)
            rate_series_count(&s, epoch * 5 + i * 0.1, i, 50);
    assert_near(rate_at(&s, 15), 10);
    assert_true(rate_series_done(&s, true) == 150);
    rate_series_count(&s, 15.1, 3, NAN); /* without a total: a restart */
    assert_true(rate_series_done(&s, true) == 153);
}

CASE(late_counts_of_others_are_left_out)
{
    struct rate_series s = fresh();

    for (int i = 1; i <= 200; i++) {
        rate_series_count(&s, i * 0.1, i * 2, NAN);
        rate_series_count(&s, i * 0.1 + 0.01, i * 2 - 1, NAN);
    }
    assert_near(rate_at(&s, 20), 20);
    assert_true(rate_series_done(&s, true) == 400);
    assert_true(rate_series_done(&s, false) == 398);
}

CASE(stated_rates_answer_with_their_median)
{
    struct rate_series s = fresh();

    for (int i = 0; i < 9; i++)
        rate_series_state(&s, i, i == 4 ? 1000 : 10 + i * 0.01);
    assert_near(rate_at(&s, 9), 10.04);
}

CASE(what_is_no_number_is_left_out)
{
    struct rate_series s = fresh();

    rate_series_count(&s, 1, NAN, NAN);
    rate_series_count(&s, 1, -5, NAN);
    rate_series_count(&s, 1, INFINITY, NAN);
    rate_series_state(&s, 1, -1);
    rate_series_state(&s, 1, NAN);
    assert_true(isnan(rate_at(&s, 5)));
    assert_true(isnan(rate_series_done(&s, true)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_count_is_no_rate),
        cmocka_unit_test(a_steady_count_gives_its_rate),
        cmocka_unit_test(the_rate_is_that_of_the_window_not_of_the_run),
        cmocka_unit_test(bursts_longer_than_the_window_apart_give_the_mean),
        cmocka_unit_test(a_count_that_stands_still_pulls_the_rate_down),
        cmocka_unit_test(slow_counts_are_not_rounded_to_the_window),
        cmocka_unit_test(a_count_that_begins_again_goes_on),
        cmocka_unit_test(late_counts_of_others_are_left_out),
        cmocka_unit_test(stated_rates_answer_with_their_median),
        cmocka_unit_test(what_is_no_number_is_left_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
