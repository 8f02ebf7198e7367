/* test_model_calibration.c - quantiles that follow where first windows lay */
#include "model/calibration.h"

#include "base/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

/* Share of drawn windows that are not below what is said of each confidence, once it has
 * learned from as many; windows are drawn from a normal, its lower half stretched. */
static void kept(double mean, double sd, double stretch, double share[3])
{
    struct calibration k;
    struct rng rng;
    long count[3] = {0};

    rng_init(&rng, 11);
    calibration_init(&k);
    for (int i = 0; i < 6000; i++) {
        struct calibration_ends at = calibration_ends(&k, 2);
        double z = rng_normal(&rng), window = mean + sd * (z < 0 ? stretch * z : z);

        if (i >= 1000) {
            count[0] += window >= at.median;
            count[1] += window >= at.low;
            count[2] += window >= at.high;
        }
        calibration_note(&k, 2, window, 1);
    }
    for (int i = 0; i < 3; i++)
        share[i] = (double)count[i] / 5000;
}

static void said_shares_become_true_of_any_distribution(void **state)
{
    static const double cases[][3] = {
        {0, 1, 1}, {0.5, 1, 1}, {-1, 0.5, 1}, {0, 1, 2}, {0.3, 1.5, 0.5}};
    double share[3];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        kept(cases[i][0], cases[i][1], cases[i][2], share);
        assert_true(fabs(share[0] - 0.5) < 0.02);
        assert_true(fabs(share[1] - 0.95) < 0.01);
        assert_true(fabs(share[2] - 0.05) < 0.01);
    }
}

static void a_wild_window_moves_no_more_than_any_other(void **state)
{
    struct calibration near, far;

    (void)state;
    calibration_init(&near);
    calibration_init(&far);
    calibration_note(&near, 0, -3, 1);
    calibration_note(&far, 0, -1e9, 1);
    calibration_note(&far, 0, NAN, 1); /* and none that is no number */
    assert_memory_equal(&near, &far, sizeof(near));
}

static void bases_learn_apart(void **state)
{
    struct calibration k, start;
    struct calibration_ends at;

    (void)state;
    calibration_init(&k);
    calibration_init(&start);
    for (int i = 0; i < 10000; i++)
        calibration_note(&k, calibration_basis(true, false, true), -100, 1);
    assert_memory_equal(&k.bases[0], &start.bases[0], sizeof(k.bases[0]) * 5);
    assert_memory_equal(&k.bases[6], &start.bases[6], sizeof(k.bases[0]) * 2);
    at = calibration_ends(&k, calibration_basis(true, false, true));
    assert_true(at.low < at.median && at.median < at.high && at.low > -10);
}

static void what_was_learned_survives_as_bytes(void **state)
{
    struct bytes_out out = {0};
    struct calibration k, back;
    struct bytes_in in;

    (void)state;
    calibration_init(&k);
    for (int i = 0; i < 50; i++)
        calibration_note(&k, i % CALIBRATION_BASES, i - 25, 1);
    calibration_code(&k, &(struct codec){.out = &out});
    calibration_init(&back);
    in = (struct bytes_in){out.items, out.count, false};
    calibration_code(&back, &(struct codec){.in = &in});
    assert_false(in.bad);
    assert_int_equal(in.left, 0);
    assert_memory_equal(&k, &back, sizeof(k));
    bytes_out_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(said_shares_become_true_of_any_distribution),
        cmocka_unit_test(a_wild_window_moves_no_more_than_any_other),
        cmocka_unit_test(bases_learn_apart),
        cmocka_unit_test(what_was_learned_survives_as_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
