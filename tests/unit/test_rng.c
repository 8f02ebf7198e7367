/* test_rng.c - numbers depend on seed and stream alone and have the laws they claim */
#include "base/rng.h"
#include "support/test.h"

#include <math.h>

enum { DRAWS = 200000 };

CASE(equal_seeds_draw_alike_and_others_do_not)
{
    struct rng a, b, c;

    rng_init(&a, 7);
    rng_init(&b, 7);
    rng_init(&c, 8);
    for (int i = 0; i < 100; i++) {
        uint64_t x = rng_u64(&a);

        assert_true(x == rng_u64(&b));
        assert_true(x != rng_u64(&c));
    }
}

/* The reference implementation of xoshiro256** and splitmix64 gives these for seed 0. */
CASE(seed_0_gives_the_published_numbers)
{
    struct rng rng;

    rng_init(&rng, 0);
    assert_true(rng.s[0] == 0xe220a8397b1dcdafu);
    assert_true(rng.s[1] == 0x6e789e6aa1b965f4u);
    assert_true(rng_u64(&rng) == 0x99ec5f36cb75f2b4u);
}

CASE(streams_of_one_seed_differ)
{
    struct rng a, b, again;

    rng_stream(&a, 7, 1);
    rng_stream(&b, 7, 2);
    rng_stream(&again, 7, 1);
    for (int i = 0; i < 100; i++) {
        uint64_t x = rng_u64(&a);

        assert_true(x != rng_u64(&b));
        assert_true(x == rng_u64(&again));
    }
}

CASE(mix_depends_on_both_numbers_and_their_order)
{
    assert_true(rng_mix(1, 2) == rng_mix(1, 2));
    assert_true(rng_mix(1, 2) != rng_mix(2, 1));
    assert_true(rng_mix(1, 2) != rng_mix(1, 3));
    assert_true(rng_mix(0, 0) != 0);
}

CASE(uniform_stays_below_1_with_mean_a_half)
{
    struct rng rng;
    double sum = 0;

    rng_init(&rng, 3);
    for (int i = 0; i < DRAWS; i++) {
        double u = rng_uniform(&rng);

        assert_true(u >= 0 && u < 1);
        sum += u;
    }
    assert_true(fabs(sum / DRAWS - 0.5) < 0.005);
}

CASE(normal_has_mean_0_and_sd_1)
{
    struct rng rng;
    double sum = 0, squares = 0;

    rng_init(&rng, 4);
    for (int i = 0; i < DRAWS; i++) {
        double z = rng_normal(&rng);

        sum += z;
        squares += z * z;
    }
    assert_true(fabs(sum / DRAWS) < 0.01);
    assert_true(fabs(squares / DRAWS - 1) < 0.02);
}

CASE(exponential_has_the_mean_asked_for)
{
    struct rng rng;
    double sum = 0;

    rng_init(&rng, 5);
    for (int i = 0; i < DRAWS; i++) {
        double x = rng_exponential(&rng, 30);

        assert_true(x >= 0 && isfinite(x));
        sum += x;
    }
    assert_true(fabs(sum / DRAWS - 30) < 0.5);
}

CASE(ranges_are_kept)
{
    struct rng rng;
    int below_10 = 0;

    rng_init(&rng, 6);
    for (int i = 0; i < 10000; i++) {
        double x = rng_range(&rng, -2, 3), y = rng_log_range(&rng, 1, 100);

        assert_true(x >= -2 && x < 3);
        assert_true(y >= 1 && y <= 100 * (1 + 1e-12));
        below_10 += y < 10; /* half of the logarithm's range */
    }
    assert_true(below_10 > 4800 && below_10 < 5200);
}

CASE(below_gives_every_number_its_share)
{
    int counts[7] = {0};
    struct rng rng;

    rng_init(&rng, 9);
    for (int i = 0; i < 70000; i++) {
        size_t n = rng_below(&rng, 7);

        assert_true(n < 7);
        counts[n]++;
    }
    for (int n = 0; n < 7; n++)
        assert_true(counts[n] > 9500 && counts[n] < 10500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_seeds_draw_alike_and_others_do_not),
        cmocka_unit_test(seed_0_gives_the_published_numbers),
        cmocka_unit_test(streams_of_one_seed_differ),
        cmocka_unit_test(mix_depends_on_both_numbers_and_their_order),
        cmocka_unit_test(uniform_stays_below_1_with_mean_a_half),
        cmocka_unit_test(normal_has_mean_0_and_sd_1),
        cmocka_unit_test(exponential_has_the_mean_asked_for),
        cmocka_unit_test(ranges_are_kept),
        cmocka_unit_test(below_gives_every_number_its_share),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
