/* test_energy_split.c - whose joules they are, and what was saved */
#include "loop/record/energy_split.h"

#include "base/normal.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define assert_close(a, b) assert_true(fabs((a) - (b)) <= 1e-9 * (1 + fabs((double)(b))))

static double sum_of(const struct energy_part *parts, int count)
{
    double sum = 0;

    for (int i = 0; i < count; i++)
        sum += parts[i].joules;
    return sum;
}

static void a_job_alone_has_all_of_it(void **state)
{
    struct energy_window w = {.joules = 1000, .idle_joules = 200};
    struct energy_part part = {.here = true, .added_watts = 50, .spread_watts = 40};

    (void)state;
    assert_close(energy_split(&w, &part, 1), 0);
    assert_close(part.joules, 1000);
    assert_close(part.error_joules, 30); /* the meter's alone */
    w.modelled = true;
    energy_split(&w, &part, 1);
    assert_close(part.error_joules, 200);
}

static void sharers_split_idle_equally_and_the_rest_by_what_they_add(void **state)
{
    struct energy_window w = {.joules = 1000, .idle_joules = 200};
    struct energy_part parts[] = {{.here = true, .added_watts = 30, .spread_watts = 3},
                                  {.here = true, .added_watts = 10, .spread_watts = 100}};

    (void)state;
    assert_close(energy_split(&w, parts, 2), 0);
    assert_close(parts[0].joules, 100 + 600);
    assert_close(parts[1].joules, 100 + 200);
    /* 0.1 of it is not known, times how much the share could move. */
    assert_close(parts[0].error_joules, hypot(0.1 * 0.75 * 0.25 * 800, 0.03 * 700));
    /* Nothing is known of the other: as wide as can be, not wider. */
    assert_close(parts[1].error_joules, hypot(0.75 * 0.25 * 800, 0.03 * 300));
}

static void less_than_idle_is_split_equally(void **state)
{
    struct energy_window w = {.joules = 100, .idle_joules = 200};
    struct energy_part parts[] = {{.here = true, .added_watts = 30},
                                  {.here = true, .added_watts = 10}};

    (void)state;
    energy_split(&w, parts, 2);
    assert_close(parts[0].joules, 50);
    assert_close(parts[1].joules, 50);
}

static void an_idle_device_is_nobodys(void **state)
{
    struct energy_window w = {.joules = 100, .idle_joules = 90};

    (void)state;
    assert_close(energy_split(&w, NULL, 0), 100);
    w.told = true;
    assert_close(energy_split(&w, NULL, 0), 100);
}

static void the_engines_word_goes_before_what_is_believed(void **state)
{
    struct energy_window w = {.joules = 1000, .idle_joules = 500, .told = true};
    struct energy_part parts[] = {
        {.here = true, .added_watts = 1, .told_joules = 600, .told_error = 10},
        {.here = true, .added_watts = 99, .told_joules = 100, .told_error = 20}};

    (void)state;
    assert_close(energy_split(&w, parts, 2), 0);
    assert_close(parts[0].joules, 600 + 150);
    assert_close(parts[1].joules, 100 + 150);
    assert_close(parts[0].error_joules, 0.03 * 150 + NORMAL_90_SHORT * 10);
    w.modelled = true;
    energy_split(&w, parts, 2);
    assert_close(parts[0].error_joules, 0.2 * 750);
}

static void a_job_that_has_left_gets_what_was_seen_of_it(void **state)
{
    struct energy_window w = {.joules = 1000, .told = true};
    struct energy_part parts[] = {{.here = true, .told_joules = 300},
                                  {.here = false, .told_joules = 200, .told_error = 4}};

    (void)state;
    assert_close(energy_split(&w, parts, 2), 0);
    assert_close(parts[0].joules, 300 + 500);
    assert_close(parts[1].joules, 200);
    assert_close(parts[1].error_joules, NORMAL_90_SHORT * 4);
    /* Nobody is there any more: the rest is nobody's. */
    assert_close(energy_split(&w, &parts[1], 1), 800);
    assert_close(parts[1].joules, 200);
}

