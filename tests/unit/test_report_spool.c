/* test_report_spool.c - reports wait in order, bounded, and can be delivered by another
 * process */
#include "probe/report_spool.h"

#include "base/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/corgi-spool-test-XXXXXX";
static char folder[64];

static struct report_origin origin(void)
{
    static char daemon[] = "https://h:1", token[] = "corgi-job-7-9-x", node[] = "n1",
                gpus[] = "GPU-1,GPU-2";
    struct report_origin o = {.daemon = daemon,
                              .token = token,
                              .job = 7,
                              .node = node,
                              .rank = 3,
                              .gpus = gpus};

    assert_int_equal(report_run_make(o.run, NULL), 0);
    return o;
}

static char *only_file(void)
{
    char **paths = report_spool_list(folder), *path = paths[0];

    assert_non_null(path);
    assert_null(paths[1]);
    free(paths);
    return path;
}

static void what_was_not_delivered_is_found_by_the_next(void **state)
{
    const struct report_origin o = origin();
    struct report_spool *s = report_spool_create(&o, folder);
    struct err err = {0};
    struct stat info;
    char *path;

    (void)state;
    report_spool_put(s, "a 1");
    report_spool_put(s, "b 2");
    report_spool_put(s, "c 3");
    report_spool_delivered(s, 2);
    assert_int_equal(report_spool_count(s), 2);
    assert_string_equal(report_spool_line(s, 0), "b 2");
    assert_int_equal(report_spool_first(s), 2);
    path = only_file();
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    assert_null(report_spool_open(path, &err)); /* its process lives */
    assert_int_equal(err.code, ERR_EXISTS);
    report_spool_destroy(s);
    s = report_spool_open(path, &err);
    assert_non_null(s);
    assert_int_equal(report_spool_count(s), 3); /* the daemon knows the first again */
    assert_int_equal(report_spool_first(s), 1);
    assert_string_equal(report_spool_line(s, 2), "c 3");
    assert_null(report_spool_line(s, 3));
    assert_string_equal(report_spool_origin(s)->token, "corgi-job-7-9-x");
    assert_string_equal(report_spool_origin(s)->run, o.run);
    assert_string_equal(report_spool_origin(s)->gpus, "GPU-1,GPU-2");
    assert_int_equal(report_spool_origin(s)->rank, 3);
    assert_null(report_spool_origin(s)->ca);
    report_spool_delivered(s, 4);
    report_spool_destroy(s);
    assert_int_equal(access(path, F_OK), -1);
    free(path);
}

static void the_file_is_cut_back_when_all_is_delivered(void **state)
{
    const struct report_origin o = origin();
    struct report_spool *s = report_spool_create(&o, folder);
    char *path = only_file();
    struct stat before, after;

    (void)state;
    assert_int_equal(stat(path, &before), 0);
    for (int i = 0; i < 500; i++) {
        report_spool_put(s, "corgi=1 kind=rate job=7 attempt=1 at=5 rate=1");
        report_spool_delivered(s, UINT64_MAX);
    }
    assert_int_equal(stat(path, &after), 0);
    assert_int_equal(before.st_size, after.st_size);
    assert_int_equal(report_spool_first(s), 501);
    report_spool_destroy(s);
    free(path);
}

static void when_it_is_full_the_oldest_go(void **state)
{
    const struct report_origin o = origin();
    struct report_spool *s = report_spool_create(&o, NULL);
    char line[32];

    (void)state;
    for (int i = 1; i <= REPORT_SPOOL_MOST + 10; i++) {
        snprintf(line, sizeof(line), "line %d", i);
        report_spool_put(s, line);
    }
    assert_int_equal(report_spool_count(s), REPORT_SPOOL_MOST);
    assert_int_equal(report_spool_first(s), 11);
    assert_string_equal(report_spool_line(s, 0), "line 11");
    report_spool_delivered(s, 15000);
    assert_string_equal(report_spool_line(s, 0), "line 15000");
    report_spool_destroy(s);
}

static void lines_that_are_none_are_not_taken(void **state)
{
    const struct report_origin o = origin();
    struct report_spool *s = report_spool_create(&o, NULL);
    char line[4096];

    (void)state;
    memset(line, 'x', sizeof(line));
    line[sizeof(line) - 1] = '\0';
    report_spool_put(s, line);
    report_spool_put(s, "two\nlines");
    assert_int_equal(report_spool_count(s), 0);
    report_spool_destroy(s);
}

static void damaged_files_are_refused_or_cut(void **state)
{
    static const char head[] = "{\"version\":1,\"daemon\":\"https://h\",\"token\":\"t\","
                               "\"job\":7,\"run\":\"0123456789abcdef0123456789abcdef\","
                               "\"node\":\"n\",\"rank\":0}\n";
    static const char *const bad[] = {"",
                                      "\n",
                                      "x\n",
                                      "{}\n",
                                      "{\"version\":2}\n",
                                      "{\"version\":1,\"daemon\":\"d\",\"token\":\"t\","
                                      "\"job\":0,\"run\":\"0\",\"node\":\"n\"}\n",
                                      "{\"version\":1,\"daemon\":\"d\",\"token\":\"t\","
                                      "\"job\":0,\"run\":\"0123456789abcdef01234567"
                                      "89abcdef\",\"node\":\"n\",\"rank\":0}\n"};
    char *path = file_join(folder, "bad.spool");
    struct report_spool *s;
    struct str text = {0};
    struct err err = {0};

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(file_write(path, bad[i], strlen(bad[i]), &err), 0);
        assert_null(report_spool_open(path, &err));
        assert_int_equal(access(path, F_OK), 0);
    }
    /* A line that is cut off, or of another number, and all behind it. */
    str_addf(&text, "%s5 five\n6 six\n9 nine\n10 ten\n7 sev", head);
    assert_int_equal(file_write(path, text.text, text.length, &err), 0);
    s = report_spool_open(path, &err);
    assert_non_null(s);
    assert_int_equal(report_spool_count(s), 2);
    assert_int_equal(report_spool_first(s), 5);
    report_spool_delivered(s, UINT64_MAX);
    report_spool_destroy(s);
    str_fini(&text);
    free(path);
}

static void tokens_name_their_job(void **state)
{
    uint64_t job = 0;

    (void)state;
    assert_int_equal(report_token_job("corgi-job-42-99-abc", &job, NULL), 0);
    assert_int_equal(job, 42);
    assert_int_equal(report_token_job("corgi-0123456789abcdef-x", &job, NULL), -1);
    assert_int_equal(report_token_job("corgi-job-0-1-x", &job, NULL), -1);
    assert_int_equal(report_token_job("corgi-job-", &job, NULL), -1);
}

static int set_up(void **state)
{
    (void)state;
    if (!mkdtemp(dir))
        return -1;
    snprintf(folder, sizeof(folder), "%s/s", dir);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    rmdir(folder);
    return rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_not_delivered_is_found_by_the_next),
        cmocka_unit_test(the_file_is_cut_back_when_all_is_delivered),
        cmocka_unit_test(when_it_is_full_the_oldest_go),
        cmocka_unit_test(lines_that_are_none_are_not_taken),
        cmocka_unit_test(damaged_files_are_refused_or_cut),
        cmocka_unit_test(tokens_name_their_job),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
