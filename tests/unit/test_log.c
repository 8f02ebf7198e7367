/* test_log.c - lines as text and JSON, from one thread and from many */
#include "base/log.h"
#include "support/test.h"

#include <jansson.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static char *text;
static size_t size;
static FILE *out;

static double spring(void)
{
    return 1772355600.1239; /* 2026-03-01 09:00 UTC */
}

static int open_stream(void **state)
{
    (void)state;
    text = NULL;
    out = open_memstream(&text, &size);
    log_setup(out, LOG_LEVEL_INFO, LOG_FORMAT_TEXT, spring);
    return out ? 0 : -1;
}

static int close_stream(void **state)
{
    (void)state;
    log_setup(NULL, LOG_LEVEL_INFO, LOG_FORMAT_TEXT, NULL);
    fclose(out);
    free(text);
    return 0;
}

CASE(writes_event_and_typed_fields)
{
    log_info("job_started", LOG_U64("job", UINT64_MAX), LOG_STR("device", "gpu-1"),
             LOG_NUM("rate", 0.25), LOG_I64("delta", -3), LOG_BOOL("shared", true));
    assert_string_equal(text, "2026-03-01T09:00:00.123Z info job_started "
                              "job=18446744073709551615 device=gpu-1 rate=0.25 delta=-3 "
                              "shared=true\n");
}

CASE(an_event_may_have_no_fields)
{
    log_error("lost");
    assert_string_equal(text, "2026-03-01T09:00:00.123Z error lost\n");
}

CASE(a_value_cannot_forge_a_line)
{
    log_warn("w", LOG_STR("a", "x\n2026 info ok"), LOG_STR("b", "\033[2J\""),
             LOG_STR("c", ""), LOG_STR("d", NULL), LOG_STR("e", "\xff\xc3\xa9"));
    assert_string_equal(text, "2026-03-01T09:00:00.123Z warn w a=\"x\\n2026 info ok\" "
                              "b=\"\\u001b[2J\\\"\" c=\"\" d=- e=\"\\ufffd\xc3\xa9\"\n");
}

CASE(lower_levels_are_left_out)
{
    log_debug("hidden", LOG_U64("job", 1));
    fflush(out);
    assert_int_equal(size, 0);
}

CASE(json_lines_are_json)
{
    json_t *line;

    log_setup(out, LOG_LEVEL_INFO, LOG_FORMAT_JSON, spring);
    log_info("e", LOG_STR("s", "a \"b\"\t\x01\xed\xa0\x80"), LOG_NUM("n", NAN),
             LOG_U64("u", 7), LOG_STR("none", NULL));
    line = json_loads(text, 0, NULL);
    assert_non_null(line);
    assert_string_equal(json_string_value(json_object_get(line, "event")), "e");
    assert_string_equal(json_string_value(json_object_get(line, "level")), "info");
    assert_string_equal(json_string_value(json_object_get(line, "time")),
                        "2026-03-01T09:00:00.123Z");
    assert_string_equal(json_string_value(json_object_get(line, "s")),
                        "a \"b\"\t\x01\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    assert_true(json_is_null(json_object_get(line, "n")));
    assert_true(json_is_null(json_object_get(line, "none")));
    assert_int_equal(json_integer_value(json_object_get(line, "u")), 7);
    json_decref(line);
}

CASE(a_huge_value_is_cut)
{
    char huge[5001];

    memset(huge, 'x', 5000);
    huge[5000] = '\0';
    log_info("e", LOG_STR("s", huge));
    assert_true(size < 1200);
    assert_non_null(strstr(text, "...\"\n"));
}

CASE(errors_are_two_fields)
{
    struct err err = {0};

    err_set(&err, ERR_LIMIT, "too much");
    log_error("refused", LOG_ERR(&err));
    assert_non_null(strstr(text, " code=limit error=\"too much\"\n"));
}

enum { THREADS = 4, LINES = 500 };

static void *log_many(void *arg)
{
    for (int i = 0; i < LINES; i++)
        log_info("line", LOG_I64("thread", *(int *)arg), LOG_STR("tail", "the end"));
    return NULL;
}

CASE(lines_of_many_threads_are_whole)
{
    pthread_t threads[THREADS];
    int ids[THREADS], lines = 0;

    for (int i = 0; i < THREADS; i++) {
        ids[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, log_many, &ids[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    fflush(out);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        int thread, length = 0;

        lines++;
        assert_int_equal(sscanf(line,
                                "2026-03-01T09:00:00.123Z info line thread=%d "
                                "tail=\"the end\"%n",
                                &thread, &length),
                         1);
        assert_int_equal(length, strlen(line));
    }
    assert_int_equal(lines, THREADS * LINES);
}

#define WITH_STREAM(test) cmocka_unit_test_setup_teardown(test, open_stream, close_stream)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_STREAM(writes_event_and_typed_fields),
        WITH_STREAM(an_event_may_have_no_fields),
        WITH_STREAM(a_value_cannot_forge_a_line),
        WITH_STREAM(lower_levels_are_left_out),
        WITH_STREAM(json_lines_are_json),
        WITH_STREAM(a_huge_value_is_cut),
        WITH_STREAM(errors_are_two_fields),
        WITH_STREAM(lines_of_many_threads_are_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
