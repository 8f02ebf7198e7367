/* test_nn_ops_double.c - every operation's gradient against finite differences */
#include "support/gradcheck.h"
#include "nn/ops.h"

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

static const nn_real targets[6] = {0.3, -1, 2, 0.1, 5, -3};

/* Any result becomes a loss with a different slope for each of its numbers. */
static struct var *weighed(struct tape *tape, struct var *y)
{
    struct var *width = tape_input(tape, y->rows, y->cols, NULL);
    nn_real target[256];

    assert_true(var_count(y) <= 256);
    for (size_t i = 0; i < var_count(y); i++) {
        target[i] = -100;
        width->value[i] = log(0.5 + 0.1 * (double)(i % 7));
    }
    return ops_laplace(tape, y, width, target);
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

gradient_of(dense, shape(5, 4), shape(4, 3), shape(1, 3),
            weighed(tape, ops_dense(tape, A, B, C)));
gradient_of(dense_of_one_row, shape(1, 19), shape(19, 3), shape(1, 3),
            weighed(tape, ops_dense(tape, A, B, C)));
gradient_of(relu, shape(5, 4), none, none, weighed(tape, ops_relu(tape, A)));
gradient_of(add, shape(5, 4), shape(5, 4), none, weighed(tape, ops_add(tape, A, B)));
gradient_of(twice, shape(5, 4), none, none, weighed(tape, ops_add(tape, A, A)));
gradient_of(affine, shape(5, 4), none, none,
            weighed(tape, ops_affine(tape, A, 0.3, -1.8)));
gradient_of(slice_cols, shape(4, 5), none, none,
            weighed(tape, ops_slice_cols(tape, A, 1, 3)));
gradient_of(laplace, shape(6, 1), shape(6, 1), none, ops_laplace(tape, A, B, targets));

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dense_gradient_matches_differences),
        cmocka_unit_test(dense_of_one_row_gradient_matches_differences),
        cmocka_unit_test(relu_gradient_matches_differences),
        cmocka_unit_test(add_gradient_matches_differences),
        cmocka_unit_test(twice_gradient_matches_differences),
        cmocka_unit_test(affine_gradient_matches_differences),
        cmocka_unit_test(slice_cols_gradient_matches_differences),
        cmocka_unit_test(laplace_gradient_matches_differences),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
