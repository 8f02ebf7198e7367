/* test_model_parts.c - memory, watts, drift, boosted trees, statistics */
#include "base/mem.h"
#include "base/rng.h"
#include "lab/eval/pair_stats.h"
#include "model/footprint.h"
#include "model/watts.h"
#include "model/running.h"
#include "lab/eval/gbt.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

/* ---- memory ------------------------------------------------------------------------ */

static struct footprint_item told(uint64_t who, double gb)
{
    return footprint_of(&(struct job_descriptor){0}, gb, who);
}

static void told_footprints_decide_what_fits(void **state)
{
    struct footprint *f = footprint_create();
    struct footprint_item both[2] = {told(1, 6), told(2, 7)};

    (void)state;
    assert_float_equal(footprint_gb(f, &both[0]), 6, 1e-9);
    assert_true(footprint_fits(f, 0, 16, both, 2) > 0.9);
    assert_true(footprint_fits(f, 0, 12, both, 2) < 0.2);
    assert_true(footprint_fits(f, 0, 12, both, 1) > 0.9);
    footprint_destroy(f);
}

static void parameters_and_batch_stand_in_for_what_was_not_told(void **state)
{
    struct job_descriptor d = {
        .params_millions = 100, .memory_mb_per_sample = 50, .batch = 64};
    struct job_descriptor larger = d;
    double small = footprint_of(&d, 0, 1).gb;

    (void)state;
    larger.batch = 256;
    assert_true(small > 4 && small < 8);
    assert_float_equal(footprint_of(&larger, 0, 2).gb - small, 9.6, 1e-6);
}

static void what_ran_fits_and_what_failed_does_not(void **state)
{
    struct footprint *f = footprint_create();
    struct footprint_item a = told(9, 10), b = told(5, 3);
    struct footprint_item pair[2] = {b, a}, same[2] = {a, b}, more[3] = {a, b, b};

    (void)state;
    assert_true(footprint_fits(f, 1, 12, pair, 2) < 0.3);
    footprint_ran(f, 12, pair, 2); /* told too much */
    assert_true(footprint_fits(f, 1, 12, pair, 2) >= 0.5);
    assert_true(footprint_gb(f, &a) < 10);
    footprint_failed(f, 2, 24, &a, 1);
    assert_true(footprint_fits(f, 2, 24, &a, 1) == 0);
    assert_true(footprint_fits(f, 2, 24, same, 2) == 0); /* more needs more */
    assert_true(footprint_fits(f, 2, 24, more, 3) == 0);
    assert_true(footprint_fits(f, 2, 24, &b, 1) > 0.5);
    assert_true(footprint_failed_alone(f, a.who) && !footprint_failed_alone(f, b.who));
    assert_true(footprint_gb(f, &a) > 24); /* and it is believed elsewhere */
    assert_true(footprint_fits(f, 1, 16, &a, 1) < 0.1);
    footprint_destroy(f);
}

static void what_is_held_is_needed(void **state)
{
    struct footprint *f = footprint_create();
    struct footprint_item claimed = told(1, 2), unknown = told(2, 0);

    (void)state;
    footprint_held(f, &claimed, 0.5); /* it may grow to what was told */
    assert_float_equal(footprint_gb(f, &claimed), 2, 1e-9);
    footprint_held(f, &claimed, 3);
    assert_float_equal(footprint_gb(f, &claimed), 3, 1e-9);
    assert_true(footprint_fits(f, 0, 1, &unknown, 1) < 0.2);
    footprint_held(f, &unknown, 0.1); /* instead of a mere guess */
    assert_true(footprint_fits(f, 0, 1, &unknown, 1) > 0.8);
    footprint_held(f, &unknown, 0.9);
    assert_float_equal(footprint_gb(f, &unknown), 0.9, 1e-9);
    footprint_destroy(f);
}

/* ---- watts ------------------------------------------------------------------------- */

static struct watts *two_types(struct gpu_sheet sheets[2])
{
    struct watts *w = watts_create();

    sheets[0] = *gpu_find("p100");
    sheets[1] = *gpu_find("v100");
    watts_add_gpu(w, &sheets[0]);
    watts_add_gpu(w, &sheets[1]);
    return w;
}

static void a_draw_never_measured_lies_between_idle_and_limit(void **state)
{
    struct gpu_sheet s[2];
    struct watts *w = two_types(s);
    int job = watts_add_job(w);

    (void)state;
    for (int g = 0; g < 2; g++) {
        struct watts_guess guess = watts_predict(w, job, g);

        assert_true(guess.watts > s[g].idle_watts && guess.watts < s[g].tdp_watts);
        assert_int_equal(guess.observations, 0);
    }
    watts_destroy(w);
}

