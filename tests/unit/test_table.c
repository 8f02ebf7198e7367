/* test_table.c - the same rows for people and as CSV */
#include "base/table.h"
#include "support/test.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct table *two_rows(void)
{
    struct table *t = table_create("policy|>kWh");

    table_row(t);
    table_cell(t, "corgi, the dog");
    table_cellf(t, "%.1f", 9.25);
    table_mark(t, TABLE_GOOD);
    table_row(t);
    table_cell(t, "\"fifo\"");
    table_cellf(t, "%d", 1234);
    return t;
}

static void assert_prints(struct table *t, enum table_style style, const char *expected)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    struct err err = {0};

    assert_int_equal(table_finish(t, style, out, &err), 0);
    fclose(out);
    assert_string_equal(text, expected);
    free(text);
}

CASE(aligns_columns_without_a_terminal_and_without_colour)
{
    assert_prints(two_rows(), TABLE_ALIGNED,
                  "policy           kWh\n"
                  "corgi, the dog   9.2\n"
                  "\"fifo\"          1234\n");
}

CASE(csv_quotes_what_needs_it)
{
    assert_prints(two_rows(), TABLE_CSV,
                  "policy,kWh\n"
                  "\"corgi, the dog\",9.2\n"
                  "\"\"\"fifo\"\"\",1234\n");
}

CASE(parsable_cells_keep_their_bars_and_lines)
{
    struct table *t = table_create("name|>n");

    table_row(t);
    table_cell(t, "a|b\\c\nd");
    table_cell(t, "1");
    assert_prints(t, TABLE_PARSABLE, "name|n\na\\|b\\\\c\\nd|1\n");
}

CASE(a_table_without_rows_has_only_titles_for_programs)
{
    assert_prints(table_create("name|>n"), TABLE_ALIGNED, "");
    assert_prints(table_create("name|>n"), TABLE_CSV, "name,n\n");
}

CASE(cells_not_filled_are_empty)
{
    struct table *t = two_rows();

    table_row(t);
    assert_prints(t, TABLE_CSV,
                  "policy,kWh\n"
                  "\"corgi, the dog\",9.2\n"
                  "\"\"\"fifo\"\"\",1234\n"
                  ",\n");
}

CASE(letters_beyond_ascii_keep_columns_straight)
{
    struct table *t = table_create("name|>n");

    table_row(t);
    table_cell(t, "θ");
    table_cell(t, "1");
    assert_prints(t, TABLE_ALIGNED, "name  n\nθ     1\n");
}

CASE(a_row_wider_than_a_terminal_is_whole)
{
    struct table *t = table_create("a");
    char wide[301], *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    struct err err = {0};

    memset(wide, 'w', 300);
    wide[300] = '\0';
    table_columns(t, "b");
    table_row(t);
    table_cell(t, wide);
    table_cell(t, wide);
    assert_int_equal(table_finish(t, TABLE_ALIGNED, out, &err), 0);
    fclose(out);
    assert_non_null(strstr(strstr(text, wide) + 300, wide));
    free(text);
}

CASE(a_failed_write_is_reported)
{
    struct table *t = two_rows();
    FILE *full = fopen("/dev/full", "w");
    struct err err = {0};

    setvbuf(full, NULL, _IONBF, 0);
    assert_int_equal(table_finish(t, TABLE_CSV, full, &err), -1);
    assert_int_equal(err.code, ERR_SYSTEM);
    fclose(full);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(aligns_columns_without_a_terminal_and_without_colour),
        cmocka_unit_test(csv_quotes_what_needs_it),
        cmocka_unit_test(parsable_cells_keep_their_bars_and_lines),
        cmocka_unit_test(a_table_without_rows_has_only_titles_for_programs),
        cmocka_unit_test(cells_not_filled_are_empty),
        cmocka_unit_test(letters_beyond_ascii_keep_columns_straight),
        cmocka_unit_test(a_row_wider_than_a_terminal_is_whole),
        cmocka_unit_test(a_failed_write_is_reported),
    };

    setlocale(LC_CTYPE, "C.UTF-8");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
