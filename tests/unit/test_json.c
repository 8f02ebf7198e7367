/* test_json.c - what is read, what is refused, what is written */
#include "base/json.h"
#include "base/json_out.h"
#include "support/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct json_doc *parsed(const char *text)
{
    struct json_doc *doc = NULL;
    struct err err = {0};

    if (json_doc_parse(&doc, text, strlen(text), "test", &err) < 0)
        fail_msg("%s", err.text);
    return doc;
}

CASE(members_come_in_the_order_of_the_file)
{
    struct json_doc *doc = parsed("{\"z\": 1, \"a\": [2, \"x\"], \"m\": null}");
    struct json_iter it = {.object = json_doc_root(doc)};
    char keys[8] = "";

    while (json_iter_next(&it))
        strcat(keys, it.key);
    assert_string_equal(keys, "zam");
    json_doc_destroy(doc);
}

CASE(values_answer_only_as_what_they_are)
{
    struct json_doc *doc = parsed("{\"n\": 2.5, \"s\": \"x\", \"b\": true, \"a\": [1]}");
    const struct json_value *root = json_doc_root(doc);
    double number = -1;
    bool flag = false;

    assert_true(json_value_number(json_value_get(root, "n"), &number) && number == 2.5);
    assert_false(json_value_number(json_value_get(root, "s"), &number));
    assert_string_equal(json_value_string(json_value_get(root, "s")), "x");
    assert_null(json_value_string(json_value_get(root, "n")));
    assert_true(json_value_bool(json_value_get(root, "b"), &flag) && flag);
    assert_int_equal(json_value_count(json_value_get(root, "a")), 1);
    assert_null(json_value_item(json_value_get(root, "a"), 1));
    assert_null(json_value_get(json_value_get(root, "none"), "deeper"));
    json_doc_destroy(doc);
}

CASE(needed_members_are_named_when_they_are_wrong)
{
    struct json_doc *doc = parsed("{\"n\": 2.5, \"s\": \"x\"}");
    const struct json_value *root = json_doc_root(doc);
    const char *text = "kept";
    double number = 7;
    struct err err = {0};

    assert_int_equal(json_value_need_number(root, "s", 0, 9, &number, &err), -1);
    assert_string_equal(err.text, "\"s\" is a string, want a number");
    assert_int_equal(json_value_need_number(root, "n", 3, 9, &number, &err), -1);
    assert_int_equal(err.code, ERR_INVALID);
    assert_int_equal(json_value_need_string(root, "none", &text, &err), -1);
    assert_true(number == 7 && !strcmp(text, "kept"));
    assert_int_equal(json_value_need_number(root, "n", 0, 9, &number, &err), 0);
    json_doc_destroy(doc);
}

static void refused(const char *text, enum err_code code, const char *word)
{
    struct json_doc *doc = NULL;
    struct err err = {0};

    assert_int_equal(json_doc_parse(&doc, text, strlen(text), "test", &err), -1);
    assert_null(doc);
    assert_int_equal(err.code, code);
    if (!strstr(err.text, word))
        fail_msg("\"%s\" does not say \"%s\"", err.text, word);
}

CASE(syntax_errors_name_file_line_and_column)
{
    refused("{\n  \"a\": 1,\n  oops\n}", ERR_FORMAT, "test line 3 column");
    refused("{\"a\": [1, 2", ERR_FORMAT, "test line 1");
    refused("", ERR_FORMAT, "test line");
    refused("{\"a\": NaN}", ERR_FORMAT, "line 1");
    refused("{\"a\": 1e999}", ERR_FORMAT, "line 1");
    refused("{\"a\": 1, \"a\": 2}", ERR_FORMAT, "duplicate");
    refused("\"\xff\"", ERR_FORMAT, "line 1");
}

CASE(a_million_levels_are_refused_cleanly)
{
    size_t depth = 1000000;
    char *text = malloc(depth + 1);

    assert_non_null(text);
    memset(text, '[', depth);
    text[depth] = '\0';
    refused(text, ERR_LIMIT, "deeper than");
    free(text);
}

CASE(brackets_in_strings_do_not_count_as_levels)
{
    char text[300] = "\"\\\"";
    struct json_doc *doc;

    memset(text + 3, '[', 200);
    strcpy(text + 203, "\"");
    doc = parsed(text);
    assert_int_equal(strlen(json_value_string(json_doc_root(doc))), 201);
    json_doc_destroy(doc);
}

