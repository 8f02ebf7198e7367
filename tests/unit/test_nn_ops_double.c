/* test_nn_ops_double.c - every operation's gradient against finite differences */
#include "support/gradcheck.h"
#include "nn/linear.h"
#include "nn/loss.h"
#include "nn/pointwise.h"
#include "lab/nn/rowwise.h"
#include "nn/shape.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>

#define TOLERANCE 1e-6
#define STEP      1e-5

struct shape {
    int rows, cols;
};

/* Three groups of columns or tokens: one masked, none masked, all masked. */
static const nn_real mask[12] = {1, 0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0};
static const nn_real targets[6] = {0.3, -1, 2, 0.1, 5, -3};
static const nn_real weights[6] = {1, 0.3, 0, 2, 0.5, 1};
static const nn_real factors[3] = {0.5, 0, -1.5};
static const int picked[5] = {2, 0, 2, 3, 2};

/* Any result becomes a loss with a different slope for each of its numbers. */
static struct var *weighed(struct tape *tape, struct var *y)
{
    nn_real target[256];
    nn_real weight[256];

    assert_true(var_count(y) <= 256);
    for (size_t i = 0; i < var_count(y); i++) {
        target[i] = sin(3.0 * (double)i) - 2;
        weight[i] = 0.5 + 0.1 * (double)(i % 7);
    }
    return loss_mse(tape, y, target, weight);
}

/* Three matrices (rows, cols) of seeded normal numbers: ids 0, 1, 2. */
static void check(gradcheck_loss *loss, const struct shape shapes[3])
{
    struct params *params = params_create();
    struct gradcheck seen;
    struct rng rng;

    rng_init(&rng, 7);
    for (int i = 0; i < 3 && shapes[i].rows > 0; i++) {
        char name[] = {(char)('a' + i), '\0'};
        int id = params_add(params, name, shapes[i].rows, shapes[i].cols);

        for (int j = 0; j < shapes[i].rows * shapes[i].cols; j++)
            params_value(params, id)[j] = rng_normal(&rng);
    }
    seen = gradcheck_run(params, loss, NULL, STEP);
    if (!(seen.worst < TOLERANCE))
        printf("gradient %zu: %.12g, by differences %.12g\n", seen.at, seen.analytic,
               seen.numeric);
    assert_true(seen.worst < TOLERANCE);
    assert_true(seen.largest > 1e-2);
    params_destroy(params);
}

#define A tape_param(tape, params, 0)
#define B tape_param(tape, params, 1)
#define C tape_param(tape, params, 2)

