/* test_nn_train.c - networks learn, repeat themselves and survive bad steps */
#include "base/mem.h"
#include "nn/adam.h"
#include "nn/mlp.h"

#include <malloc.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#define BATCH 128

/* A net with one or two outputs, its optimizer and a batch. */
struct fixture {
    struct params *params;
    struct mlp_batch *batch;
    struct adam *adam;
    struct mlp net;
    struct rng rng;
    nn_real x[BATCH * 2];
    nn_real y[BATCH];
};

static struct fixture *fixture_create(uint64_t seed, int outputs, long steps)
{
    struct fixture *f = mem_new(struct fixture);

    f->params = params_create();
    rng_init(&f->rng, seed);
    mlp_init(&f->net, f->params, "net", (const int[]){2, 24, 24, outputs}, 4, &f->rng);
    f->batch = mlp_batch_create(&f->net);
    f->adam = adam_create(f->params, (struct adam_options){.learning_rate = 5e-3,
                                                           .total_steps = steps,
                                                           .clip_norm = 10});
    return f;
}

static void fixture_destroy(struct fixture *f)
{
    adam_destroy(f->adam);
    mlp_batch_destroy(f->batch);
    params_destroy(f->params);
    free(f);
}

/* y = sin(2 x0) + x0 x1 */
static void draw(struct fixture *f)
{
    for (int i = 0; i < BATCH; i++) {
        double a = rng_range(&f->rng, -1, 1), b = rng_range(&f->rng, -1, 1);

        f->x[2 * i] = (nn_real)a;
        f->x[2 * i + 1] = (nn_real)b;
        f->y[i] = (nn_real)(sin(2 * a) + a * b);
    }
}

static double step(struct fixture *f)
{
    static const nn_real width[BATCH]; /* of 1 that stays: the mean absolute error */
    nn_real by_y[BATCH], ignored[BATCH];
    const nn_real *y;
    double loss;

    draw(f);
    y = mlp_forward(f->batch, f->params, f->x, BATCH);
    loss = mlp_laplace(y, width, f->y, BATCH, by_y, ignored);
    mlp_backward(f->batch, f->params, by_y, NULL);
    assert_true(adam_step(f->adam, f->params, loss));
    return loss;
}

static void small_net_learns_a_known_function(void **state)
{
    struct fixture *f = fixture_create(3, 1, 1200);
    double first = step(f), last = 0;

    (void)state;
    for (int i = 0; i < 1199; i++)
        last = step(f);
    assert_true(first > 0.1);
    assert_true(last < 0.03);
    fixture_destroy(f);
}

static void same_seed_gives_the_same_early_steps(void **state)
{
    struct fixture *a = fixture_create(11, 1, 100), *b = fixture_create(11, 1, 100);
    struct fixture *other = fixture_create(12, 1, 100);

    (void)state;
    assert_true(step(a) != step(other));
    step(b);
    for (int i = 0; i < 20; i++) {
        double loss = step(a);

        assert_true(fabs(loss - step(b)) <= 1e-6 * loss);
    }
    fixture_destroy(a);
    fixture_destroy(b);
    fixture_destroy(other);
}

/* Noise whose width depends on x1: b = exp(-2 + x1). */
static void laplace_step(struct fixture *f)
{
    nn_real mean[BATCH], width[BATCH], by_mean[BATCH], by_width[BATCH], by_y[2 * BATCH];
    const nn_real *y;
    double loss;

    draw(f);
    for (int i = 0; i < BATCH; i++) {
        double sign = rng_uniform(&f->rng) < 0.5 ? -1 : 1;
        double b = exp(-2 + (double)f->x[2 * i + 1]);

        f->y[i] += (nn_real)(sign * rng_exponential(&f->rng, b));
    }
    y = mlp_forward(f->batch, f->params, f->x, BATCH);
    for (int i = 0; i < BATCH; i++) {
        mean[i] = y[2 * i];
        width[i] = y[2 * i + 1] - 1;
    }
    loss = mlp_laplace(mean, width, f->y, BATCH, by_mean, by_width);
    for (int i = 0; i < BATCH; i++) {
        by_y[2 * i] = by_mean[i];
        by_y[2 * i + 1] = by_width[i];
    }
    mlp_backward(f->batch, f->params, by_y, NULL);
    adam_step(f->adam, f->params, loss);
}

static void laplace_width_learns_the_noise(void **state)
{
    struct fixture *f = fixture_create(5, 2, 3000);
    double miss_width = 0, miss_mean = 0;
    const nn_real *y;

    (void)state;
    for (int i = 0; i < 3000; i++)
        laplace_step(f);
    draw(f);
    y = mlp_forward(f->batch, f->params, f->x, BATCH);
    for (int i = 0; i < BATCH; i++) {
        double log_b = (double)y[2 * i + 1] - 1;

        miss_width += fabs(log_b - (-2 + (double)f->x[2 * i + 1])) / BATCH;
        miss_mean += fabs((double)(y[2 * i] - f->y[i])) / BATCH;
    }
    assert_true(miss_width < 0.12);
    assert_true(miss_mean < 0.05);
    fixture_destroy(f);
}

