/* test_report_svg.c - texts cannot break out, scales stay inside, ticks are round */
#include "lab/report/svg.h"

#include "lab/report/html.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

static void assert_text(const char *raw, const char *wanted)
{
    struct str out = {0};

    html_text(&out, raw);
    assert_string_equal(str_text(&out), wanted);
    str_fini(&out);
}

static void markup_is_escaped(void **state)
{
    (void)state;
    assert_text("a<b>&\"'", "a&lt;b&gt;&amp;&quot;&#39;");
    assert_text("</title><script>alert(1)</script>",
                "&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt;");
    assert_text("", "");
}

static void utf8_passes_and_broken_bytes_are_replaced(void **state)
{
    (void)state;
    assert_text("größe ±3 𝄞", "größe ±3 𝄞");
    assert_text("a\xFFz", "a\xEF\xBF\xBDz");
    assert_text("\xC0\xAF", "\xEF\xBF\xBD\xEF\xBF\xBD");                 /* overlong */
    assert_text("\xED\xA0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"); /* surrogate */
    assert_text("cut \xE2\x82", "cut \xEF\xBF\xBD\xEF\xBF\xBD");
    assert_text("\xF5\x80\x80\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
}

static void control_characters_are_replaced(void **state)
{
    (void)state;
    assert_text("a\x01\x1B[31mb\tc\nd\x7F",
                "a\xEF\xBF\xBD\xEF\xBF\xBD[31mb\tc\nd\xEF\xBF\xBD");
}

static void numbers_have_a_dash_for_none_and_no_negative_zero(void **state)
{
    static const struct {
        double value;
        int digits;
        const char *text;
    } cases[] = {{1.25, 1, "1.2"}, {-0.04, 1, "0.0"},  {-3, 0, "−3"},
                 {NAN, 2, "–"},    {INFINITY, 2, "–"}, {0, 2, "0.00"}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_string_equal(html_number(cases[i].value, cases[i].digits).text,
                            cases[i].text);
    }
}

static void means_show_their_interval_and_sign(void **state)
{
    static const struct {
        struct sweep_mean mean;
        const char *text;
    } cases[] = {{{4.2, 0.55}, "+4.2 ±0.6"},
                 {{-4.2, NAN}, "−4.2"},
                 {{0.01, NAN}, "0.0"},
                 {{NAN, 1}, "–"}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_string_equal(html_mean(cases[i].mean, 1, true).text, cases[i].text);
}

static void scales_never_leave_their_places(void **state)
{
    struct scale s = scale_linear(10, 20, 100, 0);
    struct scale l = scale_log(0.01, 100, 0, 4);

    (void)state;
    assert_true(scale_at(&s, 10) == 100 && scale_at(&s, 20) == 0);
    assert_true(scale_at(&s, 15) == 50);
    assert_true(scale_at(&s, -1e300) == 100 && scale_at(&s, INFINITY) == 0);
    assert_true(scale_at(&s, NAN) == 100);
    assert_true(fabs(scale_at(&l, 1) - 2) < 1e-9);
    assert_true(scale_at(&l, 0) == 0 && scale_at(&l, -3) == 0);
}

static void ranges_without_extent_get_one(void **state)
{
    static const double ends[][2] = {{0, 0},        {5, 5}, {-3, -3},    {NAN, 1},
                                     {0, INFINITY}, {2, 1}, {1e12, 1e12}};

    (void)state;
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        struct scale s = scale_linear(ends[i][0], ends[i][1], 0, 1);
        double ticks[SCALE_MAX_TICKS];
        int digits, count = scale_ticks(&s, 4, ticks, &digits);

        assert_true(s.from < s.to && isfinite(s.from) && isfinite(s.to));
        assert_true(count >= 1 && count <= SCALE_MAX_TICKS);
        assert_true(digits >= 0);
    }
}

static void ticks_are_round_and_inside(void **state)
{
    static const double ends[][2] = {
        {0, 1}, {0, 97}, {-3.2, 4.1}, {93.1, 100}, {0, 1e-4}};
    double ticks[SCALE_MAX_TICKS];
    int digits;

    (void)state;
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        struct scale s = scale_linear(ends[i][0], ends[i][1], 0, 1);
        int count = scale_ticks(&s, 4, ticks, &digits);

        assert_in_range(count, 3, 9);
        for (int k = 0; k < count; k++) {
            assert_true(ticks[k] >= s.from - 1e-9 && ticks[k] <= s.to + 1e-9);
            assert_true(k == 0 || ticks[k] > ticks[k - 1]);
        }
    }
    struct scale tens = scale_linear(0, 97, 0, 1);

    assert_int_equal(scale_ticks(&tens, 4, ticks, &digits), 5);
    assert_true(ticks[1] == 20 && digits == 0);
    struct scale decades = scale_log(0.01, 100, 0, 1);

    assert_int_equal(scale_ticks(&decades, 4, ticks, &digits), 5);
    assert_true(fabs(ticks[0] - 0.01) < 1e-12 && digits == 2);
}

static void shapes_hold_escaped_tips_and_short_numbers(void **state)
{
    struct str out = {0};

    (void)state;
    svg_rect(&out, "bar", 1.04, -0.01, -5, 2.25, "<x>");
    assert_string_equal(str_text(&out),
                        "<rect class=\"bar\" x=\"1\" y=\"0\" width=\"0\" height=\"2.3\">"
                        "<title>&lt;x&gt;</title></rect>\n");
    str_clear(&out);
    svg_text(&out, "t", 1, 2, SVG_END, "a & b");
    assert_string_equal(str_text(&out), "<text class=\"t\" text-anchor=\"end\" x=\"1\" "
                                        "y=\"2\">a &amp; b</text>\n");
    str_clear(&out);
    svg_begin(&out, 7, 10, 20, "T<", "D>");
    svg_end(&out);
    assert_string_equal(
        str_text(&out),
        "<svg role=\"img\" viewBox=\"0 0 10 20\" aria-labelledby=\"t7 d7\">"
        "<title id=\"t7\">T&lt;</title><desc id=\"d7\">D&gt;</desc>\n"
        "</svg>\n");
    str_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(markup_is_escaped),
        cmocka_unit_test(utf8_passes_and_broken_bytes_are_replaced),
        cmocka_unit_test(control_characters_are_replaced),
        cmocka_unit_test(numbers_have_a_dash_for_none_and_no_negative_zero),
        cmocka_unit_test(means_show_their_interval_and_sign),
        cmocka_unit_test(scales_never_leave_their_places),
        cmocka_unit_test(ranges_without_extent_get_one),
        cmocka_unit_test(ticks_are_round_and_inside),
        cmocka_unit_test(shapes_hold_escaped_tips_and_short_numbers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
