/* test_progress.c - the bar, at times of the test */
#include "lab/commands/progress.h"
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

static char *text;
static size_t size;
static FILE *out;
static struct progress bar;

static int open_stream(void **state)
{
    (void)state;
    text = NULL;
    out = open_memstream(&text, &size);
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
    progress_init(&bar, out, true, "sim", 0);
    progress_update(&bar, 0.25, 10);
    assert_string_equal(text, "\r\033[Ksim [######                  ]  25%, 30 s left");
    progress_end(&bar);
}

CASE(draws_at_most_ten_times_a_second)
{
    int bars = 0;

    progress_init(&bar, out, true, "sim", 0);
    for (int i = 0; i < 100000; i++) /* ten seconds in all */
        progress_update(&bar, i / 100000.0, i / 10000.0);
    progress_end(&bar);
    for (const char *c = text; (c = strstr(c, "sim [")); c++)
        bars++;
    assert_in_range(bars, 50, 100);
}

CASE(short_work_shows_nothing)
{
    progress_init(&bar, out, true, "sim", 0);
    progress_update(&bar, 0.9, 0.2);
    progress_end(&bar);
    fflush(out);
    assert_int_equal(size, 0);
}

CASE(wipes_the_line_at_the_end)
{
    progress_init(&bar, out, true, "sim", 0);
    progress_update(&bar, 2, 5); /* beyond the end: shown as all of it */
    progress_end(&bar);
    assert_string_equal(text, "\r\033[Ksim [########################] 100%, 0 s left"
                              "\r\033[K");
}

CASE(is_silent_without_a_terminal)
{
    progress_init(&bar, out, false, "sim", 0);
    progress_update(&bar, 0.5, 5);
    progress_end(&bar);
    fflush(out);
    assert_int_equal(size, 0);
}

/* The time left as the last bar tells it, half way after so many seconds. */
static void assert_left(double after_s, const char *left)
{
    progress_init(&bar, out, true, "sim", 0);
    progress_update(&bar, 0.5, after_s);
    fflush(out);
    assert_string_equal(strrchr(text, ',') + 2, left);
}

CASE(times_read_well)
{
    assert_left(59.4, "59 s left");
    assert_left(59.6, "1 min 00 s left");
    assert_left(7500, "2 h 05 min left");
    assert_left(1e300, "very long left");
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
        cmocka_unit_test_setup_teardown(times_read_well, open_stream, close_stream),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