static void broken_step_is_not_taken(void **state)
{
    struct fixture *f = fixture_create(8, 1, 0);
    struct params *before;

    (void)state;
    step(f);
    before = params_dup(f->params);
    assert_false(adam_step(f->adam, f->params, NAN));
    f->params->grad[3] = (nn_real)INFINITY;
    assert_false(adam_step(f->adam, f->params, 1));
    f->params->grad[0] = (nn_real)NAN;
    assert_false(adam_step(f->adam, f->params, 1));
    assert_memory_equal(before->value, f->params->value,
                        f->params->count * sizeof(nn_real));
    for (size_t i = 0; i < f->params->count; i++)
        assert_true(f->params->grad[i] == 0);
    assert_true(isfinite(step(f)));
    params_destroy(before);
    fixture_destroy(f);
}

static void thousand_steps_allocate_nothing_new(void **state)
{
    struct fixture *f = fixture_create(9, 1, 0);
    struct mallinfo2 before, after;

    (void)state;
    step(f);
    step(f);
    before = mallinfo2();
    for (int i = 0; i < 1000; i++)
        step(f);
    after = mallinfo2();
    assert_int_equal(after.uordblks, before.uordblks);
    assert_int_equal(after.hblkhd, before.hblkhd);
    fixture_destroy(f);
}

static void *train_apart(void *arg)
{
    struct fixture *f = arg;

    for (int i = 0; i < 30; i++)
        step(f);
    return NULL;
}

static void threads_with_a_batch_each_do_not_disturb_one_another(void **state)
{
    struct fixture *here = fixture_create(21, 1, 100);
    struct fixture *apart[2] = {fixture_create(21, 1, 100), fixture_create(21, 1, 100)};
    pthread_t threads[2];

    (void)state;
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, train_apart, apart[i]), 0);
    train_apart(here);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        for (size_t j = 0; j < here->params->count; j++)
            assert_true(fabs((double)(apart[i]->params->value[j] -
                                      here->params->value[j])) < 1e-5);
        fixture_destroy(apart[i]);
    }
    fixture_destroy(here);
}

static void cosine_ends_at_nothing(void **state)
{
    struct params *params = params_create();
    struct adam *adam;

    (void)state;
    params_add(params, "w", 1, 1);
    adam = adam_create(params,
                       (struct adam_options){.learning_rate = 0.1, .total_steps = 10});
    assert_true(fabs(adam_rate(adam) - 0.1) < 1e-12);
    for (int i = 0; i < 5; i++)
        adam_step(adam, params, 0);
    assert_true(fabs(adam_rate(adam) - 0.05) < 1e-12);
    for (int i = 0; i < 10; i++)
        adam_step(adam, params, 0);
    assert_true(fabs(adam_rate(adam)) < 1e-12);
    adam_destroy(adam);
    params_destroy(params);
}

/* Adam's first step is the learning rate against the sign, so the second moment tells
 * what was left of the gradient: after a tiny one, a clipped one moves less. */
static void clipping_bounds_the_gradient(void **state)
{
    double moved[2];

    (void)state;
    for (int clipped = 0; clipped < 2; clipped++) {
        struct params *params = params_create();
        struct adam *adam;

        params_add(params, "w", 1, 2);
        adam =
            adam_create(params, (struct adam_options){.learning_rate = 1e-3,
                                                      .clip_norm = clipped ? 1.0 : 0.0});
        params->grad[0] = 1;
        adam_step(adam, params, 0);
        moved[clipped] = (double)params->value[0];
        params->grad[0] = 300;
        params->grad[1] = 400;
        adam_step(adam, params, 0);
        moved[clipped] -= (double)params->value[0];
        adam_destroy(adam);
        params_destroy(params);
    }
    assert_true(moved[1] > 0.9e-3); /* 1 then 0.6: nearly a full step */
    assert_true(moved[0] < 0.8e-3); /* 1 then 300: the second moment outruns the first */
}

static void exact_hits_do_not_shrink_the_width_for_ever(void **state)
{
    const nn_real mean = 0, width = -30, hit = 0, miss = 1;
    nn_real by_mean, by_width;

    (void)state;
    mlp_laplace(&mean, &width, &hit, 1, &by_mean, &by_width);
    assert_true(by_width == 0);
    mlp_laplace(&mean, &width, &miss, 1, &by_mean, &by_width);
    assert_true(by_width < 0);
    assert_true(isfinite(by_width));
}

static void loss_is_the_mean_likelihood(void **state)
{
    const nn_real x[2] = {1, 5}, y[2] = {2, 2}, log_b[2] = {(nn_real)log(2), 0};
    nn_real by_mean[2], by_width[2];

    (void)state;
    assert_true(fabs(mlp_laplace(x, log_b, y, 2, by_mean, by_width) -
                     (0.5 + log(2) + 3) / 2) < 1e-5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_net_learns_a_known_function),
        cmocka_unit_test(same_seed_gives_the_same_early_steps),
        cmocka_unit_test(laplace_width_learns_the_noise),
        cmocka_unit_test(broken_step_is_not_taken),
        cmocka_unit_test(thousand_steps_allocate_nothing_new),
        cmocka_unit_test(threads_with_a_batch_each_do_not_disturb_one_another),
        cmocka_unit_test(cosine_ends_at_nothing),
        cmocka_unit_test(clipping_bounds_the_gradient),
        cmocka_unit_test(exact_hits_do_not_shrink_the_width_for_ever),
        cmocka_unit_test(loss_is_the_mean_likelihood),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
