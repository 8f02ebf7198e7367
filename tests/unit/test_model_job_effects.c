/* test_model_job_effects.c - what is measured of one job itself, and what windows teach
 */
#include "model/job_effects.h"
#include "model/running.h"
#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

static void a_pool_starts_at_its_prior_and_follows_samples(void **state)
{
    struct pooled p = pooled_start(0.01, 6);
    struct rng rng;

    (void)state;
    assert_float_equal(pooled_var(&p), 0.01, 1e-12);
    rng_init(&rng, 1);
    for (int i = 0; i < 2000; i++) {
        double x = 0.3 * rng_normal(&rng);

        pooled_add(&p, x * x);
    }
    assert_float_equal(sqrt(pooled_var(&p)), 0.3, 0.03);
}

static void one_wild_sample_does_not_own_the_pool(void **state)
{
    struct pooled p = pooled_start(0.01, 50);

    (void)state;
    pooled_add(&p, 100);
    assert_true(pooled_var(&p) < 0.02);
}

static void places_are_told_apart_by_type_neighbours_and_spread(void **state)
{
    int ab[] = {3, 5}, ba[] = {5, 3}, aa[] = {3, 3};

    (void)state;
    assert_true(job_effects_key(0, ab, 2, false) == job_effects_key(0, ba, 2, false));
    assert_true(job_effects_key(0, ab, 2, false) != job_effects_key(0, aa, 2, false));
    assert_true(job_effects_key(0, ab, 2, false) != job_effects_key(1, ab, 2, false));
    assert_true(job_effects_key(0, ab, 2, false) != job_effects_key(0, ab, 2, true));
    assert_true(job_effects_key(0, ab, 1, false) != job_effects_key(0, NULL, 0, false));
}

static void the_place_not_seen_for_longest_gives_way(void **state)
{
    struct job_effects *book = job_effects_create();
    struct job_own *own;

    (void)state;
    job_effects_begin(book, 7, 0, 1);
    own = job_effects_find(book, 7);
    for (uint64_t i = 0; i < JOB_EFFECTS_MAX_PLACES; i++)
        job_effects_place_take(own, 100 + i)->stamp = i + 1;
    job_effects_place_take(own, 100)->stamp = 50;
    job_effects_place_take(own, 500)->stamp = 51;
    assert_non_null(job_effects_place(own, 100));
    assert_non_null(job_effects_place(own, 500));
    assert_null(job_effects_place(own, 101));
    assert_int_equal(own->count, JOB_EFFECTS_MAX_PLACES);
    job_effects_destroy(book);
}

static void a_job_that_ends_leaves_nothing_to_the_next(void **state)
{
    struct job_effects *book = job_effects_create();
    struct job_own *own;

    (void)state;
    job_effects_begin(book, 7, 3, 1);
    own = job_effects_find(book, 7);
    job_effects_place_take(own, 1);
    job_effects_end(book, 7);
    assert_null(job_effects_find(book, 7));
    job_effects_begin(book, 8, 4, 5);
    own = job_effects_find(book, 8);
    assert_int_equal(own->count, 0);
    assert_int_equal(own->cls, 4);
    assert_int_equal(own->version, 5);
    job_effects_destroy(book);
}

/* Nothing is believed of the place, and of a hundred windows one is wrong. */
static const struct window_prior nothing = {1, 1, 0.01};

/* Share of windows inside the 90 % interval said before they came. */
static double coverage(double noise_sd, double wander_sd, double gap_s,
                       const struct window_noise *believed)
{
    struct job_place place = {.told = NAN};
    struct rng rng;
    double level = 1, at_s = 0;
    int inside = 0, count = 0;

    rng_init(&rng, 3);
    for (int i = 0; i < 3000; i++) {
        double value = level + noise_sd * rng_normal(&rng);

        if (place.drift.times > 0) {
            double sd = sqrt(job_effects_window_var(&place, believed));

            inside += fabs(value - place.drift.mean) <= 1.645 * sd;
            count++;
        }
        job_effects_push(&place, value, at_s, believed, &nothing);
        at_s += gap_s;
        level += wander_sd * rng_normal(&rng);
    }
    return (double)inside / count;
}

static void windows_stay_inside_what_was_said_of_them(void **state)
{
    struct window_noise still = {0.03 * 0.03, 0};
    struct window_noise wandering = {0.03 * 0.03, 0.05 * 0.05 / 3600};

    (void)state;
    assert_float_equal(coverage(0.03, 0, 300, &still), 0.9, 0.03);
    /* A place noisier than windows in general is found out. */
    assert_float_equal(coverage(0.06, 0, 300, &still), 0.9, 0.05);
    assert_float_equal(coverage(0.03, 0.05, 3600, &wandering), 0.9, 0.04);
}

static struct window_fate push(struct job_place *place, double value, double wrong)
{
    const struct window_noise noise = {0.03 * 0.03, 0};
    const struct window_prior expected = {1, 0.2 * 0.2, wrong};

