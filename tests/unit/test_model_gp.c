/* test_model_gp.c - the correlation core against itself done the long way */
#include "base/mem.h"
#include "base/rng.h"
#include "model/joint.h"
#include "model/dense.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

enum { JOBS = 6, GPUS = 3, SEEN = 40 };

static struct gp *empty_core(bool relative)
{
    struct kernel_params params;
    struct gp *core;

    kernel_default(&params);
    params.v[KERNEL_SPREAD + 2] = 0.4;
    core = gp_create(&params, relative);
    for (int j = 0; j < JOBS; j++)
        gp_add_job(core, &(struct job_trait){j / 2, 1.5 + 0.5 * (j % 2), 7 + 0.4 * j, 0});
    for (int g = 0; g < GPUS; g++)
        gp_add_gpu(core, &(struct gpu_trait){g - 1.0, g - 1.0});
    return core;
}

/* Random cells, some alone unless the core is relative. */
static void draw(struct cell *cells, double *values, size_t count, bool relative)
{
    struct rng rng;

    rng_init(&rng, 5);
    for (size_t i = 0; i < count; i++) {
        int other = (int)rng_below(&rng, JOBS + 1) - 1;

        if (relative && other < 0)
            other = 0;
        cells[i] =
            (struct cell){(int)rng_below(&rng, JOBS), (int)rng_below(&rng, GPUS), other};
        values[i] = -0.6 + 0.3 * rng_normal(&rng);
    }
}

static struct gp *filled_core(bool relative)
{
    struct cell cells[SEEN];
    double values[SEEN];
    struct gp *core = empty_core(relative);

    draw(cells, values, SEEN, relative);
    gp_load(core, cells, values, NULL, SEEN);
    return core;
}

static void assert_close(double a, double b, double within)
{
    if (!(fabs(a - b) <= within))
        fail_msg("%.12g differs from %.12g", a, b);
}

static void appending_gives_what_loading_at_once_gives(void **state)
{
    struct cell cells[SEEN], asked[2] = {{1, 2, 3}, {4, 0, -1}};
    double values[SEEN], mean[2], var[2], mean_one[2], var_one[2];
    struct gp *at_once = filled_core(false), *one_by_one = empty_core(false);

    (void)state;
    draw(cells, values, SEEN, false);
    for (size_t i = 0; i < SEEN; i++)
        gp_observe(one_by_one, cells[i], values[i], 0);
    gp_predict(at_once, asked, 2, mean, var);
    gp_predict(one_by_one, asked, 2, mean_one, var_one);
    for (int q = 0; q < 2; q++) {
        assert_close(mean[q], mean_one[q], 1e-9);
        assert_close(var[q], var_one[q], 1e-9);
    }
    gp_destroy(at_once);
    gp_destroy(one_by_one);
}

static void row_means_are_the_cells_means(void **state)
{
    struct gp *core = filled_core(true);
    double row[GPUS * 4], mean;

    (void)state;
    for (int effect = 0; effect < 2; effect++) {
        gp_predict_row(core, 3, effect, 1, 4, row);
        for (int g = 0; g < GPUS; g++)
            for (int k = 0; k < 4; k++) {
                struct cell own = {3, g, 1 + k}, other = {1 + k, g, 3};

                gp_predict(core, effect ? &other : &own, 1, &mean, NULL);
                assert_close(row[k * GPUS + g], mean, 1e-9);
            }
    }
    gp_destroy(core);
}

static void conditioning_a_joint_is_observing(void **state)
{
    struct gp *core = filled_core(true), *more = filled_core(true);
    struct cell asked[3] = {{0, 0, 1}, {0, 1, 4}, {3, 1, 0}};
    double mean_after[3], var_after[3], expected[3], expected_var[3];
    struct joint joint;
    const size_t seen[1] = {1};
    const double value[1] = {-1.2};

    (void)state;
    joint_of_cells(&joint, core, asked, 3);
    joint_condition(&joint, seen, value, 1, mean_after, var_after);
    joint_fini(&joint);
    gp_observe(more, asked[1], value[0], 0);
    gp_predict(more, asked, 3, expected, expected_var);
    for (int q = 0; q < 3; q += 2) {
        assert_close(mean_after[q], expected[q], 1e-7);
        assert_close(var_after[q], expected_var[q], 1e-7);
    }
    gp_destroy(core);
    gp_destroy(more);
}

static void leaving_out_is_never_having_seen(void **state)
{
    struct gp *core = filled_core(true), *without = filled_core(true);
    const size_t which[2] = {3, 17};
    struct cell cells[2] = {core->cells[3], core->cells[17]};
    double *precision = mem_array(double, SEEN *SEEN);
    double mean[2], cov[4];
    struct joint expected;
    bool keep[SEEN];

    (void)state;
    for (size_t i = 0; i < SEEN; i++)
        keep[i] = i != 3 && i != 17;
    gp_retain(without, keep);
    joint_of_cells(&expected, without, cells, 2);
    gp_precision(core, precision);
    assert_int_equal(gp_leave_out(core, precision, which, 2, mean, cov), 0);
    for (int q = 0; q < 2; q++)
        assert_close(mean[q], expected.mean[q], 1e-7);
    for (int q = 0; q < 4; q++)
        assert_close(cov[q], expected.cov[q], 1e-7);
    joint_fini(&expected);
    free(precision);
    gp_destroy(core);
    gp_destroy(without);
}