/* gradient_of(name, shape of a, of b, of c, loss): a test that checks the loss. */
#define gradient_of(name, a, b, c, ...)                                                  \
    static struct var *name##_loss(struct tape *tape, struct params *params, void *arg)  \
    {                                                                                    \
        (void)arg;                                                                       \
        return __VA_ARGS__;                                                              \
    }                                                                                    \
    static void name##_gradient_matches_differences(void **state)                        \
    {                                                                                    \
        const struct shape shapes[3] = {a, b, c};                                        \
        (void)state;                                                                     \
        check(name##_loss, shapes);                                                      \
    }                                                                                    \
    static void name##_gradient_matches_differences(void **state)

#define shape(rows, cols) ((struct shape){rows, cols})
#define none              shape(0, 0)

gradient_of(matmul, shape(5, 4), shape(4, 3), none,
            weighed(tape, linear_matmul(tape, A, B)));
gradient_of(matmul_of_one_row, shape(1, 19), shape(19, 3), none,
            weighed(tape, linear_matmul(tape, A, B)));
gradient_of(group_matmul, shape(6, 4), shape(12, 5), none,
            weighed(tape, linear_group_matmul(tape, A, B, 3)));
gradient_of(group_matmul_transposed, shape(6, 4), shape(9, 4), none,
            weighed(tape, linear_group_matmul_transposed(tape, A, B, 3, 0.37)));
gradient_of(bias, shape(5, 4), shape(1, 4), none, weighed(tape, linear_bias(tape, A, B)));
gradient_of(dense, shape(5, 4), shape(4, 3), shape(1, 3),
            weighed(tape, linear_dense(tape, A, B, C)));
gradient_of(relu, shape(5, 4), none, none, weighed(tape, pointwise_relu(tape, A)));
gradient_of(tanh, shape(5, 4), none, none, weighed(tape, pointwise_tanh(tape, A)));
gradient_of(sigmoid, shape(5, 4), none, none, weighed(tape, pointwise_sigmoid(tape, A)));
gradient_of(add, shape(5, 4), shape(5, 4), none,
            weighed(tape, pointwise_add(tape, A, B)));
gradient_of(sub, shape(5, 4), shape(5, 4), none,
            weighed(tape, pointwise_sub(tape, A, B)));
gradient_of(mul, shape(5, 4), shape(5, 4), none,
            weighed(tape, pointwise_mul(tape, A, B)));
gradient_of(square, shape(5, 4), none, none, weighed(tape, pointwise_mul(tape, A, A)));
gradient_of(affine, shape(5, 4), none, none,
            weighed(tape, pointwise_affine(tape, A, 0.3, -1.8)));
gradient_of(scale_rows, shape(3, 4), none, none,
            weighed(tape, pointwise_scale_rows(tape, A, factors)));
gradient_of(gather_rows, shape(4, 3), none, none,
            weighed(tape, shape_gather_rows(tape, A, picked, 5)));
gradient_of(slice_rows, shape(9, 2), none, none,
            weighed(tape, shape_slice_rows(tape, A, 1, 3, 3)));
gradient_of(slice_cols, shape(4, 5), none, none,
            weighed(tape, shape_slice_cols(tape, A, 1, 3)));
gradient_of(concat_cols, shape(4, 2), shape(4, 3), none,
            weighed(tape, shape_concat_cols(tape, A, B)));
gradient_of(softmax, shape(3, 4), none, none,
            weighed(tape, rowwise_softmax(tape, A, NULL, 1)));
gradient_of(masked_softmax, shape(6, 4), none, none,
            weighed(tape, rowwise_softmax(tape, A, mask, 3)));
gradient_of(layer_norm, shape(5, 4), shape(1, 4), shape(1, 4),
            weighed(tape, rowwise_layer_norm(tape, A, B, C)));
gradient_of(masked_mean, shape(12, 3), none, none,
            weighed(tape, rowwise_masked_mean(tape, A, mask, 3)));
gradient_of(mean, shape(6, 3), none, none,
            weighed(tape, rowwise_masked_mean(tape, A, NULL, 2)));
gradient_of(laplace, shape(6, 1), shape(6, 1), none,
            loss_laplace(tape, A, B, targets, NULL));
gradient_of(weighted_laplace, shape(6, 1), shape(6, 1), none,
            loss_laplace(tape, A, B, targets, weights));
gradient_of(mse, shape(3, 2), none, none, loss_mse(tape, A, targets, NULL));
gradient_of(mae, shape(3, 2), none, none, loss_mae(tape, A, targets, weights));

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matmul_gradient_matches_differences),
        cmocka_unit_test(matmul_of_one_row_gradient_matches_differences),
        cmocka_unit_test(group_matmul_gradient_matches_differences),
        cmocka_unit_test(group_matmul_transposed_gradient_matches_differences),
        cmocka_unit_test(bias_gradient_matches_differences),
        cmocka_unit_test(dense_gradient_matches_differences),
        cmocka_unit_test(relu_gradient_matches_differences),
        cmocka_unit_test(tanh_gradient_matches_differences),
        cmocka_unit_test(sigmoid_gradient_matches_differences),
        cmocka_unit_test(add_gradient_matches_differences),
        cmocka_unit_test(sub_gradient_matches_differences),
        cmocka_unit_test(mul_gradient_matches_differences),
        cmocka_unit_test(square_gradient_matches_differences),
        cmocka_unit_test(affine_gradient_matches_differences),
        cmocka_unit_test(scale_rows_gradient_matches_differences),
        cmocka_unit_test(gather_rows_gradient_matches_differences),
        cmocka_unit_test(slice_rows_gradient_matches_differences),
        cmocka_unit_test(slice_cols_gradient_matches_differences),
        cmocka_unit_test(concat_cols_gradient_matches_differences),
        cmocka_unit_test(softmax_gradient_matches_differences),
        cmocka_unit_test(masked_softmax_gradient_matches_differences),
        cmocka_unit_test(layer_norm_gradient_matches_differences),
        cmocka_unit_test(masked_mean_gradient_matches_differences),
        cmocka_unit_test(mean_gradient_matches_differences),
        cmocka_unit_test(laplace_gradient_matches_differences),
        cmocka_unit_test(weighted_laplace_gradient_matches_differences),
        cmocka_unit_test(mse_gradient_matches_differences),
        cmocka_unit_test(mae_gradient_matches_differences),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