static void parts_add_up_to_what_was_drawn(void **state)
{
    struct energy_part parts[4];

    (void)state;
    for (int told = 0; told < 2; told++)
        for (int count = 1; count <= 4; count++) {
            struct energy_window w = {.joules = 777, .idle_joules = 111, .told = told};

            for (int i = 0; i < count; i++)
                parts[i] = (struct energy_part){.here = i != 1,
                                                .added_watts = 1 + 7 * i,
                                                .spread_watts = 3,
                                                .told_joules = told ? 50 + i : 0};
            assert_close(energy_split(&w, parts, count) + sum_of(parts, count), 777);
        }
}

static void a_rounding_of_the_engine_makes_no_negative_rest(void **state)
{
    struct energy_window w = {.joules = 99.9999999, .told = true};
    struct energy_part part = {.told_joules = 100};

    (void)state;
    assert_true(energy_split(&w, &part, 1) == 0);
}

static struct energy_saving saved(double reference, double error, double joules)
{
    const struct reference_energy r = {reference, error};
    const struct energy_use use = {.joules = joules,
                                   .error_joules = ENERGY_METER_ERROR * joules};

    return energy_saved(&r, &use);
}

static void a_saving_is_the_difference_and_as_sure_as_the_reference(void **state)
{
    struct energy_saving s = saved(10000, 500, 4000);

    (void)state;
    assert_close(s.joules, 6000);
    /* A meter that is wrong is wrong about both sides. */
    assert_close(s.error, hypot(500, ENERGY_METER_ERROR * 6000));
    assert_true(s.unknown == 0);
    assert_close(saved(10000, 500, 12000).joules, -2000); /* it cost more */
}

static void who_used_it_on_a_shared_device_is_an_error_too(void **state)
{
    const struct reference_energy r = {1000, 0};
    const struct energy_use use = {.joules = 1000,
                                   .error_joules = hypot(ENERGY_METER_ERROR * 1000, 200)};

    (void)state;
    assert_close(energy_saved(&r, &use).error, 200);
}

static void nothing_is_saved_against_what_is_not_known(void **state)
{
    struct energy_saving s = saved(NAN, NAN, 4000);

    (void)state;
    assert_true(s.joules == 0 && s.error == 0);
    assert_close(s.unknown, 4000);
}

static void errors_of_many_jobs_cancel_in_part(void **state)
{
    struct energy_savings sum = {0};
    struct energy_saving one = {.joules = 100, .error = 50};

    (void)state;
    for (int i = 0; i < 100; i++)
        energy_savings_add(&sum, &one);
    assert_close(sum.joules, 10000);
    assert_true(energy_savings_error(&sum) < 100 * 50);
    assert_true(energy_savings_error(&sum) > 10 * 50); /* as if all were independent */
}

static void the_interval_has_room_for_what_is_not_known(void **state)
{
    struct energy_savings sum = {0};
    struct energy_saving known = {.joules = 100, .error = 10}, guess = {.unknown = 500};

    (void)state;
    energy_savings_add(&sum, &guess);
    assert_false(sum.known);
    energy_savings_add(&sum, &known);
    assert_true(sum.known);
    assert_close(sum.joules, 100);
    assert_true(energy_savings_error(&sum) > 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_alone_has_all_of_it),
        cmocka_unit_test(sharers_split_idle_equally_and_the_rest_by_what_they_add),
        cmocka_unit_test(less_than_idle_is_split_equally),
        cmocka_unit_test(an_idle_device_is_nobodys),
        cmocka_unit_test(the_engines_word_goes_before_what_is_believed),
        cmocka_unit_test(a_job_that_has_left_gets_what_was_seen_of_it),
        cmocka_unit_test(parts_add_up_to_what_was_drawn),
        cmocka_unit_test(a_rounding_of_the_engine_makes_no_negative_rest),
        cmocka_unit_test(a_saving_is_the_difference_and_as_sure_as_the_reference),
        cmocka_unit_test(who_used_it_on_a_shared_device_is_an_error_too),
        cmocka_unit_test(nothing_is_saved_against_what_is_not_known),
        cmocka_unit_test(errors_of_many_jobs_cancel_in_part),
        cmocka_unit_test(the_interval_has_room_for_what_is_not_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
