/* test_value.c - typed values from text */
#include "base/parse.h"
#include "support/test.h"

#include <stdint.h>

static void assert_described(struct value_rule rule, const char *expected)
{
    struct str text = {0};

    value_describe(&rule, &text);
    assert_string_equal(str_text(&text), expected);
    str_fini(&text);
}

CASE(a_refused_text_leaves_the_target)
{
    static const char *const names[] = {"a", "b", NULL};
    const struct value_rule numbers = {.type = VALUE_INT, .min = -2, .max = 2};
    const struct value_rule choice = {.type = VALUE_CHOICE, .choices = names};
    int value = 9;

    assert_false(value_parse(&numbers, "3", &value));
    assert_false(value_parse(&numbers, "-3", &value));
    assert_false(value_parse(&numbers, "1.0", &value));
    assert_false(value_parse(&choice, "c", &value));
    assert_int_equal(value, 9);
    assert_true(value_parse(&numbers, "-2", &value));
    assert_int_equal(value, -2);
    assert_true(value_parse(&choice, "b", &value));
    assert_int_equal(value, 1);
}

CASE(times_and_powers_have_sane_bounds_without_a_range)
{
    const struct value_rule seconds = {.type = VALUE_SECONDS};
    const struct value_rule watts = {.type = VALUE_WATTS};
    double value = 9;

    assert_false(value_parse(&seconds, "-1s", &value));
    assert_false(value_parse(&seconds, "1e12", &value));
    assert_false(value_parse(&watts, "-1", &value));
    assert_false(value_parse(&watts, "2000MW", &value));
    assert_true(value == 9);
    assert_true(value_parse(&watts, "0.5kW", &value));
    assert_true(value == 500);
}

CASE(the_description_names_the_range)
{
    assert_described((struct value_rule){.type = VALUE_DOUBLE, .min = 0.1, .max = 2},
                     "a number from 0.1 to 2");
    assert_described((struct value_rule){.type = VALUE_BOOL}, "true or false");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_refused_text_leaves_the_target),
        cmocka_unit_test(times_and_powers_have_sane_bounds_without_a_range),
        cmocka_unit_test(the_description_names_the_range),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
