/* test_nn_infer.c - the quick path says what training sees */
#include "base/mem.h"
#include "nn/infer.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

/* Compare on so many rows; one number behind the answer must stay as it was. */
static void agree(const int *widths, int width_count, int rows)
{
    int inputs = widths[0], outputs = widths[width_count - 1];
    size_t count = (size_t)rows * (size_t)outputs;
    struct params *params = params_create();
    nn_real *x = mem_array(nn_real, (size_t)rows * (size_t)inputs);
    nn_real *y = mem_array(nn_real, count + 1);
    struct mlp_batch *batch;
    struct infer *infer;
    const nn_real *expected;
    struct mlp net;
    struct rng rng;

    rng_init(&rng, (uint64_t)rows);
    mlp_init(&net, params, "net", widths, width_count, &rng);
    for (size_t i = 0; i < params->count; i++)
        params->value[i] += (nn_real)(0.1 * rng_normal(&rng));
    for (int i = 0; i < rows * inputs; i++)
        x[i] = (nn_real)rng_normal(&rng);
    infer = infer_create(&net, params);
    y[count] = 77;
    infer_run(infer, x, (size_t)rows, y);
    batch = mlp_batch_create(&net);
    expected = mlp_forward(batch, params, x, rows);
    for (size_t i = 0; i < count; i++)
        assert_true(fabs((double)(y[i] - expected[i])) < 2e-5);
    assert_true(y[count] == 77);
    infer_destroy(infer);
    free(x);
    free(y);
    mlp_batch_destroy(batch);
    params_destroy(params);
}

static void agrees_with_training_for_any_number_of_rows(void **state)
{
    const int row_counts[] = {1, 2, 15, 16, 17, 33, 1000};

    (void)state;
    for (int i = 0; i < 7; i++)
        agree((const int[]){30, 48, 32, 2}, 4, row_counts[i]);
}

static void agrees_with_training_for_odd_widths(void **state)
{
    (void)state;
    agree((const int[]){17, 32, 32, 2}, 4, 100);
    agree((const int[]){1, 1}, 2, 20);
    agree((const int[]){3, 7, 5, 9, 1}, 5, 21);
    agree((const int[]){INFER_MAX_WIDTH, INFER_MAX_WIDTH, 3}, 3, 5);
}

static void not_a_number_in_is_not_a_number_out(void **state)
{
    const nn_real x[4] = {1, 2, 1, (nn_real)NAN};
    struct params *params = params_create();
    struct mlp_batch *batch;
    struct infer *infer;
    const nn_real *out;
    struct mlp net;
    struct rng rng;
    nn_real y[2];

    (void)state;
    rng_init(&rng, 1);
    mlp_init(&net, params, "net", (const int[]){2, 3, 3, 1}, 4, &rng);
    infer = infer_create(&net, params);
    infer_run(infer, x, 2, y);
    batch = mlp_batch_create(&net);
    out = mlp_forward(batch, params, x, 2);
    assert_true(isfinite(y[0]) && isfinite(out[0]));
    assert_true(isnan(y[1]) && isnan(out[1]));
    infer_destroy(infer);
    mlp_batch_destroy(batch);
    params_destroy(params);
}

static void no_rows_give_no_answers(void **state)
{
    struct params *params = params_create();
    struct infer *infer;
    struct mlp net;
    struct rng rng;

    (void)state;
    rng_init(&rng, 1);
    mlp_init(&net, params, "net", (const int[]){2, 2}, 2, &rng);
    infer = infer_create(&net, params);
    infer_run(infer, NULL, 0, NULL);
    infer_destroy(infer);
    infer_destroy(NULL);
    params_destroy(params);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_training_for_any_number_of_rows),
        cmocka_unit_test(agrees_with_training_for_odd_widths),
        cmocka_unit_test(not_a_number_in_is_not_a_number_out),
        cmocka_unit_test(no_rows_give_no_answers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