CASE(a_text_of_more_values_than_wanted_is_not_read)
{
    static const char text[] =
        "{\"a\": [1, 2], \"b,[\": {}}"; /* 6: the empty one may hold one */
    struct json_doc *doc = NULL;
    struct err err = {0};

    assert_int_equal(json_doc_parse_few(&doc, text, strlen(text), "test", 5, &err), -1);
    assert_int_equal(err.code, ERR_LIMIT);
    assert_null(doc);
    assert_int_equal(json_doc_parse_few(&doc, text, strlen(text), "test", 6, &err), 0);
    json_doc_destroy(doc);
}

CASE(written_pretty_with_two_blanks_a_level)
{
    struct str text = {0};
    struct json_out out;

    json_out_init(&out, &text, true);
    json_out_begin_object(&out);
    json_out_key_string(&out, "name", "a");
    json_out_key(&out, "list");
    json_out_begin_array(&out);
    json_out_int(&out, -3);
    json_out_bool(&out, true);
    json_out_end(&out);
    json_out_key(&out, "empty");
    json_out_begin_array(&out);
    json_out_end(&out);
    json_out_end(&out);
    assert_string_equal(str_text(&text),
                        "{\n  \"name\": \"a\",\n  \"list\": [\n    -3,\n    true\n  ],\n"
                        "  \"empty\": []\n}\n");
    str_fini(&text);
}

CASE(numbers_are_short_and_read_back_the_same)
{
    static const double numbers[] = {0.1,  1.0 / 3, 1e300, 5e-324,  123456789012345678.0,
                                     -0.0, 2.5e-7,  42,    1.1e100, M_PI};

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        struct str text = {0};
        struct json_out out;

        json_out_init(&out, &text, false);
        json_out_number(&out, numbers[i]);
        assert_true(strtod(str_text(&text), NULL) == numbers[i]);
        if (numbers[i] == 0.1)
            assert_string_equal(str_text(&text), "0.1");
        if (numbers[i] == 42)
            assert_string_equal(str_text(&text), "42");
        str_fini(&text);
    }
}

CASE(what_is_no_number_is_written_as_null)
{
    struct str text = {0};
    struct json_out out;

    json_out_init(&out, &text, false);
    json_out_begin_array(&out);
    json_out_number(&out, NAN);
    json_out_number(&out, -INFINITY);
    json_out_string(&out, NULL);
    json_out_u64(&out, UINT64_MAX);
    json_out_end(&out);
    assert_string_equal(str_text(&text), "[null,null,null,18446744073709551615]");
    str_fini(&text);
}

CASE(strings_survive_writing_and_reading)
{
    const char *nasty = "q\" b\\ n\n t\t \x01 \x7f \xc3\xa9 \xf0\x9f\x90\x95 [{";
    struct str text = {0};
    struct json_doc *doc;
    struct json_out out;

    json_out_init(&out, &text, false);
    json_out_string(&out, nasty);
    doc = parsed(str_text(&text));
    assert_string_equal(json_value_string(json_doc_root(doc)), nasty);
    json_doc_destroy(doc);
    str_fini(&text);
}

CASE(bytes_that_are_no_text_become_the_replacement_sign)
{
    struct str text = {0};
    struct json_out out;

    json_out_init(&out, &text, false);
    json_out_string(&out, "a\xff\xc0\xaf\xed\xa0\x80z\xe2\x82");
    assert_string_equal(str_text(&text),
                        "\"a\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd\\ufffdz\\ufffd\\ufffd\"");
    str_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_come_in_the_order_of_the_file),
        cmocka_unit_test(values_answer_only_as_what_they_are),
        cmocka_unit_test(needed_members_are_named_when_they_are_wrong),
        cmocka_unit_test(syntax_errors_name_file_line_and_column),
        cmocka_unit_test(a_million_levels_are_refused_cleanly),
        cmocka_unit_test(brackets_in_strings_do_not_count_as_levels),
        cmocka_unit_test(a_text_of_more_values_than_wanted_is_not_read),
        cmocka_unit_test(written_pretty_with_two_blanks_a_level),
        cmocka_unit_test(numbers_are_short_and_read_back_the_same),
        cmocka_unit_test(what_is_no_number_is_written_as_null),
        cmocka_unit_test(strings_survive_writing_and_reading),
        cmocka_unit_test(bytes_that_are_no_text_become_the_replacement_sign),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
