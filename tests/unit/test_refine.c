/* test_refine.c - predictions are scored before the model learns the answer */
#include "loop_fixture.h"

#include "loop/refine/refine.h"

static struct job subject;

/* As loop_measure() does: score, then learn. */
static void refine_absorb(struct model *model, const struct observation *seen,
                          struct refine_score *score)
{
    struct prediction expected;

    if (!seen->out_of_memory)
        refine_note(model, seen, score, &expected);
    model->ops->absorb(model->self, seen);
}

static struct observation seen_at(double rate)
{
    subject = fixture_job(1, 1);
    return (struct observation){
        .where = {.type = SLOW, .count = 1, .members = {{.job = &subject, .nodes = 1}}},
        .rate = rate,
        .device_watts = NAN};
}

static void the_error_is_that_of_the_log(void **state)
{
    struct fixture_model table = fixture_model_make(); /* predicts 10 */
    struct model model = fixture_model_of(&table);
    struct observation twice = seen_at(20), half = seen_at(5), exact = seen_at(10);
    struct refine_score score = {0};

    (void)state;
    refine_absorb(&model, &twice, &score);
    assert_close(score.abs_log_error, log(2), 1e-9);
    refine_absorb(&model, &half, &score);
    assert_close(score.abs_log_error, log(2), 1e-9);
    refine_absorb(&model, &exact, &score);
    refine_absorb(&model, &exact, &score);
    assert_close(score.abs_log_error, log(2) / 2, 1e-9);
    assert_int_equal(score.observations, 4);
}

static void coverage_counts_what_lies_inside_the_interval(void **state)
{
    struct fixture_model table = fixture_model_make();
    struct model model = fixture_model_of(&table);
    struct refine_score score = {0};
    const double rates[] = {10, 10.7, 9.3, 12, 8}; /* the interval is 10 -+ 8 % */

    (void)state;
    for (int i = 0; i < 5; i++) {
        struct observation seen = seen_at(rates[i]);

        refine_absorb(&model, &seen, &score);
    }
    assert_close(score.coverage, 3.0 / 5, 1e-9);
}

static void only_cells_never_measured_count_as_first_sights(void **state)
{
    struct fixture_model table = fixture_model_make();
    struct model model = fixture_model_of(&table);
    struct observation seen = seen_at(20);
    struct refine_score score = {0};

    (void)state;
    table.source = ESTIMATE_MEASURED;
    refine_absorb(&model, &seen, &score);
    assert_int_equal(score.first_sights, 0);
    assert_true(score.first_abs_log_error == 0);
    table.source = ESTIMATE_CORRELATED;
    seen = seen_at(40);
    refine_absorb(&model, &seen, &score);
    table.source = ESTIMATE_INITIAL;
    refine_absorb(&model, &seen, &score);
    assert_int_equal(score.first_sights, 2);
    assert_close(score.first_abs_log_error, log(4), 1e-9);
    assert_int_equal(score.observations, 3);
}

static void the_member_that_was_measured_is_scored(void **state)
{
    struct fixture_model table = fixture_model_make();
    struct model model = fixture_model_of(&table);
    struct observation seen = seen_at(6); /* 10 times 0.6 beside another */
    struct refine_score score = {0};

    (void)state;
    seen.where.count = 2;
    seen.where.members[1] = seen.where.members[0];
    seen.subject = 1;
    refine_absorb(&model, &seen, &score);
    assert_close(score.abs_log_error, 0, 1e-9);
}

static void the_model_gets_every_observation(void **state)
{
    struct fixture_model table = fixture_model_make();
    struct model model = fixture_model_of(&table);
    struct observation seen = seen_at(20);
    struct refine_score score = {0};

    (void)state;
    refine_absorb(&model, &seen, &score);
    assert_int_equal(table.absorbed, 1);
    assert_true(table.last.rate == 20);
    seen.out_of_memory = true;
    seen.rate = NAN;
    refine_absorb(&model, &seen, &score); /* has no rate to score */
    assert_int_equal(table.absorbed, 2);
    assert_true(table.last.out_of_memory);
    assert_int_equal(score.observations, 1);
    assert_close(score.abs_log_error, log(2), 1e-9);
}

static void the_score_follows_the_recent_past(void **state)
{
    struct fixture_model table = fixture_model_make();
    struct model model = fixture_model_of(&table);
    struct observation off = seen_at(20), exact = seen_at(10);
    struct refine_score score = {0};

    (void)state;
    for (int i = 0; i < 3000; i++)
        refine_absorb(&model, &off, &score);
    for (int i = 0; i < 1500; i++)
        refine_absorb(&model, &exact, &score);
    assert_true(score.abs_log_error < 0.01 && score.coverage > 0.99);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_error_is_that_of_the_log),
        cmocka_unit_test(coverage_counts_what_lies_inside_the_interval),
        cmocka_unit_test(only_cells_never_measured_count_as_first_sights),
        cmocka_unit_test(the_member_that_was_measured_is_scored),
        cmocka_unit_test(the_model_gets_every_observation),
        cmocka_unit_test(the_score_follows_the_recent_past),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