static void a_measured_draw_is_answered_and_followed(void **state)
{
    struct gpu_sheet s[2];
    struct watts *w = two_types(s);
    int job = watts_add_job(w);

    (void)state;
    watts_observe(w, job, 0, 120);
    assert_float_equal(watts_predict(w, job, 0).watts, 120, 0.01);
    assert_true(watts_predict(w, job, 0).sd_log < watts_predict(w, job, 1).sd_log);
    for (int i = 0; i < 20; i++)
        watts_observe(w, job, 0, 180);
    assert_float_equal(watts_predict(w, job, 0).watts, 180, 1);
    watts_destroy(w);
}

static void a_draw_is_carried_along_the_line_others_follow(void **state)
{
    struct gpu_sheet s[2];
    struct watts *w = two_types(s);
    double span0, span1;
    int asked;

    (void)state;
    span0 = s[0].tdp_watts - s[0].idle_watts;
    span1 = s[1].tdp_watts - s[1].idle_watts;
    for (int j = 0; j < 6; j++) { /* here the second type always uses half the share */
        int job = watts_add_job(w);
        double share = 0.3 + 0.1 * j;

        watts_observe(w, job, 0, s[0].idle_watts + share * span0);
        watts_observe(w, job, 1, s[1].idle_watts + share / 2 * span1);
    }
    asked = watts_add_job(w);
    watts_observe(w, asked, 0, s[0].idle_watts + 0.6 * span0);
    assert_float_equal(watts_predict(w, asked, 1).watts, s[1].idle_watts + 0.3 * span1,
                       0.03 * span1);
    watts_destroy(w);
}

/* ---- drift ------------------------------------------------------------------------- */

static void noise_averages_out(void **state)
{
    struct drift d = {0};
    struct rng rng;

    (void)state;
    rng_init(&rng, 1);
    for (int i = 0; i < 50; i++)
        assert_false(drift_push(&d, 2 + 0.03 * rng_normal(&rng)));
    assert_float_equal(d.mean, 2, 0.04);
}

static void one_odd_window_moves_little_two_drop_the_past(void **state)
{
    struct drift d = {0};

    (void)state;
    for (int i = 0; i < 10; i++)
        drift_push(&d, 2);
    assert_false(drift_push(&d, 1));
    assert_true(d.mean > 1.95);
    assert_true(drift_push(&d, 1));
    assert_float_equal(d.mean, 1, 1e-9);
}

static void odd_windows_on_both_sides_are_noise(void **state)
{
    struct drift d = {0};

    (void)state;
    for (int i = 0; i < 10; i++)
        drift_push(&d, 2);
    assert_false(drift_push(&d, 1));
    assert_false(drift_push(&d, 3));
    assert_false(drift_push(&d, 1));
    assert_true(fabs(d.mean - 2) < 0.1);
}

/* ---- boosted trees ----------------------------------------------------------------- */

#define ROWS 600

static void make_rows(float *x, float *y)
{
    struct rng rng;

    rng_init(&rng, 2);
    for (int r = 0; r < ROWS; r++) {
        for (int c = 0; c < 3; c++)
            x[3 * r + c] = (float)rng_range(&rng, -1, 1);
        /* A step, and a match of two columns no single split can see. */
        y[r] = (x[3 * r] > 0.2f ? 1.0f : 0.0f) + x[3 * r + 1] * x[3 * r + 2];
    }
}

static void trees_learn_steps_and_matches(void **state)
{
    float *x = mem_array(float, 3 * ROWS), *y = mem_array(float, ROWS);
    struct gbt *g;
    double error = 0, flat = 0;

    (void)state;
    make_rows(x, y);
    g = gbt_train(x, y, ROWS, 3, 100);
    for (int i = 0; i < 200; i++) {
        float at[3] = {(float)(i % 20) / 10 - 1, (float)(i % 13) / 6.5f - 1,
                       (float)(i % 7) / 3.5f - 1};
        double truth = (at[0] > 0.2f) + (double)(at[1] * at[2]);

        error += fabs(gbt_predict(g, at) - truth);
        flat += fabs(0.4 - truth);
    }
    assert_true(error < 0.35 * flat);
    gbt_destroy(g);
    free(x);
    free(y);
}

static void trees_of_nothing_say_nothing(void **state)
{
    struct gbt *g = gbt_train(NULL, NULL, 0, 3, 10);
    float at[3] = {0};

    (void)state;
    assert_true(gbt_predict(g, at) == 0);
    gbt_destroy(g);
    gbt_destroy(NULL);
}

