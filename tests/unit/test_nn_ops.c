/* test_nn_ops.c - what the operations compute, by hand */
#include "base/mem.h"
#include "nn/gemm.h"
#include "lab/nn/token_ops.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

static struct arena *arena;

static int setup(void **state)
{
    (void)state;
    arena = arena_create();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_destroy(arena);
    return 0;
}

static struct var *input(int rows, int cols, const nn_real *numbers)
{
    return ops_input(arena, rows, cols, numbers);
}

static void holds(const struct var *var, int rows, int cols, const double *expected)
{
    assert_int_equal(var->rows, rows);
    assert_int_equal(var->cols, cols);
    for (int i = 0; i < rows * cols; i++)
        if (!(fabs((double)var->value[i] - expected[i]) < 1e-5))
            fail_msg("number %d is %g, expected %g", i, (double)var->value[i],
                     expected[i]);
}

/* Every form, every path: sides of 1 go by hand, the others through the BLAS. */
static void gemm_case(enum gemm_form form, int m, int n, int k, struct rng *rng)
{
    nn_real *a = mem_array(nn_real, (size_t)(m * k));
    nn_real *b = mem_array(nn_real, (size_t)(k * n));
    nn_real *c = mem_array(nn_real, (size_t)(m * n));
    double *expected = mem_array(double, (size_t)(m * n));

    for (int i = 0; i < m * k; i++)
        a[i] = (nn_real)rng_normal(rng);
    for (int i = 0; i < k * n; i++)
        b[i] = (nn_real)rng_normal(rng);
    for (int i = 0; i < m * n; i++) {
        c[i] = (nn_real)rng_normal(rng);
        expected[i] = 0.5 * (double)c[i];
        for (int p = 0; p < k; p++)
            expected[i] += -1.5 *
                           (double)a[form == GEMM_TN ? p * m + i / n : i / n * k + p] *
                           (double)b[form == GEMM_NT ? i % n * k + p : p * n + i % n];
    }
    gemm(form, m, n, k, (nn_real)-1.5, a, b, (nn_real)0.5, c);
    for (int i = 0; i < m * n; i++)
        assert_true(fabs((double)c[i] - expected[i]) < 1e-4);
    free(a);
    free(b);
    free(c);
    free(expected);
}

static void products_match_the_definition_in_every_form(void **state)
{
    const int sizes[] = {1, 2, 9, 21};
    struct rng rng;

    (void)state;
    rng_init(&rng, 1);
    for (int form = GEMM_NN; form <= GEMM_TN; form++)
        for (int i = 0; i < 64; i++)
            gemm_case((enum gemm_form)form, sizes[i % 4], sizes[i / 4 % 4], sizes[i / 16],
                      &rng);
}

static void product_into_garbage_overwrites_it(void **state)
{
    const nn_real one[4] = {1, 2, 3, 4};
    nn_real c[4] = {(nn_real)NAN, (nn_real)NAN, (nn_real)NAN, (nn_real)NAN};

    (void)state;
    gemm(GEMM_NN, 1, 4, 1, 1, one, one, 0, c);
    assert_true(c[3] == 4);
    c[0] = (nn_real)NAN;
    gemm(GEMM_NN, 2, 2, 2, 1, one, one, 0, c);
    assert_true(c[0] == 7);
}

static void layers_multiply_and_add(void **state)
{
    const nn_real x[4] = {1, 2, 3, 4}, w[4] = {1, 0, 2, -1}, b[2] = {10, 20};

    (void)state;
    holds(ops_dense(arena, input(2, 2, x), input(2, 2, w), input(1, 2, b)), 2, 2,
          (double[]){15, 18, 21, 16});
    holds(token_group_matmul(arena, input(2, 2, x), input(4, 1, x), 2, false, 1), 2, 1,
          (double[]){5, 25});
    holds(token_group_matmul(arena, input(2, 2, x), input(2, 2, w), 2, true, 2), 2, 1,
          (double[]){2, 4});
}