    return job_effects_push(place, value, 0, &noise, &expected);
}

static void a_window_ten_times_too_high_moves_nothing(void **state)
{
    struct job_place place = {.told = NAN};
    struct window_fate fate;
    double mean, squares;

    (void)state;
    for (int i = 0; i < 6; i++)
        assert_true(push(&place, 1 + 0.01 * (i % 2), 0.01).kept);
    mean = place.drift.mean;
    squares = place.squares;
    fate = push(&place, 3.3, 0.01);
    assert_true(!fate.kept && !fate.changed && isnan(fate.surprise));
    assert_true(place.drift.mean >= mean && place.drift.mean <= mean);
    fate = push(&place, 1, 0.01);
    assert_true(fate.kept && fate.wrong == 1);
    assert_float_equal(place.squares, squares, 1e-3);
}

static void a_first_window_far_from_what_is_expected_waits_for_a_second(void **state)
{
    struct job_place right = {.told = NAN}, wrong = {.told = NAN}, near = {.told = NAN};

    (void)state;
    assert_true(push(&near, 1.1, 0.1).kept && near.sure);
    assert_false(push(&right, 3.3, 0.01).kept);
    assert_false(right.drift.times > 0);
    assert_true(push(&right, 3.31, 0.01).kept);
    assert_true(right.sure);
    assert_float_equal(right.drift.mean, 3.3, 0.01);
    assert_false(push(&wrong, 3.3, 0.01).kept);
    assert_true(push(&wrong, 1, 0.01).kept);
    assert_float_equal(wrong.drift.mean, 1, 1e-9);
}

/* Windows far off until the change is believed, after six at 1. */
static int windows_of_a_change(double wrong, struct job_place *place)
{
    int count = 0;

    *place = (struct job_place){.told = NAN};
    for (int i = 0; i < 6; i++)
        push(place, 1, wrong);
    while (count < 20 && !push(place, -1.3, wrong).changed)
        count++;
    return count + 1;
}

static void the_more_windows_are_wrong_the_more_must_say_so(void **state)
{
    struct job_place place;
    struct window_fate fate;

    (void)state;
    assert_int_equal(windows_of_a_change(0.005, &place), 2);
    assert_int_equal(windows_of_a_change(0.1, &place), 4);
    assert_float_equal(place.drift.mean, -1.3, 1e-9);
    /* What it was before is believed again at once. */
    fate = push(&place, 1.02, 0.1);
    assert_true(fate.changed && fate.wrong == 4);
    assert_float_equal(place.drift.mean, 1, 0.03);
}

static void old_windows_wear_off_when_rates_wander(void **state)
{
    struct window_noise noise = {0.03 * 0.03, 0.05 * 0.05 / 3600};
    struct job_place soon = {.told = NAN}, late = {.told = NAN};

    (void)state;
    for (int i = 0; i < 5; i++) {
        job_effects_push(&soon, 1, i, &noise, &nothing);
        job_effects_push(&late, 1, i, &noise, &nothing);
    }
    job_effects_push(&soon, 1.1, 5, &noise, &nothing);
    job_effects_push(&late, 1.1, 5 + 36000, &noise, &nothing);
    assert_true(soon.drift.mean < 1.03);
    assert_true(late.drift.mean > 1.08);
}

static void a_factor_is_carried_to_other_types_as_far_as_types_agree(void **state)
{
    struct job_evidence seen[3] = {[1] = {1e6, 0.2e6}};
    struct job_factor none, half, same;

    (void)state;
    none = job_effects_combine(seen, 3, 0, 0.04, 0);
    half = job_effects_combine(seen, 3, 0, 0.04, 0.5);
    same = job_effects_combine(seen, 3, 1, 0.04, 0.5);
    assert_float_equal(none.mean, 0, 1e-9);
    assert_float_equal(none.var, 0.04, 1e-9);
    assert_float_equal(half.mean, 0.1, 1e-3);
    assert_float_equal(half.var, 0.03, 1e-3);
    assert_float_equal(same.mean, 0.2, 1e-3);
    assert_true(same.var < 1e-5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pool_starts_at_its_prior_and_follows_samples),
        cmocka_unit_test(one_wild_sample_does_not_own_the_pool),
        cmocka_unit_test(places_are_told_apart_by_type_neighbours_and_spread),
        cmocka_unit_test(the_place_not_seen_for_longest_gives_way),
        cmocka_unit_test(a_job_that_ends_leaves_nothing_to_the_next),
        cmocka_unit_test(windows_stay_inside_what_was_said_of_them),
        cmocka_unit_test(a_window_ten_times_too_high_moves_nothing),
        cmocka_unit_test(a_first_window_far_from_what_is_expected_waits_for_a_second),
        cmocka_unit_test(the_more_windows_are_wrong_the_more_must_say_so),
        cmocka_unit_test(old_windows_wear_off_when_rates_wander),
        cmocka_unit_test(a_factor_is_carried_to_other_types_as_far_as_types_agree),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
