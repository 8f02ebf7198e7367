/* test_view.c - figures as people read them */
#include "corgi/view.c"
#include "support/test.h"

#include <stdlib.h>

static char out[VIEW_SIZE];

CASE(rates_have_four_digits_and_no_power_of_ten)
{
    assert_string_equal(view_rate(out, 41.5), "41.5");
    assert_string_equal(view_rate(out, 1234567), "1.235M");
    assert_string_equal(view_rate(out, 81234), "81234");
    assert_string_equal(view_rate(out, 4e9), "4G");
    assert_string_equal(view_rate(out, 0.0007912), "0.0007912");
    assert_string_equal(view_rate(out, 1e-12), "<0.0001");
    assert_string_equal(view_rate(out, 0), "0");
    assert_string_equal(view_rate(out, NAN), "-");
    for (double rate = 1e-15; rate < 1e12; rate *= 1.7)
        assert_null(strchr(view_rate(out, rate), 'e'));
}

CASE(counts_are_grouped)
{
    assert_string_equal(view_count(out, 0), "0");
    assert_string_equal(view_count(out, 999), "999");
    assert_string_equal(view_count(out, 1000), "1,000");
    assert_string_equal(view_count(out, 1e5), "100,000");
    assert_string_equal(view_count(out, 1e15), "1,000,000,000,000,000");
    assert_string_equal(view_count(out, -1234.4), "-1,234");
    assert_string_equal(view_count(out, NAN), "-");
}

CASE(one_thing_is_no_plural)
{
    assert_string_equal(view_plural(out, 1, "GPU"), "1 GPU");
    assert_string_equal(view_plural(out, 2, "GPU"), "2 GPUs");
    assert_string_equal(view_plural(out, 0, "job"), "0 jobs");
}

CASE(times_have_their_zone)
{
    setenv("TZ", "UTC", 1);
    tzset();
    assert_string_equal(view_time(out, 0), "1970-01-01T00:00:00Z");
    setenv("TZ", "XXX-5:30", 1);
    tzset();
    assert_string_equal(view_time(out, 0), "1970-01-01T05:30:00+05:30");
    setenv("TZ", "YYY3", 1);
    tzset();
    assert_string_equal(view_time(out, 0), "1969-12-31T21:00:00-03:00");
    assert_string_equal(view_time(out, NAN), "-");
}

/* What a quote says of energy and power, given as JSON. */
static char *cost_of(const char *quote)
{
    struct json_doc *doc = NULL;
    struct err err = {0};
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);

    assert_int_equal(json_doc_parse(&doc, quote, strlen(quote), "quote", &err), 0);
    print_cost(json_doc_root(doc), to);
    fclose(to);
    json_doc_destroy(doc);
    return text;
}

CASE(what_is_not_known_is_not_expected_to_be_zero)
{
    char *text = cost_of("{\"joules\":{\"value\":0,\"low\":0,\"high\":93600},"
                         "\"watts\":{\"value\":0}}");

    assert_string_equal(text, "");
    free(text);
    text = cost_of("{\"joules\":{\"value\":7200,\"low\":0,\"high\":93600},"
                   "\"watts\":{\"value\":88.5}}");
    assert_string_equal(text, "  energy    2 Wh (up to 26 Wh)\n  power     88.5 W\n");
    free(text);
    text = cost_of("{\"joules\":null,\"watts\":null}");
    assert_string_equal(text, "");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_have_four_digits_and_no_power_of_ten),
        cmocka_unit_test(counts_are_grouped),
        cmocka_unit_test(one_thing_is_no_plural),
        cmocka_unit_test(times_have_their_zone),
        cmocka_unit_test(what_is_not_known_is_not_expected_to_be_zero),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
