/* test_jobstats.c - counters of jobstats out of a job's AdminComment, and gzip that does
 * not unpack to more than it may */
#include "probe/jobstats.h"

#include "base/gzip.h"
#include "base/str.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>
#include <zlib.h>

static void pack(const void *bytes, size_t count, struct str *out)
{
    unsigned char packed[1 << 16];
    z_stream z = {.next_in = (unsigned char *)(uintptr_t)bytes,
                  .avail_in = (unsigned)count,
                  .next_out = packed,
                  .avail_out = sizeof(packed)};

    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY),
                     Z_OK);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    str_add_bytes(out, (char *)packed, sizeof(packed) - z.avail_out);
    deflateEnd(&z);
}

static const char *comment_of(const char *json, struct str *out)
{
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    struct str packed = {0};

    pack(json, strlen(json), &packed);
    str_clear(out);
    str_add(out, "JS1:");
    for (size_t i = 0; i < packed.length; i += 3) {
        unsigned bits = 0, have = 0;

        for (size_t k = 0; k < 3; k++) {
            bits = bits << 8;
            if (i + k < packed.length) {
                bits |= (unsigned char)packed.text[i + k];
                have++;
            }
        }
        for (unsigned k = 0; k < 4; k++)
            str_addf(out, "%c", k <= have ? digits[bits >> (18 - 6 * k) & 63] : '=');
    }
    str_fini(&packed);
    return str_text(out);
}

static void counters_of_all_nodes_are_put_together(void **state)
{
    static const char json[] =
        "{\"nodes\":{\"a\":{\"gpu_utilization\":{\"0\":80,\"1\":0},"
        "\"gpu_used_memory\":{\"0\":4000000000,\"1\":1000000000},"
        "\"gpu_total_memory\":{\"0\":16000000000,\"1\":16000000000}},"
        "\"b\":{\"gpu_utilization\":{\"0\":40.0},\"gpu_used_memory\":{\"0\":9e9},"
        "\"gpu_total_memory\":{\"0\":4e10}}},\"total_time\":3600,\"gpus\":3}";
    enum jobstats_kind kind = JOBSTATS_ABSENT;
    struct str text = {0};
    struct jobstats s = {0};
    struct err err = {0};

    (void)state;
    assert_int_equal(jobstats_read(comment_of(json, &text), &kind, &s, &err), 0);
    assert_int_equal(kind, JOBSTATS_KNOWN);
    assert_int_equal(s.gpus, 3);
    assert_int_equal(s.unused_gpus, 1);
    assert_true(fabs(s.gpu_use - 0.4) < 1e-12);
    assert_true(fabs(s.gpu_gb - 9) < 1e-9 && fabs(s.gpu_all_gb - 40) < 1e-9);
    assert_true(s.seconds == 3600);
    str_fini(&text);
}

static void short_none_and_foreign_comments_are_no_error(void **state)
{
    static const struct {
        const char *text;
        enum jobstats_kind kind;
    } cases[] = {{"JS1:Short", JOBSTATS_SHORT},
                 {"JS1:None", JOBSTATS_NONE},
                 {"", JOBSTATS_ABSENT},
                 {"looked at by grace", JOBSTATS_ABSENT}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        enum jobstats_kind kind = JOBSTATS_KNOWN;
        struct jobstats s;

        assert_int_equal(jobstats_read(cases[i].text, &kind, &s, NULL), 0);
        assert_int_equal(kind, cases[i].kind);
    }
}

static void what_is_damaged_is_refused(void **state)
{
    static const char *const jsons[] = {
        "[]",
        "{\"nodes\":3}",
        "{\"nodes\":{\"a\":{\"gpu_utilization\":{\"0\":-1}}}}",
        "{\"nodes\":{\"a\":{\"gpu_utilization\":{\"0\":\"all\"}}}}",
        "{\"nodes\":{\"a\":{\"gpu_used_memory\":{\"0\":1e300}}}}",
        "{\"nodes\":{"};
    enum jobstats_kind kind = JOBSTATS_NONE;
    struct str text = {0};
    struct jobstats s;

    (void)state;
    for (size_t i = 0; i < sizeof(jsons) / sizeof(jsons[0]); i++) {
        struct err err = {0};

        assert_int_equal(jobstats_read(comment_of(jsons[i], &text), &kind, &s, &err), -1);
        assert_true(err.text[0]);
    }
    assert_int_equal(jobstats_read("JS1:H4sI!", &kind, &s, NULL), -1);
    assert_int_equal(jobstats_read("JS1:", &kind, &s, NULL), -1);
    comment_of("{\"nodes\":{}}", &text);
    text.text[text.length - 6] = '\0'; /* cut short */
    assert_int_equal(jobstats_read(str_text(&text), &kind, &s, NULL), -1);
    assert_int_equal(kind, JOBSTATS_NONE);
    str_fini(&text);
}

static void a_bomb_is_refused_before_it_is_unpacked(void **state)
{
    static char zeros[1 << 20];
    struct str packed = {0}, out = {0};
    struct err err = {0};

    (void)state;
    pack(zeros, sizeof(zeros), &packed);
    str_add(&out, "before");
    assert_int_equal(gzip_unpack(packed.text, packed.length, 1000, &out, &err), -1);
    assert_int_equal(err.code, ERR_LIMIT);
    assert_string_equal(str_text(&out), "before");
    assert_true(out.capacity < 20000);
    assert_int_equal(gzip_unpack(packed.text, packed.length, sizeof(zeros), &out, &err),
                     0);
    assert_int_equal(out.length, 6 + sizeof(zeros));
    str_fini(&packed);
    str_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counters_of_all_nodes_are_put_together),
        cmocka_unit_test(short_none_and_foreign_comments_are_no_error),
        cmocka_unit_test(what_is_damaged_is_refused),
        cmocka_unit_test(a_bomb_is_refused_before_it_is_unpacked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
