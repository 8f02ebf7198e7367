/* test_err.c - a code to test and a sentence to show */
#include "base/err.h"
#include "support/test.h"

#include <errno.h>
#include <string.h>

CASE(set_fills_code_and_sentence_and_fails)
{
    struct err err = {0};

    assert_int_equal(err_set(&err, ERR_LIMIT, "%d is too many", 7), -1);
    assert_int_equal(err.code, ERR_LIMIT);
    assert_string_equal(err.text, "7 is too many");
}

CASE(sys_adds_the_text_of_errno)
{
    struct err err = {0};

    errno = ENOENT;
    assert_int_equal(err_sys(&err, "cannot open %s", "x"), -1);
    assert_int_equal(err.code, ERR_SYSTEM);
    assert_string_equal(err.text, "cannot open x: No such file or directory");
}

CASE(prefix_keeps_code_and_old_sentence)
{
    struct err err = {0};

    err_set(&err, ERR_FORMAT, "line 3 is short");
    assert_int_equal(err_prefix(&err, "file %s", "a.csv"), -1);
    assert_int_equal(err.code, ERR_FORMAT);
    assert_string_equal(err.text, "file a.csv: line 3 is short");
}

CASE(nobody_listening_is_fine)
{
    assert_int_equal(err_set(NULL, ERR_LIMIT, "x"), -1);
    assert_int_equal(err_sys(NULL, "x"), -1);
    assert_int_equal(err_prefix(NULL, "x"), -1);
}

CASE(long_sentences_are_cut_and_terminated)
{
    struct err err = {0};
    char text[2 * sizeof(err.text)];

    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    err_set(&err, ERR_INVALID, "%s", text);
    assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
    err_prefix(&err, "before");
    assert_memory_equal(err.text, "before: xxx", 11);
    assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
    err_prefix(&err, "%s", text);
    errno = EACCES;
    err_sys(&err, "%s", text);
    assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
}

CASE(every_code_has_a_name_of_its_own)
{
    for (int a = 0; a < ERR_CODE_COUNT; a++)
        for (int b = 0; b < a; b++)
            assert_string_not_equal(err_code_name((enum err_code)a),
                                    err_code_name((enum err_code)b));
    assert_string_equal(err_code_name(ERR_NOT_FOUND), "not_found");
    assert_string_equal(err_code_name(ERR_CODE_COUNT), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(set_fills_code_and_sentence_and_fails),
        cmocka_unit_test(sys_adds_the_text_of_errno),
        cmocka_unit_test(prefix_keeps_code_and_old_sentence),
        cmocka_unit_test(nobody_listening_is_fine),
        cmocka_unit_test(long_sentences_are_cut_and_terminated),
        cmocka_unit_test(every_code_has_a_name_of_its_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
