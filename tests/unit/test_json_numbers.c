/* test_json_numbers.c - numbers in JSON: as printf() writes them, only sooner */
#include "base/json_out.h"
#include "base/rng.h"
#include "support/test.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void by_printf(char *expected, size_t size, double number)
{
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(expected, size, "%.*g", digits, number);
        if (strtod(expected, NULL) == number)
            break;
    }
}

static struct str text;

static const char *written(double number)
{
    struct json_out out;

    str_clear(&text);
    json_out_init(&out, &text, false);
    json_out_number(&out, number);
    return str_text(&text);
}

static void check(double number)
{
    char expected[40];

    by_printf(expected, sizeof(expected), number);
    assert_string_equal(written(number), isfinite(number) ? expected : "null");
}

static void check_around(double number)
{
    check(number);
    check(-number);
    check(nextafter(number, INFINITY));
    check(nextafter(number, -INFINITY));
}

CASE(writes_short_decimals_as_they_are_said)
{
    static const char *const said[] = {"0.001", "12.5",       "0.0001", "99.999",
                                       "-0.25", "123456.789", "0.1",    "1760000000.125"};

    for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++)
        assert_string_equal(written(strtod(said[i], NULL)), said[i]);
}

CASE(writes_the_edges_as_printf_does)
{
    static const double edges[] = {0.0,
                                   -0.0,
                                   1e-5,
                                   1e-4,
                                   9.9999999999999995e-5,
                                   1e14,
                                   1e15,
                                   1e22,
                                   0.5,
                                   1,
                                   2,
                                   9007199254740993.0,
                                   0.3,
                                   1e-300,
                                   DBL_MAX,
                                   DBL_MIN,
                                   5e-324,
                                   0.1 + 0.2,
                                   99999999999999.984,
                                   9.5,
                                   999999.9999999999,
                                   0.99999999999999989};

    for (size_t i = 0; i < sizeof(edges) / sizeof(edges[0]); i++)
        check_around(edges[i]);
    for (int e = -60; e < 60; e++)
        check_around(ldexp(1, e));
    for (int e = -20; e < 20; e++)
        check_around(pow(10, e));
}

/* Rates, times, shares and money, and numbers of random bits. */
CASE(writes_numbers_of_all_kinds_as_printf_does)
{
    struct rng rng;

    rng_init(&rng, 7);
    for (int i = 0; i < 40000; i++) {
        double share = rng_uniform(&rng), size = pow(10, 18 * share - 4);
        uint64_t bits = rng_u64(&rng);
        double any;

        memcpy(&any, &bits, sizeof(any));
        check(share);
        check(size);
        check(1.7e9 + share * 1e8);
        check(trunc(share * 1e9) / 1000);
        check(trunc(share * 1e6) / 64);
        check(ldexp(trunc(ldexp(share, 53)), -40));
        if (isfinite(any))
            check(any);
    }
}

CASE(writes_whole_numbers_to_their_limits)
{
    static const int64_t numbers[] = {0,         7,        -7, 10, -100, 1234567890123,
                                      INT64_MAX, INT64_MIN};
    char expected[40];
    struct json_out out;

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        snprintf(expected, sizeof(expected), "%" PRId64, numbers[i]);
        str_clear(&text);
        json_out_init(&out, &text, false);
        json_out_int(&out, numbers[i]);
        assert_string_equal(str_text(&text), expected);
    }
    str_clear(&text);
    json_out_init(&out, &text, false);
    json_out_u64(&out, UINT64_MAX);
    assert_string_equal(str_text(&text), "18446744073709551615");
    str_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_short_decimals_as_they_are_said),
        cmocka_unit_test(writes_the_edges_as_printf_does),
        cmocka_unit_test(writes_numbers_of_all_kinds_as_printf_does),
        cmocka_unit_test(writes_whole_numbers_to_their_limits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