static void a_measurement_moves_alike_jobs_more_than_others(void **state)
{
    struct gp *core = empty_core(true);
    struct cell asked[3] = {{0, 0, 4}, {1, 1, 4}, {5, 1, 3}};
    double before[3], after[3];

    (void)state;
    gp_predict(core, asked, 3, before, NULL);
    gp_observe(core, (struct cell){0, 0, 4}, before[0] - 0.5, 0);
    gp_predict(core, asked, 3, after, NULL);
    assert_true(after[0] < before[0] - 0.4);
    assert_true(after[1] < before[1] - 0.02); /* its family, a GPU never tried */
    assert_true(fabs(after[2] - before[2]) < fabs(after[1] - before[1]));
    gp_destroy(core);
}

static void a_revised_value_replaces_the_old_one(void **state)
{
    struct gp *core = filled_core(true), *fresh = empty_core(true);
    struct cell cells[SEEN], asked = {2, 1, 2};
    double values[SEEN], mean, expected;

    (void)state;
    draw(cells, values, SEEN, true);
    values[7] = -2;
    gp_load(fresh, cells, values, NULL, SEEN);
    core->values[7] = -2;
    gp_revise(core);
    gp_predict(core, &asked, 1, &mean, NULL);
    gp_predict(fresh, &asked, 1, &expected, NULL);
    assert_close(mean, expected, 1e-9);
    gp_destroy(core);
    gp_destroy(fresh);
}

static void the_same_cell_twice_does_not_break_the_factor(void **state)
{
    struct gp *core = empty_core(false);
    struct cell cell = {2, 1, 2};
    double mean, var;

    (void)state;
    for (int i = 0; i < 100; i++)
        gp_observe(core, cell, 1.0, 0);
    gp_predict(core, &cell, 1, &mean, &var);
    assert_close(mean, 1.0, 0.01);
    assert_true(var > 0);
    gp_destroy(core);
}

/* Hyperparameters from anywhere: what they make of it may be useless, not endless. */
static void parameters_that_make_no_sense_come_to_an_end(void **state)
{
    struct gp *core = filled_core(true);
    struct kernel_params params;

    (void)state;
    kernel_default(&params);
    params.v[KERNEL_VA] = 800;
    gp_set_params(core, &params);
    gp_observe(core, (struct cell){0, 0, 1}, -0.5, 0);
    gp_observe(core, (struct cell){1, 1, 0}, -0.5, 0);
    gp_destroy(core);
}

static void nothing_observed_gives_the_prior(void **state)
{
    struct gp *core = empty_core(true);
    struct cell cell = {0, 0, 1};
    double mean, var;

    (void)state;
    gp_predict(core, &cell, 1, &mean, &var);
    assert_close(mean, core->kernel.m0, 1e-12);
    assert_true(var > 0);
    gp_destroy(core);
}

/* Sizes around the tiles it works in, rows further apart than they are long. */
static void a_symmetric_product_is_that_of_the_definition(void **state)
{
    static const size_t sizes[][2] = {{1, 1}, {3, 7}, {8, 24}, {11, 29}};
    struct rng rng;

    (void)state;
    rng_init(&rng, 3);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        size_t m = sizes[i][0], n = sizes[i][1], stride = n + 3;
        double *a = mem_array(double, m *n), *s = mem_array(double, n *stride);
        double *c = mem_array(double, m *n);

        for (size_t k = 0; k < m * n; k++)
            a[k] = rng_normal(&rng);
        for (size_t j = 0; j < n; j++)
            for (size_t k = 0; k <= j; k++)
                s[j * stride + k] = s[k * stride + j] = rng_normal(&rng);
        dense_multiply_symmetric(a, s, stride, m, n, c);
        for (size_t r = 0; r < m; r++)
            for (size_t j = 0; j < n; j++) {
                double sum = 0;

                for (size_t k = 0; k < n; k++)
                    sum += a[r * n + k] * s[k * stride + j];
                assert_true(fabs(c[r * n + j] - sum) < 1e-12 * (double)n);
            }
        free(a);
        free(s);
        free(c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(appending_gives_what_loading_at_once_gives),
        cmocka_unit_test(row_means_are_the_cells_means),
        cmocka_unit_test(a_symmetric_product_is_that_of_the_definition),
        cmocka_unit_test(conditioning_a_joint_is_observing),
        cmocka_unit_test(leaving_out_is_never_having_seen),
        cmocka_unit_test(a_measurement_moves_alike_jobs_more_than_others),
        cmocka_unit_test(a_revised_value_replaces_the_old_one),
        cmocka_unit_test(the_same_cell_twice_does_not_break_the_factor),
        cmocka_unit_test(parameters_that_make_no_sense_come_to_an_end),
        cmocka_unit_test(nothing_observed_gives_the_prior),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
