/* test_model_blend.c - weights by evidence, and widths that hold for a group never seen
 */
#include "base/rng.h"
#include "lab/eval/eval_score.h"
#include "model/blend.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

enum { CASES = 300, GROUPS = 6 };

/* Each part says the truth but for an error of its own. */
static void fill(struct blend_case *cases, double core_sd, double net_sd, double trees_sd)
{
    struct rng rng;

    rng_init(&rng, 5);
    for (int i = 0; i < CASES; i++) {
        double truth = -0.6 + 0.3 * rng_normal(&rng);

        cases[i].truth = truth;
        cases[i].group = i % GROUPS;
        cases[i].said.core =
            (struct blend_belief){truth + core_sd * rng_normal(&rng), 0.2};
        cases[i].said.net = (struct blend_belief){truth + net_sd * rng_normal(&rng), 0.3};
        cases[i].said.trees = truth + trees_sd * rng_normal(&rng);
    }
}

static void a_mix_is_between_what_is_said(void **state)
{
    struct blend_said said = {{-0.4, 0.1}, {-0.8, 0.3}, -1.2};
    struct blend_belief b = blend_mix(&said, &(struct blend_weights){0.25, 0.25});

    (void)state;
    assert_true(fabs(b.mean - (-0.2 - 0.2 - 0.3)) < 1e-12);
    assert_true(fabs(b.sd - 0.2) < 1e-12);
    b = blend_mix(&said, &(struct blend_weights){0, 0});
    assert_true(b.mean == -0.4 && b.sd == 0.1);
}

static void the_part_that_errs_least_gets_the_weight(void **state)
{
    struct blend_case cases[CASES];
    struct blend_weights w;

    (void)state;
    fill(cases, 0.5, 0.5, 0.02);
    w = blend_weights_choose(cases, CASES);
    assert_true(w.trees >= 0.8);
    fill(cases, 0.5, 0.02, 0.5);
    w = blend_weights_choose(cases, CASES);
    assert_true(w.net >= 0.8);
    fill(cases, 0.02, 0.5, 0.5);
    w = blend_weights_choose(cases, CASES);
    assert_true(w.net + w.trees <= 0.1);
}

static void without_evidence_the_default_stays(void **state)
{
    struct blend_weights usual = blend_weights_default(), few, same;
    struct blend_case cases[CASES];

    (void)state;
    fill(cases, 0.5, 0.5, 0.02);
    few = blend_weights_choose(cases, 10);
    assert_true(few.net == usual.net && few.trees == usual.trees);
    /* All say the same: nothing is gained by moving far. */
    for (int i = 0; i < CASES; i++) {
        cases[i].said.net = cases[i].said.core;
        cases[i].said.trees = cases[i].said.core.mean;
    }
    same = blend_weights_choose(cases, CASES);
    assert_true(fabs(same.net - usual.net) <= 0.1 &&
                fabs(same.trees - usual.trees) <= 0.1);
}

static void errors_are_in_units_of_the_belief(void **state)
{
    struct blend_case c = {{{-0.5, 0.2}, {0, 1}, 0}, -0.9, 0};
    double error;

    (void)state;
    blend_errors(&c, 1, &(struct blend_weights){0, 0}, &error);
    assert_true(fabs(error - 2) < 1e-12);
}

/* Groups whose errors differ by a factor: the plain quantile of all is too narrow for one
 * that nobody has seen. */
static void groups_that_differ_get_a_wider_width(void **state)
{
    double errors[CASES], plain[CASES], fair, usual;
    int group[CASES];
    struct rng rng;

    (void)state;
    rng_init(&rng, 7);
    for (int i = 0; i < CASES; i++) {
        group[i] = i % GROUPS;
        errors[i] = fabs(rng_normal(&rng)) * exp(0.7 * (group[i] - GROUPS / 2));
        plain[i] = errors[i];
    }
    usual = conformal_width(plain, CASES, 0.9);
    fair = score_fair_width(errors, group, CASES, GROUPS, 0.9);
    assert_true(fair > 1.1 * usual);
}

static void groups_that_are_alike_get_the_usual_width(void **state)
{
    double errors[CASES], fair;
    int group[CASES];
    struct rng rng;

    (void)state;
    rng_init(&rng, 8);
    for (int i = 0; i < CASES; i++) {
        group[i] = i % GROUPS;
        errors[i] = fabs(rng_normal(&rng));
    }
    fair = score_fair_width(errors, group, CASES, GROUPS, 0.9);
    assert_true(fair > 1.4 && fair < 2.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mix_is_between_what_is_said),
        cmocka_unit_test(the_part_that_errs_least_gets_the_weight),
        cmocka_unit_test(without_evidence_the_default_stays),
        cmocka_unit_test(errors_are_in_units_of_the_belief),
        cmocka_unit_test(groups_that_differ_get_a_wider_width),
        cmocka_unit_test(groups_that_are_alike_get_the_usual_width),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
