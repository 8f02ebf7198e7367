/* test_mem.c - memory comes zeroed, grows zeroed and copies whole */
#include "base/mem.h"
#include "base/vec.h"
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

CASE(new_memory_is_zeroed)
{
    int *numbers = mem_array(int, 1000);

    for (int i = 0; i < 1000; i++)
        assert_int_equal(numbers[i], 0);
    free(numbers);
    numbers = mem_array(int, 0); /* nothing is still something to free */
    assert_non_null(numbers);
    free(numbers);
}

CASE(growth_keeps_the_old_and_zeroes_the_new)
{
    int *numbers = mem_array(int, 4);

    for (int i = 0; i < 4; i++)
        numbers[i] = i + 1;
    numbers = mem_resize(numbers, 4, 400, sizeof(int));
    for (int i = 0; i < 400; i++)
        assert_int_equal(numbers[i], i < 4 ? i + 1 : 0);
    numbers = mem_resize(numbers, 400, 2, sizeof(int));
    assert_int_equal(numbers[1], 2);
    free(numbers);
}

CASE(copies_are_of_their_own)
{
    char text[] = "corgi";
    char *copy = mem_strdup(text);
    void *none = mem_dup(NULL, 0, 8);

    text[0] = 'x';
    assert_string_equal(copy, "corgi");
    assert_non_null(none);
    free(copy);
    free(none);
}

CASE(vectors_keep_their_items_while_they_grow)
{
    vec_of(int) list = {0};
    int sum = 0;

    vec_each (int, item, &list)
        sum += *item; /* an empty one is visited not at all */
    for (int i = 1; i <= 1000; i++)
        vec_push(&list, i);
    vec_each (int, item, &list)
        sum += *item;
    assert_int_equal(sum, 500500);
    assert_int_equal(list.count, 1000);
    vec_clear(&list);
    assert_int_equal(list.count, 0);
    assert_true(list.capacity >= 1000);
    vec_free(&list);
    assert_null(list.items);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(new_memory_is_zeroed),
        cmocka_unit_test(growth_keeps_the_old_and_zeroes_the_new),
        cmocka_unit_test(copies_are_of_their_own),
        cmocka_unit_test(vectors_keep_their_items_while_they_grow),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
