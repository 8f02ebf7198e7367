/* test_intern.c - names get ids in order of first sight and keep them */
#include "base/intern.h"
#include "support/test.h"

#include <stdio.h>

CASE(ids_count_up_in_order_of_first_sight)
{
    struct intern *names = intern_create();

    assert_int_equal(intern_id(names, "b"), 0);
    assert_int_equal(intern_id(names, "a"), 1);
    assert_int_equal(intern_id(names, "b"), 0);
    assert_int_equal(intern_id(names, ""), 2);
    assert_int_equal(intern_count(names), 3);
    intern_destroy(names);
}

CASE(finding_adds_nothing)
{
    struct intern *names = intern_create();

    assert_int_equal(intern_find(names, "a"), -1);
    assert_int_equal(intern_count(names), 0);
    intern_id(names, "a");
    assert_int_equal(intern_find(names, "a"), 0);
    assert_int_equal(intern_find(names, "A"), -1);
    intern_destroy(names);
    intern_destroy(NULL);
}

/* More names than buckets, so that chains are walked. */
CASE(thousands_of_names_are_told_apart)
{
    struct intern *names = intern_create();
    char name[16];

    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 5000; i++) {
            snprintf(name, sizeof(name), "name-%d", i);
            assert_int_equal(intern_id(names, name), i);
            name[0] = 'x'; /* the table keeps a copy of its own */
        }
    assert_string_equal(intern_name(names, 4321), "name-4321");
    assert_int_equal(intern_count(names), 5000);
    intern_destroy(names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_count_up_in_order_of_first_sight),
        cmocka_unit_test(finding_adds_nothing),
        cmocka_unit_test(thousands_of_names_are_told_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
