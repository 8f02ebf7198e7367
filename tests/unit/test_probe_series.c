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

static void hit(struct tracks *s, double at_s, double count, double total, double rate)
{
    struct match_hit hit = match_told(units_find("step", 4));

    hit.count = count;
    hit.total = total;
    hit.rate = rate;
    tracks_hit(s, at_s, &hit);
}

static void add_count(struct tracks *s, double at_s, double count, double total)
{
    hit(s, at_s, count, total, NAN);
}

static void add_rate(struct tracks *s, double at_s, double rate)
{
    hit(s, at_s, NAN, NAN, rate);
}

static struct tracks_rate found_at(struct tracks *s, double now_s, bool from_zero)
{
    struct tracks_rate r = {.rate = NAN, .done = NAN, .overall = NAN};

    tracks_rate(s, now_s, from_zero, &r);
    return r;
}

static double rate_at(struct tracks *s, double now_s)
{
    return found_at(s, now_s, true).rate;
}

CASE(one_count_is_no_rate)
{
    struct tracks *s = tracks_create(WINDOW);

    assert_true(isnan(rate_at(s, 5)));
    add_count(s, 1, 100, NAN);
    assert_true(isnan(rate_at(s, 5)));
    tracks_destroy(s);
}

CASE(a_steady_count_gives_its_rate)
{
    struct tracks *s = tracks_create(WINDOW);

    for (int i = 0; i < 1000; i++)
        add_count(s, i * 0.02, i, NAN);
    assert_near(rate_at(s, 20), 50);
    tracks_destroy(s);
}

CASE(the_rate_is_that_of_the_window_not_of_the_run)
{
    struct tracks *s = tracks_create(WINDOW);

    for (int i = 0; i < 100; i++)
        add_count(s, i, i * 10, NAN);
    for (int i = 0; i < 20; i++)
        add_count(s, 100 + i, 1000 + i * 30, NAN);
    assert_near(rate_at(s, 119), 30);
    assert_near(found_at(s, 119, true).overall, (1000 + 570) / 119.0);
    tracks_destroy(s);
}

CASE(bursts_longer_than_the_window_apart_give_the_mean)
{
    struct tracks *s = tracks_create(WINDOW);

    for (int burst = 1; burst <= 6; burst++)
        for (int j = 0; j < 100; j++)
            add_count(s, burst * 25 + j * 1e-4, (burst - 1) * 100 + j + 1, NAN);
    assert_near(rate_at(s, 155), 4);
    tracks_destroy(s);
}

CASE(a_count_that_stands_still_pulls_the_rate_down)
{
    struct tracks *s = tracks_create(WINDOW);

    for (int i = 0; i <= 100; i++)
        add_count(s, i * 0.1, i, NAN);
    assert_near(rate_at(s, 10.5), 10);
    assert_true(rate_at(s, 40) < 1);
    assert_true(rate_at(s, 400) < 0.1);
    tracks_destroy(s);
}

CASE(slow_counts_are_not_rounded_to_the_window)
{
    struct tracks *s = tracks_create(WINDOW);

    for (int i = 0; i <= 200; i++) /* one step in 8 s, said every second */
        add_count(s, i, i / 8, NAN);
    for (double now = 195; now < 205; now += 1)
        assert_near(rate_at(s, now), 0.125);
    tracks_destroy(s);
}

CASE(a_count_that_begins_again_goes_on)
{
    struct tracks *s = tracks_create(WINDOW);

    for (int epoch = 0; epoch < 3; epoch++)
        for (int i = 1; i <= 50; i++)
            add_count(s, epoch * 5 + i * 0.1, i, 50);
    assert_near(rate_at(s, 15), 10);
    assert_true(found_at(s, 15, true).done == 150);
    add_count(s, 15.1, 3, NAN); /* without a total: a restart */
    assert_true(found_at(s, 15.1, true).done == 153);
    tracks_destroy(s);
}

CASE(late_counts_of_others_are_left_out)
{
    struct tracks *s = tracks_create(WINDOW);

    for (int i = 1; i <= 200; i++) {
        add_count(s, i * 0.1, i * 2, NAN);
        add_count(s, i * 0.1 + 0.01, i * 2 - 1, NAN);
    }
    assert_near(rate_at(s, 20), 20);
    assert_true(found_at(s, 20, true).done == 400);
    assert_true(found_at(s, 20, false).done == 398);
    tracks_destroy(s);
}

CASE(stated_rates_answer_with_their_median)
{
    struct tracks *s = tracks_create(WINDOW);

    for (int i = 0; i < 9; i++)
        add_rate(s, i, i == 4 ? 1000 : 10 + i * 0.01);
    assert_near(rate_at(s, 9), 10.04);
    tracks_destroy(s);
}

CASE(what_is_no_number_is_left_out)
{
    struct tracks *s = tracks_create(WINDOW);

    add_count(s, 1, NAN, NAN);
    add_count(s, 1, -5, NAN);
    add_count(s, 1, INFINITY, NAN);
    add_rate(s, 1, -1);
    add_rate(s, 1, NAN);
    assert_true(isnan(rate_at(s, 5)));
    assert_true(isnan(found_at(s, 5, true).done));
    tracks_destroy(s);
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
