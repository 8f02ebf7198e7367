/* test_settle.c - a job that was taken without a promise gets one when it has been
 * measured, or an offer */
#include "loop_fixture.h"

#include "loop/loop.h"

static struct fixture_model table;
static struct cluster *cluster;
static struct loop *loop;
static double now_s;
static struct loop_observed seen;

/* Nobody knows anything of the job, and it is on its best chance. */
static void begin(double need, bool may_move)
{
    struct loop_options options = {.settings = fixture_settings(), .seed = 1};
    struct job job = fixture_rate_job(1, need);
    struct round_result result;

    table = fixture_model_make();
    table.source = ESTIMATE_INITIAL;
    table.sd_log = 1.3;
    cluster = fixture_cluster();
    loop =
        loop_create_take(&options, cluster, fixture_model_of(&table), &corgi_planner_ops);
    job.unpromised = true;
    job.may_move = may_move;
    now_s = 0;
    assert_int_equal(loop_submit(loop, &job, now_s, NULL), 0);
    assert_int_equal(loop_round(loop, now_s, &result, NULL), 0);
    assert_int_equal(loop_job(loop, 1)->state, JOB_RUNNING);
    assert_int_equal(cluster->devices[loop_job(loop, 1)->devices[0]].type, FAST);
    table.source = ESTIMATE_MEASURED; /* what the first window teaches */
    table.sd_log = 0.05;
}

static const struct quote *measure(double rate, double window_s)
{
    const struct measurement m = {.job = 1,
                                  .at_s = now_s += window_s,
                                  .window_s = window_s,
                                  .rate = rate,
                                  .device_watts = NAN};

    assert_int_equal(loop_measure(loop, &m, &seen, NULL), 0);
    return seen.settled;
}

static void after_a_minute_it_gets_its_promise(void **state)
{
    (void)state;
    begin(20, true);
    for (int i = 0; i < 5; i++)
        assert_null(measure(40, 10)); /* not long enough yet */
    assert_non_null(measure(40, 10));
    assert_int_equal(seen.settled->verdict, QUOTE_ACCEPTED);
    assert_true(seen.settled->promised_rate == 20);
    assert_int_equal(seen.settled->type, FAST);
    assert_false(loop_job(loop, 1)->job.unpromised);
    assert_null(measure(40, 60)); /* once */
    loop_destroy(loop);
}

static void what_no_type_gives_is_offered_slower(void **state)
{
    (void)state;
    begin(60, true);
    assert_non_null(measure(40, 60));
    assert_int_equal(seen.settled->verdict, QUOTE_COUNTER);
    assert_true(seen.settled->promised_rate > 36 && seen.settled->promised_rate < 40);
    assert_true(loop_job(loop, 1)->job.unpromised);
    assert_null(measure(40, 60)); /* the same offer is made once */
    table.rate[FAST] = 30;
    assert_non_null(measure(30, 60)); /* and what can be had now is less */
    loop_destroy(loop);
}

static void while_another_type_has_a_chance_nothing_is_settled(void **state)
{
    (void)state;
    begin(20, true);
    table.rate[FAST] = 15;
    table.rate[SLOW] = 25; /* the other way round than the sheets say */
    assert_null(measure(15, 60));
    assert_true(loop_job(loop, 1)->job.unpromised);
    loop_destroy(loop);
    begin(20, false); /* but it may not go there */
    table.rate[FAST] = 15;
    table.rate[SLOW] = 25;
    assert_non_null(measure(15, 60));
    assert_int_equal(seen.settled->verdict, QUOTE_COUNTER);
    loop_destroy(loop);
}

/* It is moved to the type that may give it, and told of nothing broken. */
static void it_is_tried_elsewhere_and_is_not_called_broken(void **state)
{
    struct round_result result;

    (void)state;
    begin(20, true);
    table.rate[FAST] = 15;
    table.rate[SLOW] = 25;
    measure(15, 60);
    measure(15, 60);
    assert_true(seen.falls_short);
    assert_int_equal(loop_round(loop, now_s, &result, NULL), 0);
    assert_int_equal(cluster->devices[loop_job(loop, 1)->devices[0]].type, SLOW);
    assert_int_equal(loop_plan(loop)->mend_count, 0);
    assert_non_null(measure(25, 60));
    assert_int_equal(seen.settled->verdict, QUOTE_ACCEPTED);
    loop_destroy(loop);
}

static void no_power_limit_is_set_before_it_is_settled(void **state)
{
    struct round_result result;

    (void)state;
    begin(60, true);
    measure(40, 60);
    assert_int_equal(loop_round(loop, now_s, &result, NULL), 0);
    assert_true(cluster->devices[loop_job(loop, 1)->devices[0]].cap_watts == 0);
    loop_destroy(loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(after_a_minute_it_gets_its_promise),
        cmocka_unit_test(what_no_type_gives_is_offered_slower),
        cmocka_unit_test(while_another_type_has_a_chance_nothing_is_settled),
        cmocka_unit_test(it_is_tried_elsewhere_and_is_not_called_broken),
        cmocka_unit_test(no_power_limit_is_set_before_it_is_settled),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
