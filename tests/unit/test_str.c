/* test_str.c - growing strings and bounded copies */
#include "base/str.h"
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

CASE(grows_past_any_first_size)
{
    struct str s = {0};

    assert_string_equal(str_text(&s), "");
    for (int i = 0; i < 1000; i++)
        str_addf(&s, "%03d,", i);
    assert_int_equal(s.length, 4000);
    assert_int_equal(strlen(str_text(&s)), 4000);
    assert_memory_equal(str_text(&s) + 4 * 777, "777,", 4);
    str_fini(&s);
    assert_null(s.text);
}

CASE(adds_text_bytes_and_formats_in_order)
{
    struct str s = {0};

    str_add(&s, "a");
    str_add_bytes(&s, "bcd", 2);
    str_addf(&s, "-%d%s", 7, "");
    assert_string_equal(str_text(&s), "abc-7");
    str_clear(&s);
    assert_string_equal(str_text(&s), "");
    str_add(&s, "again");
    assert_string_equal(str_text(&s), "again");
    str_fini(&s);
}

CASE(take_hands_the_text_over_and_leaves_nothing)
{
    struct str s = {0};
    char *text;

    str_add(&s, "mine");
    text = str_take(&s);
    assert_string_equal(text, "mine");
    assert_null(s.text);
    assert_int_equal(s.length, 0);
    free(text);
    text = str_take(&s); /* of nothing: an empty string, not NULL */
    assert_string_equal(text, "");
    free(text);
}

CASE(starts_and_ends_look_at_the_whole_affix)
{
    assert_true(str_starts("corgi", "cor"));
    assert_true(str_starts("corgi", ""));
    assert_false(str_starts("co", "cor"));
    assert_false(str_starts("xcor", "cor"));
    assert_true(str_ends("a.csv", ".csv"));
    assert_true(str_ends("a", ""));
    assert_false(str_ends("csv", ".csv"));
    assert_false(str_ends("a.csv.gz", ".csv"));
}

CASE(a_list_has_whole_words_only)
{
    assert_true(str_in_list("job,node", ',', "job"));
    assert_true(str_in_list("job,node", ',', "node"));
    assert_false(str_in_list("jobs,node", ',', "job"));
    assert_false(str_in_list("job,node", ' ', "job"));
    assert_false(str_in_list("", ',', "job"));
}

CASE(copy_says_when_it_cut_and_always_terminates)
{
    char to[5];

    assert_true(str_copy(to, sizeof(to), "four"));
    assert_string_equal(to, "four");
    assert_false(str_copy(to, sizeof(to), "fifty"));
    assert_string_equal(to, "fift");
    assert_false(str_copy(to, 1, "x"));
    assert_string_equal(to, "");
    to[0] = 'k';
    assert_false(str_copy(to, 0, "x"));
    assert_int_equal(to[0], 'k');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grows_past_any_first_size),
        cmocka_unit_test(adds_text_bytes_and_formats_in_order),
        cmocka_unit_test(take_hands_the_text_over_and_leaves_nothing),
        cmocka_unit_test(starts_and_ends_look_at_the_whole_affix),
        cmocka_unit_test(a_list_has_whole_words_only),
        cmocka_unit_test(copy_says_when_it_cut_and_always_terminates),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
