/* test_probe_report.c - what one side writes the other reads */
#include "probe/probe_report.h"
#include "support/test.h"

#include <math.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

CASE(a_report_reads_back_as_it_was)
{
    struct probe_report in, out;
    struct err err = {0};
    struct str line = {0};

    probe_report_init(&in, PROBE_RATE, UINT64_MAX);
    in.attempt = 3;
    in.at_s = 1767225600.123456;
    in.window_s = 10;
    in.rate = 1.0 / 3;
    in.steps = 123456789012;
    in.source = PROBE_PROMETHEUS;
    in.confidence = 0.9;
    str_copy(in.key, sizeof(in.key), "0123456789abcdef0123456789abcdef");
    str_copy(in.text, sizeof(in.text), "it said \"a\\b\"\nand ended");
    probe_report_format(&in, &line);
    assert_int_equal(probe_report_parse(&out, line.text, line.length, &err), 0);
    assert_true(out.kind == in.kind && out.job == in.job && out.attempt == 3);
    assert_true(out.at_s == in.at_s && out.rate == in.rate && out.steps == in.steps);
    assert_true(out.window_s == 10 && out.confidence == 0.9);
    assert_int_equal(out.source, PROBE_PROMETHEUS);
    assert_int_equal(out.exit_status, -1);
    assert_string_equal(out.key, in.key);
    assert_string_equal(out.text, "it said \"a\\b\" and ended");
    str_fini(&line);
}

CASE(what_was_not_known_stays_not_known)
{
    struct probe_report in, out;
    struct err err = {0};
    struct str line = {0};

    probe_report_init(&in, PROBE_STARTED, 7);
    in.at_s = 5;
    probe_report_format(&in, &line);
    assert_string_equal(line.text, "corgi=1 kind=started job=7 attempt=1 at=5");
    assert_int_equal(probe_report_parse(&out, line.text, line.length, &err), 0);
    assert_true(isnan(out.rate) && isnan(out.steps) && isnan(out.confidence));
    assert_int_equal(out.source, PROBE_NO_SOURCE);
    str_fini(&line);
}

CASE(a_status_reads_back_as_it_was)
{
    struct probe_report in, out;
    struct err err = {0};
    struct str line = {0}, again = {0};

    probe_report_init(&in, PROBE_ENDED, 12);
    in.attempt = 2;
    in.exit_status = 137;
    in.signal = 9;
    in.oom = true;
    in.started_s = 100.5;
    in.at_s = 200.25;
    in.steps = 50;
    in.rate = 0.501;
    str_copy(in.text, sizeof(in.text), "killed by the kernel: out of memory");
    probe_status_format(&in, &line);
    assert_string_equal(line.text, "job=12 attempt=2 exit=137 signal=9 oom=1 "
                                   "started=100.5 ended=200.25 steps=50 rate=0.501 "
                                   "text=\"killed by the kernel: out of memory\"\n");
    assert_int_equal(probe_status_parse(&out, line.text, line.length, &err), 0);
    assert_true(out.oom && out.exit_status == 137 && out.started_s == 100.5);
    probe_status_format(&out, &again);
    assert_string_equal(line.text, again.text);
    str_fini(&line);
    str_fini(&again);
}

CASE(an_end_tells_how_it_ended)
{
    struct probe_report report;
    struct str line = {0};

    probe_report_init(&report, PROBE_ENDED, 7);
    report.at_s = 20;
    report.exit_status = 143;
    report.signal = 15;
    str_copy(report.text, sizeof(report.text), "stopped");
    probe_report_format(&report, &line);
    assert_string_equal(line.text, "corgi=1 kind=ended job=7 attempt=1 at=20 exit=143 "
                                   "signal=15 oom=0 text=\"stopped\"");
    str_fini(&line);
}

CASE(bad_lines_are_refused_and_change_nothing)
{
    static const char *const bad[] = {
        "",
        "hello",
        "corgi=1 kind=rate job=1",
        "corgi=2 kind=rate job=1 at=5",
        "corgi=1 kind=dance job=1 at=5",
        "corgi=1 kind=rate job=-1 at=5",
        "corgi=1 kind=rate job=1 at=nan",
        "corgi=1 kind=rate job=1 at=5 rate=-1",
        "corgi=1 kind=rate job=1 at=5 rate=1e30",
        "corgi=1 kind=rate job=1 at=5 rate=1 rate=2",
        "corgi=1 kind=rate job=1 at=5 confidence=2",
        "corgi=1 kind=rate job=1 at=5 text=\"open",
        "corgi=1 kind=rate job=1 at=5 text=\"a\"b",
        "corgi=1 kind=rate job=1 at=5 text=\"\\n\"",
        "corgi=1 kind=rate job=1 at=5 signal=200",
        "corgi=1 kind=rate job=1 at=5 = =",
        "corgi=1 kind=rate job=1 at=5 a_key_that_is_much_too_long_to_be_one=1",
    };

    for (size_t i = 0; i < COUNT(bad); i++) {
        struct probe_report report = {.job = 99};
        struct err err = {0};

        assert_int_equal(probe_report_parse(&report, bad[i], strlen(bad[i]), &err), -1);
        assert_true(err.text[0]);
        assert_int_equal(report.job, 99);
    }
}

CASE(unknown_keys_are_passed_over)
{
    static const char line[] =
        "corgi=1 colour=\"dark blue\" kind=ended job=1 at=5 exit=0";
    struct probe_report report;
    struct err err = {0};

    assert_int_equal(probe_report_parse(&report, line, strlen(line), &err), 0);
    assert_int_equal(report.exit_status, 0);
}

CASE(reading_stops_at_the_given_length)
{
    static const char line[] = "corgi=1 kind=rate job=1 at=57";
    struct probe_report report;
    struct err err = {0};

    assert_int_equal(probe_report_parse(&report, line, strlen(line) - 1, &err), 0);
    assert_true(report.at_s == 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_report_reads_back_as_it_was),
        cmocka_unit_test(what_was_not_known_stays_not_known),
        cmocka_unit_test(a_status_reads_back_as_it_was),
        cmocka_unit_test(an_end_tells_how_it_ended),
        cmocka_unit_test(bad_lines_are_refused_and_change_nothing),
        cmocka_unit_test(unknown_keys_are_passed_over),
        cmocka_unit_test(reading_stops_at_the_given_length),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