/* ---- statistics -------------------------------------------------------------------- */

static struct gp *three_jobs(void)
{
    struct kernel_params params;
    struct gp *s;

    kernel_default(&params);
    s = gp_create(&params, true);
    for (int j = 0; j < 3; j++)
        gp_add_job(s, &(struct job_trait){.family = j / 2, .beta = 2, .omega = 8});
    for (int g = 0; g < 2; g++)
        gp_add_gpu(s, &(struct gpu_trait){g, g});
    return s;
}

static void features_without_the_cell_do_not_know_it(void **state)
{
    struct gp *s = three_jobs();
    const struct cell cells[2] = {{1, 1, 2}, {0, 0, 2}};
    const double values[2] = {-0.5, -1.5};
    float before[STATS_FEATURES], hidden[STATS_FEATURES], open[STATS_FEATURES];
    struct stats_row *row;
    struct stats_cell known;

    (void)state;
    row = stats_row_create(s, &(struct stats_seen){cells, values, 1}, 0, NULL);
    stats_features(row, 0, 2, true, before);
    stats_row_destroy(row);
    row = stats_row_create(s, &(struct stats_seen){cells, values, 2}, 0, NULL);
    known = stats_features(row, 0, 2, true, hidden);
    stats_features(row, 0, 2, false, open);
    stats_row_destroy(row);
    assert_float_equal(known.times, 1, 1e-9);
    assert_true(hidden[2] == before[2] && hidden[3] == before[3]); /* the job's row */
    assert_true(open[2] < before[2] && open[3] > before[3]);
    assert_float_equal(hidden[6], 0, 1e-6); /* the column of job 2 on this GPU */
    gp_destroy(s);
}

static void families_speak_for_one_another(void **state)
{
    struct gp *s = three_jobs();
    const struct cell cells[1] = {{1, 0, 2}}; /* job 1 is of job 0's family */
    const double values[1] = {-2};
    const struct stats_seen seen = {cells, values, 1};
    float kin[STATS_FEATURES], alien[STATS_FEATURES];
    struct stats_row *row;

    (void)state;
    row = stats_row_create(s, &seen, 0, NULL);
    stats_features(row, 0, 2, false, kin);
    stats_row_destroy(row);
    row = stats_row_create(s, &seen, 2, NULL);
    stats_features(row, 0, 2, false, alien);
    stats_row_destroy(row);
    assert_true(kin[15] > 0 && kin[14] < 0);
    assert_true(alien[15] == 0 && alien[14] == 0);
    gp_destroy(s);
}

/* The same features whatever was asked before: co-runners are prepared when first named.
 */
static void features_do_not_depend_on_the_order_of_questions(void **state)
{
    struct gp *s = three_jobs();
    const struct cell cells[2] = {{0, 1, 1}, {2, 0, 0}};
    const double values[2] = {-1, -0.2};
    const struct stats_seen seen = {cells, values, 2};
    float first[STATS_FEATURES], later[STATS_FEATURES], unused[STATS_FEATURES];
    struct stats_row *row;

    (void)state;
    row = stats_row_create(s, &seen, 2, NULL);
    stats_features(row, 0, 1, true, first);
    stats_row_destroy(row);
    row = stats_row_create(s, &seen, 2, NULL);
    stats_features(row, 1, 0, true, unused);
    stats_features(row, 1, 1, true, unused);
    stats_features(row, 0, 1, true, later);
    stats_row_destroy(row);
    assert_memory_equal(first, later, sizeof(first));
    assert_true(first[17] > 0 && first[19] > 0); /* beside job 1's family, job 0 */
    gp_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(told_footprints_decide_what_fits),
        cmocka_unit_test(parameters_and_batch_stand_in_for_what_was_not_told),
        cmocka_unit_test(what_ran_fits_and_what_failed_does_not),
        cmocka_unit_test(what_is_held_is_needed),
        cmocka_unit_test(a_draw_never_measured_lies_between_idle_and_limit),
        cmocka_unit_test(a_measured_draw_is_answered_and_followed),
        cmocka_unit_test(a_draw_is_carried_along_the_line_others_follow),
        cmocka_unit_test(noise_averages_out),
        cmocka_unit_test(one_odd_window_moves_little_two_drop_the_past),
        cmocka_unit_test(odd_windows_on_both_sides_are_noise),
        cmocka_unit_test(trees_learn_steps_and_matches),
        cmocka_unit_test(trees_of_nothing_say_nothing),
        cmocka_unit_test(features_without_the_cell_do_not_know_it),
        cmocka_unit_test(families_speak_for_one_another),
        cmocka_unit_test(features_do_not_depend_on_the_order_of_questions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
