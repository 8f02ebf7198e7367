/* test_suggest.c - what counts as a misspelling */
#include "base/suggest.h"
#include "support/test.h"

#include <stdbool.h>
#include <string.h>

static const char *nearest(const char *typed)
{
    static const char *const names[] = {"sim", "eval", "bench", "submit", "nodes"};
    struct suggest s = {.typed = typed};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        suggest_try(&s, names[i]);
    return s.best;
}

CASE(finds_swapped_missing_and_extra_letters)
{
    assert_string_equal(nearest("smi"), "sim");
    assert_string_equal(nearest("evall"), "eval");
    assert_string_equal(nearest("sumbit"), "submit");
    assert_string_equal(nearest("node"), "nodes");
}

CASE(takes_the_beginning_of_a_name)
{
    assert_string_equal(nearest("su"), "submit");
}

CASE(says_nothing_about_unrelated_words)
{
    assert_null(nearest("dashboard"));
    assert_null(nearest("x"));
    assert_null(nearest(""));
}

static bool is_near(const char *typed, const char *name)
{
    struct suggest s = {.typed = typed};

    suggest_try(&s, name);
    return s.best != NULL;
}

CASE(counts_edits)
{
    char long_word[200];

    assert_false(is_near("", "abc"));
    assert_true(is_near("abcd", "acbd")); /* one, of two letters it could be */
    assert_false(is_near("kitten", "sitting"));
    assert_true(is_near("kittens", "sitting")); /* three, of seven letters */
    memset(long_word, 'a', sizeof(long_word) - 1);
    long_word[sizeof(long_word) - 1] = '\0';
    assert_false(is_near(long_word, "a"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_swapped_missing_and_extra_letters),
        cmocka_unit_test(takes_the_beginning_of_a_name),
        cmocka_unit_test(says_nothing_about_unrelated_words),
        cmocka_unit_test(counts_edits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
