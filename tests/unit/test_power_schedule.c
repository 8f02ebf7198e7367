/* test_power_schedule.c - which limit holds when, and how operators write it */
#include "loop/power_schedule.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#define HOUR_S 3600.0
#define DAY_S  86400.0

static struct power_schedule read_text(const char *text)
{
    struct power_schedule s = {0};
    struct err err = {0};

    if (power_schedule_parse(text, &s, &err) < 0)
        fail_msg("%s", err.text);
    return s;
}

static void at(const struct power_schedule *s, double hour, double watts)
{
    for (int day = 0; day < 3; day++) {
        double limit = power_schedule_at(s, 20000 * DAY_S * day + hour * HOUR_S);

        if (fabs(limit - watts) > 1e-9)
            fail_msg("at %g o'clock it is %g W, not %g W", hour, limit, watts);
    }
}

static void one_limit_holds_all_day(void **state)
{
    struct power_schedule s = read_text("20kW");

    (void)state;
    assert_int_equal(s.count, 0);
    at(&s, 0, 20000);
    at(&s, 23.99, 20000);
    assert_true(isinf(power_schedule_changes_s(&s, 1e9)));
    s = read_text("none");
    at(&s, 12, 0);
}

static void hours_have_limits_of_their_own(void **state)
{
    struct power_schedule s =
        read_text("20kW, 07:00-20:30 12kW,22-6 30kW ,6:15-06:30 none");

    (void)state;
    at(&s, 6.99, 20000);
    at(&s, 7, 12000);
    at(&s, 20.49, 12000);
    at(&s, 20.5, 20000);
    at(&s, 22, 30000);
    at(&s, 0, 30000);
    at(&s, 5.99, 30000);
    at(&s, 6, 20000);
    at(&s, 6.25, 0);
    at(&s, 6.5, 20000);
}

static void a_day_ends_at_24(void **state)
{
    struct power_schedule s = read_text("1kW, 20:00-24:00 2kW");

    (void)state;
    at(&s, 19.99, 1000);
    at(&s, 23.99, 2000);
    at(&s, 0, 1000);
    s = read_text("0:00-24:00 2kW");
    at(&s, 0, 2000);
    at(&s, 23.99, 2000);
}

static void changes_are_foreseen(void **state)
{
    struct power_schedule s = read_text("20kW, 07:00-20:00 12kW");
    double day_s = 19000 * DAY_S;

    (void)state;
    assert_true(power_schedule_changes_s(&s, day_s) == day_s + 7 * HOUR_S);
    assert_true(power_schedule_changes_s(&s, day_s + 7 * HOUR_S - 1e-6) ==
                day_s + 7 * HOUR_S);
    assert_true(power_schedule_changes_s(&s, day_s + 7 * HOUR_S) == day_s + 20 * HOUR_S);
    assert_true(power_schedule_changes_s(&s, day_s + 20 * HOUR_S) ==
                day_s + DAY_S + 7 * HOUR_S);
}

static void the_least_of_a_time_counts_none_as_infinite(void **state)
{
    struct power_schedule s = read_text("none, 07:00-20:00 12kW, 20:00-21:00 8kW");

    (void)state;
    assert_true(power_schedule_least(&s, 6 * HOUR_S, 60) == 0);
    assert_true(power_schedule_least(&s, 7 * HOUR_S - 60, 60) == 12000);
    assert_true(power_schedule_least(&s, 19 * HOUR_S, HOUR_S) == 8000);
    assert_true(power_schedule_least(&s, 20.5 * HOUR_S, HOUR_S) == 8000);
    assert_true(power_schedule_least(&s, 0, DAY_S) == 8000);
}

static void refused(const char *text, const char *why)
{
    struct power_schedule s = {.watts = 7};
    struct err err = {0};

    if (power_schedule_parse(text, &s, &err) == 0)
        fail_msg("'%s' was taken", text);
    if (!strstr(err.text, why))
        fail_msg("of '%s' it says '%s'", text, err.text);
    assert_true(s.watts == 7); /* untouched */
}

static void mistakes_are_told(void **state)
{
    char long_text[400] = "1kW";

    (void)state;
    refused("", "is no limit on power");
    refused("much", "'much' is no limit on power");
    refused("20kW,", "'' is no limit on power");
    refused("20kW, 12kW", "second limit for all day");
    refused("-5kW", "is no limit on power");
    refused("07:00-20:00", "is no limit on power");
    refused("07:00-20:00 ", "is no limit on power");
    refused("07:00-20:00kW", "is no limit on power");
    refused("07:60-20:00 1kW", "is no limit on power");
    refused("07:0-20:00 1kW", "is no limit on power");
    refused("24:00-25:00 1kW", "is no limit on power");
    refused("24:00-3:00 1kW", "is no limit on power");
    refused("24:01-3:00 1kW", "is no limit on power");
    refused("7:00 20kW", "is no limit on power");
    refused("08:00-08:00 1kW", "have no minute");
    refused("07:00-20:00 1kW, 19:00-21:00 2kW", "07:00-20:00 and 19:00-21:00 overlap");
    refused("22:00-06:00 1kW, 05:00-07:00 2kW", "overlap");
    refused("05:00-07:00 1kW, 22:00-06:00 2kW", "overlap");
    refused("01:00-02:00 1kW, 00:00-24:00 2kW", "overlap");
    for (int i = 0; i < 25; i++)
        strcat(long_text, ", 1-2 1kW");
    refused(long_text, "more than 24 hours");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_limit_holds_all_day),
        cmocka_unit_test(hours_have_limits_of_their_own),
        cmocka_unit_test(a_day_ends_at_24),
        cmocka_unit_test(changes_are_foreseen),
        cmocka_unit_test(the_least_of_a_time_counts_none_as_infinite),
        cmocka_unit_test(mistakes_are_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