static void activations_and_sums_go_number_by_number(void **state)
{
    const nn_real x[3] = {-2, 0, 3}, y[3] = {5, 7, -1};

    (void)state;
    holds(ops_relu(arena, input(1, 3, x)), 1, 3, (double[]){0, 0, 3});
    holds(token_tanh(arena, input(1, 3, x)), 1, 3, (double[]){tanh(-2), 0, tanh(3)});
    holds(token_sigmoid(arena, input(1, 3, x)), 1, 3,
          (double[]){1 / (1 + exp(2)), 0.5, 1 / (1 + exp(-3))});
    holds(ops_add(arena, input(1, 3, x), input(1, 3, y)), 1, 3, (double[]){3, 7, 2});
    holds(token_mul(arena, input(1, 3, x), input(1, 3, y)), 1, 3, (double[]){-10, 0, -3});
    holds(ops_affine(arena, input(1, 3, x), 2, 1), 1, 3, (double[]){-3, 1, 7});
    holds(token_between(arena, input(3, 1, x), input(3, 1, y), (nn_real[]){0, 1, 0.5f}),
          3, 1, (double[]){-2, 7, 1});
}

static void activations_hold_at_the_ends(void **state)
{
    const nn_real x[2] = {-300, 300};

    (void)state;
    holds(token_tanh(arena, input(1, 2, x)), 1, 2, (double[]){-1, 1});
    holds(token_sigmoid(arena, input(1, 2, x)), 1, 2, (double[]){0, 1});
}

static void rows_and_columns_are_picked_and_joined(void **state)
{
    const nn_real x[8] = {0, 1, 10, 11, 20, 21, 30, 31};

    (void)state;
    holds(token_slice_rows(arena, input(4, 2, x), 1, 2, 2), 2, 2,
          (double[]){10, 11, 30, 31});
    holds(ops_slice_cols(arena, input(2, 4, x), 1, 2), 2, 2, (double[]){1, 10, 21, 30});
    holds(token_concat_cols(arena, input(2, 1, x), input(2, 2, x)), 2, 3,
          (double[]){0, 0, 1, 1, 10, 11});
}

static void rows_are_normalized_and_averaged(void **state)
{
    const nn_real x[4] = {1, 3, 5, 9}, gain[2] = {2, 1}, shift[2] = {0, 10};
    const nn_real mask[4] = {1, 0, 0, 0};

    (void)state;
    holds(token_layer_norm(arena, input(1, 2, x), input(1, 2, gain), input(1, 2, shift)),
          1, 2, (double[]){-2 / sqrt(1 + 1e-5), 10 + 1 / sqrt(1 + 1e-5)});
    holds(token_masked_mean(arena, input(4, 1, x), mask, 2), 2, 1, (double[]){1, 0});
    holds(token_masked_mean(arena, input(4, 1, x), NULL, 2), 2, 1, (double[]){2, 7});
}

static void softmax_rows_sum_to_one_or_nothing(void **state)
{
    const nn_real x[6] = {1000, 999, -1000, 3, 2, 1};
    const nn_real first_only[6] = {1, 1, 1, 0, 0, 0};
    double first = 1 / (1 + exp(-1));

    (void)state;
    holds(token_softmax(arena, input(2, 3, x), first_only, 2), 2, 3,
          (double[]){first, 1 - first, 0, 0, 0, 0});
    holds(token_softmax(arena, input(1, 2, x), NULL, 1), 1, 2,
          (double[]){first, 1 - first});
}

static void starting_weights_have_the_spread_asked_for(void **state)
{
    struct params *params = params_create();
    int he = params_add(params, "he", 50, 200);
    int xavier = params_add(params, "xavier", 50, 150);
    double he_square = 0, xavier_square = 0;
    struct rng rng;

    (void)state;
    rng_init(&rng, 1);
    params_fill_he(params, he, &rng);
    params_fill_xavier(params, xavier, &rng);
    for (int i = 0; i < 10000; i++)
        he_square += pow((double)params_value(params, he)[i], 2) / 10000;
    for (int i = 0; i < 7500; i++)
        xavier_square += pow((double)params_value(params, xavier)[i], 2) / 7500;
    assert_true(fabs(he_square - 2.0 / 50) < 0.003);
    assert_true(fabs(xavier_square - 2.0 / 200) < 0.001);
    assert_int_equal(params_find(params, "xavier"), xavier);
    assert_int_equal(params_find(params, "none"), -1);
    params_destroy(params);
}

#define on_arena(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_match_the_definition_in_every_form),
        cmocka_unit_test(product_into_garbage_overwrites_it),
        on_arena(layers_multiply_and_add),
        on_arena(activations_and_sums_go_number_by_number),
        on_arena(activations_hold_at_the_ends),
        on_arena(rows_and_columns_are_picked_and_joined),
        on_arena(rows_are_normalized_and_averaged),
        on_arena(softmax_rows_sum_to_one_or_nothing),
        cmocka_unit_test(starting_weights_have_the_spread_asked_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
