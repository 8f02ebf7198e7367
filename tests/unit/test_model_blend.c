/* test_model_blend.c - how several beliefs become one, and how wide its intervals are */
#include "base/rng.h"
#include "model/blend.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

enum { MISSES = 900 };

static void weights_are_one_together_whatever_the_cell_is(void **state)
{
    (void)state;
    for (int kind = 0; kind < PAIR_KINDS; kind++)
        for (int measured = 0; measured < 40; measured++)
            for (int sibling = 0; sibling < 2; sibling++)
                for (unsigned without = 0; without + 1 < 1u << BLEND_EXPERTS; without++) {
                    struct blend_place at = {kind, measured, sibling, 1};
                    struct blend_weights w = blend_weights_at(&at, without);
                    double sum = 0;

                    for (int e = 0; e < BLEND_EXPERTS; e++) {
                        assert_true(w.of[e] >= 0);
                        assert_true(!(without & 1u << e) || w.of[e] == 0);
                        sum += w.of[e];
                    }
                    assert_true(sum > 0.999);
                }
}

/* What was measured of a job counts more and more, and then the core follows it best. */
static void the_core_gains_with_every_measurement(void **state)
{
    (void)state;
    for (int kind = 0; kind < PAIR_KINDS; kind++) {
        double before = 0;

        for (int measured = 0; measured < 30; measured++) {
            struct blend_place at = {kind, measured, false, 1};
            double core = blend_weights_at(&at, 0).of[BLEND_CORE];

            assert_true(core >= before);
            before = core;
        }
    }
}

static void a_mix_is_less_sure_where_experts_differ(void **state)
{
    struct blend_weights half = {{0.5, 0, 0.5, 0, 0}};
    struct blend_said same = {{{-0.5, 0.1}, {0, 0}, {-0.5, 0.1}, {0, 0}, {0, 0}}};
    struct blend_said apart = {{{-0.2, 0.1}, {0, 0}, {-0.8, 0.1}, {0, 0}, {0, 0}}};

    struct blend_shift shift[PAIR_KINDS];

    (void)state;
    for (int kind = 0; kind < PAIR_KINDS; kind++) {
        struct blend_place at = {kind, 1, false, 1};
        struct blend_belief a, b;

        shift[kind] = blend_shift_at(&at);
        a = blend_mix(&same, &half, shift[kind]);
        b = blend_mix(&apart, &half, shift[kind]);

        assert_true(fabs(a.sd - 0.1) < 1e-12);
        assert_true(fabs(b.sd - sqrt(0.01 + 0.09)) < 1e-12);
        /* An error upwards costs more: the point lies below the mean, by more the less
         * sure. */
        assert_true(a.mean < -0.5 && b.mean < a.mean);
    }
    /* Own speeds stray further downwards. */
    assert_true(blend_mix(&apart, &half, shift[PAIR_OWN]).mean <
                blend_mix(&apart, &half, shift[PAIR_EFFECT]).mean);
}

/* A new family's job far below all known ones is guessed lower; where a sibling is known,
 * that one tells, and effects do not follow from own speeds. */
static void the_point_of_an_odd_row_lies_lower(void **state)
{
    struct blend_place usual = {PAIR_OWN, 1, false, 1}, odd = {PAIR_OWN, 1, false, 9};
    struct blend_place most = {PAIR_OWN, 1, false, 1000};
    struct blend_place known = {PAIR_OWN, 1, true, 9};
    struct blend_place effect = {PAIR_EFFECT, 1, false, 9};
    double share = blend_shift_at(&usual).share;

    (void)state;
    assert_true(blend_shift_at(&odd).share > 2 * share);
    assert_true(blend_shift_at(&most).share > blend_shift_at(&odd).share);
    assert_true(blend_shift_at(&most).share < 2);
    assert_true(blend_shift_at(&known).share <= share);
    assert_true(blend_shift_at(&effect).share < share);
}

static const struct blend_place fitted = {PAIR_OWN, 10, false, 1};

static void widths_hold_nine_tenths_of_new_errors(void **state)
{
    static const struct blend_place strange = {PAIR_OWN, 0, false, 1};
    struct blend_miss misses[MISSES];
    struct rng rng;
    double width;
    int inside = 0;

    (void)state;
    rng_init(&rng, 7);
    for (int i = 0; i < MISSES; i++)
        misses[i] = (struct blend_miss){fabs(rng_normal(&rng)), i % 9};
    width = blend_width_choose(misses, MISSES, &fitted);
    for (int i = 0; i < 10000; i++)
        inside += fabs(rng_normal(&rng)) <= width;
    assert_true(inside > 9000 && inside < 9500);
    /* Nine families say less of a tenth than of their own further cells. */
    assert_true(blend_width_choose(misses, MISSES, &strange) > width);
}

/* One family with many cells does not decide alone, and few families say little. */
static void a_large_family_does_not_outvote_the_others(void **state)
{
    struct blend_miss misses[MISSES], few[40];
    struct rng rng;
    double all;

    (void)state;
    rng_init(&rng, 8);
    for (int i = 0; i < MISSES; i++) {
        bool large = i >= 100;

        misses[i] = (struct blend_miss){fabs(rng_normal(&rng)) * (large ? 0.3 : 2),
                                        large ? 9 : i % 9};
    }
    all = blend_width_choose(misses, MISSES, &fitted);
    assert_true(all > 1.0);
    for (int i = 0; i < 40; i++)
        few[i] = (struct blend_miss){0.1, i % 2};
    assert_true(blend_width_choose(few, 40, &fitted) > 0.8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_are_one_together_whatever_the_cell_is),
        cmocka_unit_test(the_core_gains_with_every_measurement),
        cmocka_unit_test(a_mix_is_less_sure_where_experts_differ),
        cmocka_unit_test(the_point_of_an_odd_row_lies_lower),
        cmocka_unit_test(widths_hold_nine_tenths_of_new_errors),
        cmocka_unit_test(a_large_family_does_not_outvote_the_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
