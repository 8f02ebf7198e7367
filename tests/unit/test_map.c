/* test_map.c - the hash map against a plain array */
#include "base/map.h"
#include "base/rng.h"
#include "support/test.h"

CASE(keeps_what_was_put_through_growth_and_removal)
{
    enum { KEYS = 500 };
    size_t expected[KEYS] = {0}; /* 0: absent, else value */
    struct map *map = map_create();
    struct rng rng;

    rng_init(&rng, 1);
    for (int step = 0; step < 20000; step++) {
        size_t key = rng_below(&rng, KEYS);
        size_t value = 0;

        if (rng_uniform(&rng) < 0.5) {
            expected[key] = (size_t)step + 1;
            map_put(map, key * 64, expected[key]);
        } else {
            assert_int_equal(map_remove(map, key * 64), expected[key] != 0);
            expected[key] = 0;
        }
        key = rng_below(&rng, KEYS);
        assert_int_equal(map_get(map, key * 64, &value), expected[key] != 0);
        assert_int_equal(value, expected[key]);
    }
    map_destroy(map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_what_was_put_through_growth_and_removal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
