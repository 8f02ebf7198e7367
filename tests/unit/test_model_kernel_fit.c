/* test_model_kernel_fit.c - the gradient of the likelihood, and what fitting does with it
 */
#include "base/rng.h"
#include "model/kernel_fit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

enum { JOBS = 6, GPUS = 3, SEEN = 50 };

static struct gp *observed(bool relative, double spread_of_last)
{
    struct kernel_params params;
    struct gp *core;
    struct rng rng;

    kernel_default(&params);
    core = gp_create(&params, relative);
    rng_init(&rng, 3);
    for (int j = 0; j < JOBS; j++)
        gp_add_job(core, &(struct job_trait){j / 2, 1 + 0.5 * j, 7 + 0.4 * j, 0});
    for (int g = 0; g < GPUS; g++)
        gp_add_gpu(core, &(struct gpu_trait){0.7 * g - 1, 0});
    for (int i = 0; i < SEEN; i++) {
        struct cell cell = {(int)rng_below(&rng, JOBS), (int)rng_below(&rng, GPUS),
                            (int)rng_below(&rng, JOBS + !relative) - !relative};
        double wide = cell.gpu == GPUS - 1 ? spread_of_last : 0.2;

        gp_observe(core, cell, -0.5 + wide * rng_normal(&rng), 0);
    }
    return core;
}

/* Pairs as they start: jobs are alike by their rates too, and by counters, of which one
 * job has none and one has others. */
static struct gp *observed_pairs(void)
{
    struct gp *core = observed(true, 0.4);
    struct kernel_params params;
    struct rng rng;

    kernel_pairs_default(&params);
    rng_init(&rng, 4);
    for (int j = 0; j < JOBS; j++) {
        double rates[GPUS];

        for (int g = 0; g < GPUS; g++)
            rates[g] = j == 1 ? NAN : 0.5 * g + 0.4 * rng_normal(&rng);
        gp_set_rates(core, j, rates);
        if (j != 2) {
            struct job_counters counted = job_counters_none();

            counted.of[COUNTER_WATTS] = rng_uniform(&rng);
            if (j != 3)
                counted.of[COUNTER_BUSY] = rng_uniform(&rng);
            gp_set_counters(core, j, &counted);
        }
    }
    params.v[KERNEL_WC] = 0.5;
    gp_set_params(core, &params);
    return core;
}

static double loss_at(struct gp *core, const struct kernel_params *params,
                      double *gradient)
{
    gp_set_params(core, params);
    return kernel_fit_loss(core, gradient);
}

static void gradient_is_that_of_finite_differences(void **state)
{
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        struct gp *core = kind == 2 ? observed_pairs() : observed(kind, 0.4);
        struct kernel_params at = core->params;
        double gradient[KERNEL_PARAM_COUNT];

        at.v[KERNEL_SPREAD + 1] = 0.3;
        loss_at(core, &at, gradient);
        for (int p = 0; p < KERNEL_LEVEL + GPUS; p++) {
            struct kernel_params up = at, down = at;
            double numeric;

            if (p >= KERNEL_SPREAD + GPUS && p < KERNEL_LEVEL)
                continue;

            up.v[p] += 1e-5;
            down.v[p] -= 1e-5;
            numeric =
                (loss_at(core, &up, NULL) - loss_at(core, &down, NULL)) / (2 * 1e-5);
            if (!(fabs(numeric - gradient[p]) < 1e-4 * (1 + fabs(numeric))))
                fail_msg("parameter %d: %g, numerically %g", p, gradient[p], numeric);
        }
        gp_destroy(core);
    }
}

static void fitting_lowers_the_loss_and_finds_the_wide_gpu(void **state)
{
    struct gp *core = observed(true, 0.8);
    struct kernel_params from = core->params, fitted;
    struct kernel_fit_options how = {.steps = 150, .rate = 0.05, .pull = 0.001};

    (void)state;
    fitted = kernel_fit_params(core, &from, &how);
    assert_true(loss_at(core, &fitted, NULL) < loss_at(core, &from, NULL) - 0.1);
    assert_true(fitted.v[KERNEL_SPREAD + 2] > fitted.v[KERNEL_SPREAD] + 0.2);
    gp_destroy(core);
}

static void a_strong_pull_keeps_the_shipped_values(void **state)
{
    struct gp *core = observed(true, 0.8);
    struct kernel_params from = core->params, fitted;
    struct kernel_fit_options how = {.steps = 40, .rate = 0.05, .pull = 1000};

    (void)state;
    fitted = kernel_fit_params(core, &from, &how);
    for (int p = 0; p < KERNEL_FIXED_COUNT; p++)
        assert_true(fabs(fitted.v[p] - from.v[p]) < 0.2);
    gp_destroy(core);
}

static void fitting_nothing_changes_nothing(void **state)
{
    struct kernel_params params, fitted;
    struct kernel_fit_options how = {.steps = 5, .rate = 0.05};
    struct gp *core;

    (void)state;
    kernel_default(&params);
    core = gp_create(&params, true);
    fitted = kernel_fit_params(core, &params, &how);
    assert_memory_equal(&fitted, &params, sizeof(params));
    gp_destroy(core);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradient_is_that_of_finite_differences),
        cmocka_unit_test(fitting_lowers_the_loss_and_finds_the_wide_gpu),
        cmocka_unit_test(a_strong_pull_keeps_the_shipped_values),
        cmocka_unit_test(fitting_nothing_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
