/* test_predict.c - quantiles, intervals, and models that answer nonsense */
#include "base/normal.h"
#include "loop_fixture.h"

static void normal_quantiles_agree_with_the_tables(void **state)
{
    static const double known[][2] = {{0.5, 0},
                                      {0.8, 0.8416212335729143},
                                      {0.9, 1.2815515655446004},
                                      {0.95, 1.6448536269514722},
                                      {0.975, 1.959963984540054},
                                      {0.999, 3.090232306167813},
                                      {0.0001, -3.719016485455709}};

    (void)state;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        assert_close(normal_quantile(known[i][0]), known[i][1], 1e-6);
        assert_close(normal_quantile(1 - known[i][0]), -known[i][1], 1e-6);
    }
}

static void an_interval_holds_90_percent_of_a_log_normal(void **state)
{
    struct estimate e = estimate_from_log(log(10), 0.2, ESTIMATE_CORRELATED, 3);

    (void)state;
    assert_close(e.value, 10, 1e-12);
    assert_close(log(e.value / e.low), 1.6448536 * 0.2, 1e-6);
    assert_close(log(e.high / e.value), 1.6448536 * 0.2, 1e-6);
    assert_int_equal(e.source, ESTIMATE_CORRELATED);
    assert_int_equal(e.observations, 3);
}

static void more_confidence_promises_less(void **state)
{
    struct estimate e = estimate_from_log(log(10), 0.2, ESTIMATE_INITIAL, 0);

    (void)state;
    assert_close(estimate_at_confidence(&e, 0.5), 10, 1e-9);
    assert_close(estimate_at_confidence(&e, 0.95), e.low, 1e-5);
    assert_close(estimate_at_confidence(&e, 0.05), e.high, 1e-5);
    assert_close(estimate_at_confidence(&e, 0.8), 10 * exp(-0.2 * 0.8416212), 1e-5);
}

static void each_side_of_a_lopsided_interval_is_read_by_itself(void **state)
{
    struct estimate e = {.value = 10, .low = 5, .high = 11};

    (void)state;
    assert_close(estimate_at_confidence(&e, 0.95), 5, 1e-5);
    assert_close(estimate_at_confidence(&e, 0.05), 11, 1e-5);
}

static void an_estimate_without_width_is_its_value(void **state)
{
    struct estimate e = {.value = 10, .low = 10, .high = 10};

    (void)state;
    assert_true(estimate_at_confidence(&e, 0.99) == 10);
}

static struct prediction nonsense;

static void predict_nonsense(const void *self, struct prediction_cache *cache,
                             const struct combination *where, struct prediction *out)
{
    (void)self;
    (void)cache;
    (void)where;
    *out = nonsense;
}

static struct prediction made_sane(struct estimate rate, double fits)
{
    static const struct model_ops ops = {.predict = predict_nonsense};
    struct model model = {.ops = &ops};
    struct job job = fixture_job(1, 1);

    nonsense = (struct prediction){.rate = {rate}, .watts = rate, .fits = fits};
    return predict_alone(&model, &job, SLOW);
}

static void assert_sane(struct prediction p)
{
    assert_true(p.rate[0].value > 0 && isfinite(p.rate[0].value));
    assert_true(p.rate[0].low > 0 && p.rate[0].low <= p.rate[0].value);
    assert_true(p.rate[0].high >= p.rate[0].value && isfinite(p.rate[0].high));
    assert_true(p.watts.low > 0 && p.watts.low <= p.watts.high);
    assert_true(p.fits >= 0 && p.fits <= 1);
}

static void nonsense_of_a_model_does_not_get_through(void **state)
{
    (void)state;
    assert_sane(made_sane((struct estimate){.value = NAN, .low = NAN, .high = NAN}, NAN));
    assert_sane(made_sane((struct estimate){.value = -5, .low = -6, .high = -4}, -1));
    assert_sane(made_sane((struct estimate){.value = 5, .low = 9, .high = 2}, 7));
    assert_sane(
        made_sane((struct estimate){.value = INFINITY, .low = 1, .high = INFINITY}, 1));
    assert_sane(made_sane((struct estimate){.value = 5, .low = NAN, .high = NAN}, 0.5));
}

static void an_unknown_rate_or_fit_promises_nothing(void **state)
{
    struct prediction p =
        made_sane((struct estimate){.value = NAN, .low = 1, .high = 2}, NAN);

    (void)state;
    assert_true(estimate_at_confidence(&p.rate[0], 0.8) < 1e-6);
    assert_true(p.fits == 0);
}

static void sane_answers_pass_unchanged(void **state)
{
    struct prediction p =
        made_sane((struct estimate){.value = 5, .low = 4, .high = 7}, 0.25);

    (void)state;
    assert_true(p.rate[0].value == 5 && p.rate[0].low == 4 && p.rate[0].high == 7);
    assert_true(p.fits == 0.25);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(normal_quantiles_agree_with_the_tables),
        cmocka_unit_test(an_interval_holds_90_percent_of_a_log_normal),
        cmocka_unit_test(more_confidence_promises_less),
        cmocka_unit_test(each_side_of_a_lopsided_interval_is_read_by_itself),
        cmocka_unit_test(an_estimate_without_width_is_its_value),
        cmocka_unit_test(nonsense_of_a_model_does_not_get_through),
        cmocka_unit_test(an_unknown_rate_or_fit_promises_nothing),
        cmocka_unit_test(sane_answers_pass_unchanged),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
