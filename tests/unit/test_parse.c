/* test_parse.c - whole numbers or nothing */
#include "base/parse.h"
#include "support/test.h"

#include <math.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

CASE(doubles_are_read_to_the_last_digit)
{
    double x = 0;

    assert_true(parse_double("12.5", &x) && x == 12.5);
    assert_true(parse_double("-3e2", &x) && x == -300);
    assert_true(parse_double(".5", &x) && x == 0.5);
    assert_true(parse_double("+7", &x) && x == 7);
}

CASE(what_is_no_double_leaves_the_output_alone)
{
    static const char *const bad[] = {"",     " 1",  "1 ",   "1x",    "nan",
                                      "inf",  "-",   "0x10", "1e999", "-inf",
                                      "1e5 ", "1,5", "--1",  ".",     "abc"};

    for (size_t i = 0; i < COUNT(bad); i++) {
        double x = 42;

        assert_false(parse_double(bad[i], &x));
        assert_true(x == 42);
    }
}

CASE(u64_reaches_its_limit_and_no_further)
{
    static const char *const bad[] = {"",    "-1", "18446744073709551616",
                                      "1.0", "+1", " 1"};
    uint64_t n = 0;

    assert_true(parse_u64("18446744073709551615", &n) && n == UINT64_MAX);
    assert_true(parse_u64("0", &n) && n == 0);
    for (size_t i = 0; i < COUNT(bad); i++) {
        n = 42;
        assert_false(parse_u64(bad[i], &n));
        assert_true(n == 42);
    }
}

CASE(ints_reach_their_limits_and_no_further)
{
    static const char *const bad[] = {
        "",    "-",  "2147483648", "-2147483649", "1x", "1.5", "99999999999999999999",
        "--1", " 1", "0x10",       "+1"};
    int n = 0;

    assert_true(parse_int("-2147483648", &n) && n == INT32_MIN);
    assert_true(parse_int("2147483647", &n) && n == INT32_MAX);
    for (size_t i = 0; i < COUNT(bad); i++) {
        n = 42;
        assert_false(parse_int(bad[i], &n));
        assert_int_equal(n, 42);
    }
}

CASE(bools_have_three_spellings_each)
{
    bool b = false;

    assert_true(parse_bool("true", &b) && b);
    assert_true(parse_bool("No", &b) && !b);
    assert_true(parse_bool("ON", &b) && b);
    assert_true(parse_bool("off", &b) && !b);
    assert_true(parse_bool("yes", &b) && b);
    assert_true(parse_bool("false", &b) && !b);
    assert_false(parse_bool("1", &b));
    assert_false(parse_bool("", &b));
    assert_false(parse_bool("truely", &b));
    assert_false(b);
}

CASE(seconds_and_watts_take_their_units)
{
    const struct value_rule seconds = {.type = VALUE_SECONDS},
                            watts = {.type = VALUE_WATTS};
    double x = 0;

    assert_true(value_parse(&seconds, "90", &x) && x == 90);
    assert_true(value_parse(&seconds, "10m", &x) && x == 600);
    assert_true(value_parse(&seconds, "10min", &x) && x == 600);
    assert_true(value_parse(&seconds, "50ms", &x) && x == 0.05);
    assert_true(value_parse(&seconds, "2h", &x) && x == 7200);
    assert_true(value_parse(&seconds, "5d", &x) && x == 432000);
    assert_true(value_parse(&watts, "250W", &x) && x == 250);
    assert_true(value_parse(&watts, "20kW", &x) && x == 20000);
    assert_true(value_parse(&watts, "1MW", &x) && x == 1e6);
    x = 42;
    assert_false(value_parse(&seconds, "10y", &x));
    assert_false(value_parse(&seconds, "h", &x));
    assert_false(value_parse(&seconds, "5 h", &x));
    assert_false(value_parse(&watts, "3mW", &x));
    assert_false(value_parse(&watts, "3s", &x));
    assert_true(x == 42);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(doubles_are_read_to_the_last_digit),
        cmocka_unit_test(what_is_no_double_leaves_the_output_alone),
        cmocka_unit_test(u64_reaches_its_limit_and_no_further),
        cmocka_unit_test(ints_reach_their_limits_and_no_further),
        cmocka_unit_test(bools_have_three_spellings_each),
        cmocka_unit_test(seconds_and_watts_take_their_units),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
