/* test_csv.c - rows as they come from spreadsheets, and rows nobody should send */
#include "lab/tables/csv.h"

#include <stdlib.h>
#include <string.h>

#include "fixture/text_file.h"
#include "support/test.h"

static struct csv *parsed(const char *text)
{
    struct csv *csv = NULL;
    struct err err = {0};

    if (csv_load(&csv, text_file("test", text), &err) < 0)
        fail_msg("%s", err.text);
    return csv;
}

CASE(quotes_crlf_empty_lines_and_byte_order_mark_are_understood)
{
    struct csv *csv = parsed("\xef\xbb\xbf"
                             "a,b,c\r\n\r\n1,\"x, \"\"y\"\"\r\nz\",\r\n\n,,3");
    struct err err = {0};

    assert_int_equal(csv_next(csv, &err), 1);
    assert_int_equal(csv_line(csv), 3);
    assert_string_equal(csv_field(csv, csv_column(csv, "a")), "1");
    assert_string_equal(csv_field(csv, csv_column(csv, "b")), "x, \"y\"\r\nz");
    assert_string_equal(csv_field(csv, csv_column(csv, "c")), "");
    assert_int_equal(csv_next(csv, &err), 1);
    assert_int_equal(csv_line(csv), 6);
    assert_string_equal(csv_field(csv, 2), "3");
    assert_string_equal(csv_field(csv, -1), "");
    assert_int_equal(csv_next(csv, &err), 0);
    csv_destroy(csv);
}

CASE(a_missing_column_is_named)
{
    struct csv *csv = parsed("a,b\n1,2\n");
    struct err err = {0};
    int column = 5;

    assert_int_equal(csv_need(csv, "rate", &column, &err), -1);
    assert_non_null(strstr(err.text, "\"rate\""));
    assert_int_equal(column, 5);
    assert_int_equal(csv_need(csv, "b", &column, &err), 0);
    assert_int_equal(column, 1);
    csv_destroy(csv);
}

CASE(numbers_are_strict_and_errors_name_line_and_column)
{
    static const char *const bad[] = {"",     "x",  "nan", "inf",   "1e999",
                                      "0x10", "1 ", "-1",  "100001"};
    double value = 3;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        char text[64] = "rate\n1\n\n\"";
        struct err err = {0};
        struct csv *csv;

        strcat(strcat(text, bad[i]), "\"\n");
        csv = parsed(text);
        assert_int_equal(csv_next(csv, &err), 1);
        assert_int_equal(csv_double(csv, 0, 0, 1e5, &value, &err), 0);
        assert_int_equal(csv_next(csv, &err), 1);
        assert_int_equal(csv_double(csv, 0, 0, 1e5, &value, &err), -1);
        assert_non_null(strstr(err.text, "test line 4: rate"));
        assert_true(value == 1);
        csv_destroy(csv);
    }
}

/* Reads to the first error, which must be there. */
static void refused(const char *text, size_t length, enum err_code code, const char *word)
{
    struct csv *csv = NULL;
    struct err err = {0};
    int rc = csv_load(&csv, text_file_of("test", text, length), &err);

    if (rc == 0)
        while ((rc = csv_next(csv, &err)) > 0)
            ;
    assert_int_equal(rc, -1);
    assert_int_equal(err.code, code);
    if (!strstr(err.text, word))
        fail_msg("\"%s\" does not say \"%s\"", err.text, word);
    csv_destroy(csv);
}

CASE(broken_rows_are_refused_with_their_line)
{
    static const char quote[] = "a,b\n1,2\n\"3,4\n", tail[] = "a,b\n\"1\"x,2\n",
                      few[] = "a,b\n1,2\n3\n", many[] = "a,b\n1,2,3\n",
                      nul[] = "a,b\n1,\0\n", twice[] = "a,a\n";

    refused("", 0, ERR_FORMAT, "empty");
    refused(quote, strlen(quote), ERR_FORMAT, "line 3");
    refused(tail, strlen(tail), ERR_FORMAT, "line 2");
    refused(few, strlen(few), ERR_FORMAT, "line 3: 1 fields");
    refused(many, strlen(many), ERR_FORMAT, "line 2: 3 fields");
    refused(nul, sizeof(nul) - 1, ERR_FORMAT, "NUL");
    refused(twice, strlen(twice), ERR_FORMAT, "twice");
}

CASE(rows_too_long_or_too_wide_are_refused)
{
    size_t length = 2 * CSV_MAX_LINE;
    char *text = malloc(length);

    assert_non_null(text);
    memset(text, 'x', length);
    refused(text, length, ERR_LIMIT, "longer than");
    text[0] = '"';
    refused(text, length, ERR_FORMAT, "does not end");
    memset(text, ',', length);
    refused(text, length, ERR_LIMIT, "fields");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quotes_crlf_empty_lines_and_byte_order_mark_are_understood),
        cmocka_unit_test(a_missing_column_is_named),
        cmocka_unit_test(numbers_are_strict_and_errors_name_line_and_column),
        cmocka_unit_test(broken_rows_are_refused_with_their_line),
        cmocka_unit_test(rows_too_long_or_too_wide_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
