/* test_progress.c - the bar on a virtual clock */
#include "base/progress.h"
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

static char *text;
static size_t size;
static FILE *out;
static struct clock now;

static int open_stream(void **state)
{
    (void)state;
    text = NULL;
    out = open_memstream(&text, &size);
    now = clock_virtual(0);
    return out ? 0 : -1;
}

static int close_stream(void **state)
{
    (void)state;
    fclose(out);
    free(text);
    return 0;
}

CASE(draws_share_and_time_left)
{
    struct progress *p = progress_create_on(out, true, &now, "sim", 200);

    clock_set(&now, 10);
    progress_update(p, 50);
    assert_string_equal(text, "\r\033[Ksim [######                  ]  25%, 30 s left");
    progress_destroy(p);
}

CASE(draws_at_most_ten_times_a_second)
{
    struct progress *p = progress_create_on(out, true, &now, "sim", 100000);
    int bars = 0;

    for (int i = 0; i < 100000; i++) {
        clock_set(&now, i / 10000.0); /* ten seconds in all */
        progress_update(p, i);
    }
    progress_destroy(p);
    for (const char *c = text; (c = strstr(c, "sim [")); c++)
        bars++;
    assert_in_range(bars, 50, 100);
}

CASE(short_work_shows_nothing)
{
    struct progress *p = progress_create_on(out, true, &now, "sim", 10);

    clock_set(&now, 0.2);
    progress_update(p, 9);
    progress_destroy(p);
    fflush(out);
    assert_int_equal(size, 0);
}

CASE(wipes_the_line_at_the_end)
{
    struct progress *p = progress_create_on(out, true, &now, "sim", 10);

    clock_set(&now, 5);
    progress_update(p, 20); /* beyond the total: shown as all of it */
    progress_destroy(p);
    assert_string_equal(text, "\r\033[Ksim [########################] 100%, 0 s left"
                              "\r\033[K");
}

CASE(is_silent_without_a_terminal)
{
    struct progress *p = progress_create_on(out, false, &now, "sim", 10);

    clock_set(&now, 5);
    progress_update(p, 5);
    progress_destroy(p);
    fflush(out);
    assert_int_equal(size, 0);
}

CASE(counts_when_the_total_is_unknown)
{
    struct progress *p = progress_create_on(out, true, &now, "rows", 0);

    clock_set(&now, 1);
    progress_update(p, 1200);
    assert_string_equal(text, "\r\033[Krows 1200");
    progress_destroy(p);
}

CASE(times_read_well)
{
    char buffer[24];

    progress_format_seconds(buffer, sizeof(buffer), 59.4);
    assert_string_equal(buffer, "59 s");
    progress_format_seconds(buffer, sizeof(buffer), 59.6);
    assert_string_equal(buffer, "1 min 00 s");
    progress_format_seconds(buffer, sizeof(buffer), 7500);
    assert_string_equal(buffer, "2 h 05 min");
    progress_format_seconds(buffer, sizeof(buffer), 1e300);
    assert_string_equal(buffer, "very long");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(draws_share_and_time_left, open_stream,
                                        close_stream),
        cmocka_unit_test_setup_teardown(draws_at_most_ten_times_a_second, open_stream,
                                        close_stream),
        cmocka_unit_test_setup_teardown(short_work_shows_nothing, open_stream,
                                        close_stream),
        cmocka_unit_test_setup_teardown(wipes_the_line_at_the_end, open_stream,
                                        close_stream),
        cmocka_unit_test_setup_teardown(is_silent_without_a_terminal, open_stream,
                                        close_stream),
        cmocka_unit_test_setup_teardown(counts_when_the_total_is_unknown, open_stream,
                                        close_stream),
        cmocka_unit_test(times_read_well),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
