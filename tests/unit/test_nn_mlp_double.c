/* test_nn_mlp_double.c - gradients of a network and of its loss against finite
 * differences
 */
#include "nn/mlp.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#define STEP      1e-5
#define TOLERANCE 1e-6

enum { MOST_ROWS = 5, INPUTS = 3 };

struct sample {
    struct mlp mlp;
    struct params *params;
    struct mlp_batch *batch;
    int rows;
    nn_real x[MOST_ROWS * INPUTS];
    nn_real target[MOST_ROWS];
};

/* Differences of the loss by a number; small gradients are compared absolutely. */
static void near_difference(double gradient, double above, double below)
{
    double numeric = (above - below) / (2 * STEP);
    double size = fmax(1e-3, fmax(fabs(gradient), fabs(numeric)));

    if (!(fabs(gradient - numeric) < TOLERANCE * size))
        fail_msg("gradient %.12g, by differences %.12g", gradient, numeric);
}

/* The width is kept away from the narrowest one believed in, where the loss has a kink.
 */
static double loss_of(struct sample *s, bool backward)
{
    const nn_real *y = mlp_forward(s->batch, s->params, s->x, s->rows);
    nn_real mean[MOST_ROWS], width[MOST_ROWS], by_mean[MOST_ROWS], by_width[MOST_ROWS];
    nn_real by_y[2 * MOST_ROWS];
    double loss;

    for (int i = 0; i < s->rows; i++) {
        mean[i] = y[2 * i];
        width[i] = 0.3 * y[2 * i + 1] - 0.2;
    }
    loss = mlp_laplace(mean, width, s->target, (size_t)s->rows, by_mean, by_width);
    for (int i = 0; i < s->rows; i++) {
        by_y[2 * i] = by_mean[i];
        by_y[2 * i + 1] = 0.3 * by_width[i];
    }
    if (backward)
        mlp_backward(s->batch, s->params, by_y, NULL);
    return loss;
}

/* Nothing starts at 0, or a gradient could be right by chance. */
static void check_network(const int *widths, int width_count, int rows)
{
    struct sample s = {.rows = rows, .params = params_create()};
    double largest = 0;
    struct rng rng;

    rng_init(&rng, 1);
    mlp_init(&s.mlp, s.params, "mlp", widths, width_count, &rng);
    s.batch = mlp_batch_create(&s.mlp);
    for (int i = 0; i < rows * INPUTS; i++)
        s.x[i] = rng_normal(&rng);
    for (int i = 0; i < rows; i++)
        s.target[i] = rng_normal(&rng);
    for (size_t i = 0; i < s.params->count; i++)
        s.params->value[i] += 0.3 * rng_normal(&rng);
    params_zero_grad(s.params);
    loss_of(&s, true);
    for (size_t i = 0; i < s.params->count; i++) {
        nn_real kept = s.params->value[i];
        double above, below;

        s.params->value[i] = kept + STEP;
        above = loss_of(&s, false);
        s.params->value[i] = kept - STEP;
        below = loss_of(&s, false);
        s.params->value[i] = kept;
        near_difference(s.params->grad[i], above, below);
        largest = fmax(largest, fabs(s.params->grad[i]));
    }
    assert_true(largest > 1e-2);
    mlp_batch_destroy(s.batch);
    params_destroy(s.params);
}

static void network_gradient_matches_differences(void **state)
{
    (void)state;
    check_network((const int[]){INPUTS, 5, 4, 2}, 4, MOST_ROWS);
    check_network((const int[]){INPUTS, 19, 2}, 3, 1); /* one row goes by hand */
    check_network((const int[]){INPUTS, 2}, 2, 4);
}

static void gradients_add_up_over_batches(void **state)
{
    struct sample s = {.rows = 2, .params = params_create()};
    nn_real once[INPUTS * 2 + 2];
    struct rng rng;

    (void)state;
    rng_init(&rng, 2);
    mlp_init(&s.mlp, s.params, "mlp", (const int[]){INPUTS, 2}, 2, &rng);
    s.batch = mlp_batch_create(&s.mlp);
    for (int i = 0; i < 2 * INPUTS; i++)
        s.x[i] = rng_normal(&rng);
    loss_of(&s, true);
    memcpy(once, s.params->grad, sizeof(once));
    loss_of(&s, true);
    for (size_t i = 0; i < s.params->count; i++)
        assert_true(fabs(s.params->grad[i] - 2 * once[i]) < 1e-12);
    mlp_batch_destroy(s.batch);
    params_destroy(s.params);
}

static void loss_gradient_matches_differences(void **state)
{
    const nn_real target[6] = {0.3, -1, 2, 0.1, 5, -3};
    nn_real at[2][6], by[2][6], ignored[2][6];
    struct rng rng;

    (void)state;
    rng_init(&rng, 7);
    for (int i = 0; i < 12; i++)
        at[i / 6][i % 6] = rng_normal(&rng);
    mlp_laplace(at[0], at[1], target, 6, by[0], by[1]);
    for (int i = 0; i < 12; i++) {
        nn_real *value = &at[i / 6][i % 6], kept = *value;
        double above, below;

        *value = kept + STEP;
        above = mlp_laplace(at[0], at[1], target, 6, ignored[0], ignored[1]);
        *value = kept - STEP;
        below = mlp_laplace(at[0], at[1], target, 6, ignored[0], ignored[1]);
        *value = kept;
        near_difference(by[i / 6][i % 6], above, below);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(network_gradient_matches_differences),
        cmocka_unit_test(gradients_add_up_over_batches),
        cmocka_unit_test(loss_gradient_matches_differences),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
