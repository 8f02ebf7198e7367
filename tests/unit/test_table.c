/* test_table.c - the same rows for people and as CSV */
#include "base/table.h"
#include "support/test.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct table *two_rows(void)
{
    struct table *t = table_create();

    table_column(t, "policy", TABLE_LEFT);
    table_column(t, "kWh", TABLE_RIGHT);
    table_row(t);
    table_cell(t, "corgi, the dog");
    table_cellf(t, "%.1f", 9.25);
    table_mark(t, TABLE_GOOD);
    table_row(t);
    table_cell(t, "\"fifo\"");
    table_cellf(t, "%d", 1234);
    return t;
}

static void assert_prints(const struct table *t,
                          int (*print)(const struct table *, FILE *, struct err *),
                          const char *expected)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    struct err err = {0};

    assert_int_equal(print(t, out, &err), 0);
    fclose(out);
    assert_string_equal(text, expected);
    free(text);
}

CASE(aligns_columns_without_a_terminal_and_without_colour)
{
    struct table *t = two_rows();

    assert_prints(t, table_print,
                  "policy           kWh\n"
                  "corgi, the dog   9.2\n"
                  "\"fifo\"          1234\n");
    table_destroy(t);
}

CASE(csv_quotes_what_needs_it)
{
    struct table *t = two_rows();

    assert_prints(t, table_print_csv,
                  "policy,kWh\n"
                  "\"corgi, the dog\",9.2\n"
                  "\"\"\"fifo\"\"\",1234\n");
    table_destroy(t);
}

CASE(cells_not_filled_are_empty)
{
    struct table *t = two_rows();

    table_row(t);
    assert_int_equal(table_row_count(t), 3);
    assert_prints(t, table_print_csv,
                  "policy,kWh\n"
                  "\"corgi, the dog\",9.2\n"
                  "\"\"\"fifo\"\"\",1234\n"
                  ",\n");
    table_destroy(t);
}

CASE(letters_beyond_ascii_keep_columns_straight)
{
    struct table *t = table_create();

    table_column(t, "name", TABLE_LEFT);
    table_column(t, "n", TABLE_RIGHT);
    table_row(t);
    table_cell(t, "θ");
    table_cell(t, "1");
    assert_prints(t, table_print, "name  n\nθ     1\n");
    table_destroy(t);
}

CASE(a_row_wider_than_a_terminal_is_whole)
{
    struct table *t = table_create();
    char wide[301], *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    struct err err = {0};

    memset(wide, 'w', 300);
    wide[300] = '\0';
    table_column(t, "a", TABLE_LEFT);
    table_column(t, "b", TABLE_LEFT);
    table_row(t);
    table_cell(t, wide);
    table_cell(t, wide);
    assert_int_equal(table_print(t, out, &err), 0);
    fclose(out);
    assert_non_null(strstr(strstr(text, wide) + 300, wide));
    table_destroy(t);
    free(text);
}

CASE(a_failed_write_is_reported)
{
    struct table *t = two_rows();
    FILE *full = fopen("/dev/full", "w");
    struct err err = {0};

    setvbuf(full, NULL, _IONBF, 0);
    assert_int_equal(table_print_csv(t, full, &err), -1);
    assert_int_equal(err.code, ERR_SYSTEM);
    fclose(full);
    table_destroy(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(aligns_columns_without_a_terminal_and_without_colour),
        cmocka_unit_test(csv_quotes_what_needs_it),
        cmocka_unit_test(cells_not_filled_are_empty),
        cmocka_unit_test(letters_beyond_ascii_keep_columns_straight),
        cmocka_unit_test(a_row_wider_than_a_terminal_is_whole),
        cmocka_unit_test(a_failed_write_is_reported),
    };

    setlocale(LC_CTYPE, "C.UTF-8");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
