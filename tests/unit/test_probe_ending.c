/* test_probe_ending.c - lines out of bytes, and how an end is told */
#include "base/str.h"
#include "probe/fetch.h"
#include "probe/lines.h"
#include "probe/sender.h"
#include "probe/streams.h"
#include "probe/supervisor.h"
#include "support/test.h"

#include <netinet/in.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void join(void *ctx, double at_s, const char *text, size_t length)
{
    (void)at_s;
    str_add_bytes(ctx, text, length);
    str_add(ctx, ";");
}

CASE(bytes_come_out_as_the_lines_a_terminal_shows)
{
    static const struct {
        const char *bytes, *lines;
    } cases[] = {
        {"a\nb\r\nc", "a;b;c;"},
        {"\r10%\r20%\r30%", "10%;20%;30%;"},
        {"\033[1;31mred\033[0m\n", "red;"},
        {"one\033[2Atwo\033[Kthree\n", "one;twothree;"},
        {"\033]0;title\aafter\033]8;;x\033\\link\n", "afterlink;"},
        {"\033(Bplain\n", "plain;"},
        {"12\b\b34\n", "12;34;"},
        {"good\nbad\001line\nfine\n", "good;fine;"},
        {"\n\n\r\r", ""},
        {"caf\xc3\xa9 \xe2\x96\x88\n", "caf\xc3\xa9 \xe2\x96\x88;"},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct str whole = {0}, pieces = {0};
        struct lines lines;

        lines_init(&lines, join, &whole);
        lines_feed(&lines, 0, cases[i].bytes, strlen(cases[i].bytes));
        lines_flush(&lines);
        assert_string_equal(str_text(&whole), cases[i].lines);
        lines_init(&lines, join, &pieces);
        for (const char *p = cases[i].bytes; *p; p++)
            lines_feed(&lines, 0, p, 1);
        lines_flush(&lines);
        assert_string_equal(str_text(&pieces), cases[i].lines);
        str_fini(&whole);
        str_fini(&pieces);
    }
}

CASE(long_lines_are_cut_not_lost)
{
    struct str out = {0};
    struct lines lines;

    lines_init(&lines, join, &out);
    for (int i = 0; i < 100000; i++)
        lines_feed(&lines, 0, "x", 1);
    lines_feed(&lines, 0, "\nnext\n", 6);
    assert_int_equal(out.length, LINES_MAX + 1 + strlen("next;"));
    str_fini(&out);
}

static struct probe_report told(struct supervisor job, const char *tail)
{
    struct output_end output = {.tail_length = strlen(tail)};
    struct probe_report ended;

    memcpy(output.tail, tail, output.tail_length);
    probe_report_init(&ended, PROBE_ENDED, 1);
    supervisor_tell_end(&job, &output, &ended);
    return ended;
}

CASE(exits_and_signals_are_told_as_a_shell_would)
{
    struct probe_report s;

    s = told((struct supervisor){.wait_status = W_EXITCODE(0, 0)}, "fine\n");
    assert_true(s.exit_status == 0 && s.signal == 0 && !s.oom);
    assert_string_equal(s.text, "");
    s = told((struct supervisor){.wait_status = W_EXITCODE(3, 0)}, "x\nError: no data\n");
    assert_int_equal(s.exit_status, 3);
    assert_string_equal(s.text, "exited with status 3: Error: no data");
    s = told((struct supervisor){.wait_status = W_EXITCODE(0, SIGSEGV)}, "");
    assert_true(s.exit_status == 139 && s.signal == SIGSEGV);
    assert_non_null(strstr(s.text, "signal 11"));
    s = told((struct supervisor){.wait_status = W_EXITCODE(0, SIGTERM), .asked = true},
             "x");
    assert_non_null(strstr(s.text, "stopped as asked"));
    s = told((struct supervisor){.wait_status = W_EXITCODE(0, SIGKILL),
                                 .asked = true,
                                 .killed = true,
                                 .grace_s = 5},
             "");
    assert_non_null(strstr(s.text, "within 5 s"));
    s = told((struct supervisor){.wait_status = 0, .left_behind = 2}, "");
    assert_non_null(strstr(s.text, "2 processes it left behind"));
}

