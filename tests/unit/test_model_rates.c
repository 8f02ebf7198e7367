/* test_model_rates.c - rates alone: ratios, family levels, the core's share */
#include "lab/eval/fold.h"
#include "model/rates.h"
#include "model/ratios.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static struct rates *create(void)
{
    struct kernel_params params;
    struct rates *rates;

    kernel_default(&params);
    rates = rates_create(&params);
    for (int g = 0; g < 3; g++)
        rates_add_gpu(rates, &(struct gpu_trait){g - 1.0, 0});
    return rates;
}

/* ln steps/s of a described job nobody measured, after others were. */
static double level_of_described(struct rates *r, int gpu)
{
    /* ResNet-50: 4.1 GMAC, batch 64 */
    struct job_descriptor resnet = {.batch = 64, .gmac_per_sample = 4.1};
    struct job_trait trait = job_trait_of(&resnet, 7);

    return rates_predict_guest(r, &(struct rates_guest){&trait, 0, 7}, gpu).mean;
}

/* 0.038/s of a program nobody described once made a ResNet-50 be believed at 0.0008/s. */
static void one_odd_job_does_not_move_the_level_of_all_others(void **state)
{
    struct rates *r = create();
    double before = level_of_described(r, 2);
    struct job_trait unknown = job_trait_of(&(struct job_descriptor){0}, 0);
    struct job_trait odd =
        job_trait_of(&(struct job_descriptor){.batch = 32, .gmac_per_sample = 2}, 1);

    (void)state;
    rates_observe(r, rates_add_job(r, &unknown), 2, log(0.038));
    assert_true(fabs(level_of_described(r, 2) - before) < 1e-9);
    rates_observe(r, rates_add_job(r, &odd), 2, log(0.0001));
    assert_true(fabs(level_of_described(r, 2) - before) < log(2));
    for (int i = 0; i < 30; i++) { /* many that agree are believed */
        odd.family = 10 + i;
        rates_observe(r, rates_add_job(r, &odd), 2, log(0.0001));
    }
    assert_true(level_of_described(r, 2) < before - log(100));
    rates_destroy(r);
}

static void a_family_that_takes_a_fixed_and_a_growing_time_is_extrapolated(void **state)
{
    struct rates *r = create();
    struct rates_guess g;
    int asked;

    (void)state;
    for (int b = 0; b < 3; b++) { /* batches 32, 64, 128: 10 ms and 1 ms a sample */
        double batch = 32 << b;
        int job = rates_add_job(r, &(struct job_trait){0, log2(batch) / 2, 8, 0});

        rates_observe(r, job, 0, -log(0.01 + 0.001 * batch));
    }
    asked = rates_add_job(r, &(struct job_trait){0, 2, 8, 0}); /* 16 */
    g = rates_predict(r, asked, 0);
    assert_int_equal(g.basis, RATES_FAMILY);
    assert_int_equal(g.observations, 3);
    assert_true(fabs(g.mean + log(0.026)) < 0.1);
    rates_destroy(r);
}

static void one_measurement_is_carried_by_the_familys_ratio(void **state)
{
    struct rates *r = create();
    struct rates_guess g;
    int asked;

    (void)state;
    for (int i = 0; i < 6; i++) { /* family 0 gains 3 from type 0 to 2, others 8 */
        int job = rates_add_job(r, &(struct job_trait){i % 2, 2 + i / 4.0, 8, 0});

        rates_observe(r, job, 0, 1);
        rates_observe(r, job, 2, 1 + log(i % 2 ? 8 : 3));
    }
    asked = rates_add_job(r, &(struct job_trait){0, 2.1, 8, 0});
    rates_observe(r, asked, 0, 1);
    g = rates_predict(r, asked, 2);
    assert_int_equal(g.basis, RATES_ONE);
    assert_true(fabs(g.mean - 1 - log(3)) < 0.35);
    rates_destroy(r);
}

static void what_is_taken_back_is_forgotten(void **state)
{
    struct rates *r = create();
    int a = rates_add_job(r, &(struct job_trait){0, 2, 8, 0});
    int b = rates_add_job(r, &(struct job_trait){1, 3, 7, 0});
    double before;

    (void)state;
    rates_observe(r, b, 0, 2);
    rates_observe(r, b, 1, 3);
    before = rates_predict(r, b, 2).mean;
    rates_observe(r, a, 0, 5);
    rates_observe(r, a, 1, 4);
    fold_take_back(r, a, 1);
    fold_take_back(r, a, 0);
    assert_true(isnan(rates_seen(r, a, 0)));
    assert_true(fabs(rates_predict(r, b, 2).mean - before) < 1e-9);
    rates_observe(r, b, 1, 3.5); /* indices still fit */
    assert_true(rates_predict(r, b, 1).mean == 3.5);
    rates_destroy(r);
}

static void a_familys_ratio_is_that_of_the_family(void **state)
{
    const struct job_trait jobs[] = {
        {0, 3, 8, 1}, {0, 3, 8, 1}, {1, 3, 8, 1}, {1, 3, 8, 1}, {1, 3, 8, 1}};
    const struct gpu_trait gpus[] = {{0, 0}, {1, 0}};
    double seen[5][WORLD_MAX_GPUS];
    struct ratios_view view = {
        .jobs = jobs, .gpus = gpus, .job_count = 5, .gpu_count = 2, .seen = &seen[0][0]};

    (void)state;
    for (int j = 0; j < 5; j++)
        for (int g = 0; g < WORLD_MAX_GPUS; g++)
            seen[j][g] = g > 1 ? NAN : j + g * (j == 1 ? 0.5 : 2.0);
    seen[0][1] = NAN;
    assert_float_equal(ratios_between(&view, 0, 0, 1), 0.5, 1e-9);
    seen[1][1] = NAN; /* nobody of its family any more: the others */
    assert_float_equal(ratios_between(&view, 0, 0, 1), 2.0, 1e-9);
}

static void a_job_nobody_knows_gets_a_wide_guess(void **state)
{
    struct rates *r = create();
    int job = rates_add_job(r, &(struct job_trait){-1, 2, 8, 0});
    struct rates_guess g = rates_predict(r, job, 1);

    (void)state;
    assert_int_equal(g.basis, RATES_NOTHING);
    assert_true(isfinite(g.mean) && g.sd > 1);
    rates_destroy(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_odd_job_does_not_move_the_level_of_all_others),
        cmocka_unit_test(a_family_that_takes_a_fixed_and_a_growing_time_is_extrapolated),
        cmocka_unit_test(one_measurement_is_carried_by_the_familys_ratio),
        cmocka_unit_test(what_is_taken_back_is_forgotten),
        cmocka_unit_test(a_familys_ratio_is_that_of_the_family),
        cmocka_unit_test(a_job_nobody_knows_gets_a_wide_guess),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