CASE(out_of_memory_is_recognised)
{
    static const char *const said[] = {
        "Traceback ...\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 "
        "GiB",
        "terminate called after throwing an instance of 'std::bad_alloc'\n",
        "Traceback (most recent call last):\n  File \"a\"\nMemoryError\n",
        "MemoryError",
        "numpy.core._exceptions._ArrayMemoryError: Unable to allocate 7.45 GiB\n",
        "jaxlib.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying",
        "fork: Cannot allocate memory\n",
    };
    static const char *const other[] = {"", "ValueError: x", "no MemoryError here",
                                        "memory 3.1GiB", "we are not out of memory"};
    struct probe_report s;

    for (size_t i = 0; i < COUNT(said); i++) {
        s = told((struct supervisor){.wait_status = W_EXITCODE(1, 0)}, said[i]);
        if (!s.oom)
            fail_msg("not recognised: %s", said[i]);
        s = told((struct supervisor){.wait_status = 0}, said[i]);
        assert_false(s.oom); /* it went well in the end */
    }
    for (size_t i = 0; i < COUNT(other); i++) {
        s = told((struct supervisor){.wait_status = W_EXITCODE(1, 0)}, other[i]);
        assert_false(s.oom);
    }
    s = told((struct supervisor){.wait_status = W_EXITCODE(0, SIGKILL),
                                 .kernel_oom = "its limit was reached"},
             "");
    assert_true(s.oom);
    s = told((struct supervisor){.wait_status = W_EXITCODE(0, SIGKILL),
                                 .asked = true,
                                 .killed = true,
                                 .kernel_oom = "its limit was reached"},
             "");
    assert_false(s.oom); /* that kill was ours */
}

CASE(urls_are_addresses_only)
{
    static const char *const bad[] = {"",
                                      "https://127.0.0.1/",
                                      "http://",
                                      "http:///x",
                                      "ftp://x",
                                      "http://example.com/",
                                      "http://127.0.0.1:0/",
                                      "http://1.2.3.4:99999/",
                                      "http://[::1/",
                                      "http://127.0.0.1/a b",
                                      "http://127.0.0.1:80x/"};
    struct fetch url;

    for (size_t i = 0; i < COUNT(bad); i++)
        if (fetch_init(&url, bad[i], NULL) == 0)
            fail_msg("%s was taken", bad[i]);
    assert_int_equal(fetch_init(&url, "http://localhost:8000/metrics?x=1", NULL), 0);
    assert_string_equal(url.path, "/metrics?x=1");
    assert_string_equal(url.host, "localhost:8000");
    assert_int_equal(ntohs(((struct sockaddr_in *)&url.address)->sin_port), 8000);
    assert_int_equal(fetch_init(&url, "http://[::1]", NULL), 0);
    assert_string_equal(url.path, "/");
}

CASE(targets_of_reports_are_checked)
{
    static const char *const bad[] = {"", "file", "unix:", "ftp://somewhere/", "tcp:x"};
    struct err err = {0};
    struct sender *sender;

    for (size_t i = 0; i < COUNT(bad); i++)
        assert_null(sender_create(&(struct sender_options){.target = bad[i]}, &err));
    sender = sender_create(&(struct sender_options){0}, &err);
    assert_non_null(sender);
    sender_destroy(sender);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_come_out_as_the_lines_a_terminal_shows),
        cmocka_unit_test(long_lines_are_cut_not_lost),
        cmocka_unit_test(exits_and_signals_are_told_as_a_shell_would),
        cmocka_unit_test(out_of_memory_is_recognised),
        cmocka_unit_test(urls_are_addresses_only),
        cmocka_unit_test(targets_of_reports_are_checked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
