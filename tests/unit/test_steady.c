/* test_steady.c - a running placement is improved where that pays, and else left alone */
#include "loop/optimize/steady.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "fixture/policy.h"
#include "loop/pace.h"

static struct round r;

static int tear_down(void **state)
{
    (void)state;
    round_fini(&r);
    return 0;
}

static void measure(struct job_status *s, double rate)
{
    const struct measurement m = {
        .job = s->job.id, .at_s = r.now_s, .window_s = 60, .rate = rate};

    pace_note(s, r.cluster, &m);
}

static int type_of(const struct job_status *s)
{
    return r.cluster->devices[s->devices[0]].type;
}

static void two_share_where_both_keep_their_need(void **state)
{
    struct job_status *a, *b;

    (void)state;
    round_init(&r, "corgi", 0, 2, 1);
    a = round_job(&r, 20);
    b = round_job(&r, 20);
    round_plan(&r);
    assert_int_equal(a->devices[0], b->devices[0]); /* the other node sleeps on */
}

static void nobody_shares_below_his_need(void **state)
{
    struct job_status *a, *b;

    (void)state;
    round_init(&r, "corgi", 0, 2, 1);
    a = round_job(&r, 30); /* 24 beside another */
    b = round_job(&r, 5);
    round_plan(&r);
    assert_int_equal(a->device_count, 1);
    assert_int_equal(b->device_count, 1);
    assert_int_not_equal(a->devices[0], b->devices[0]);
}

static void who_is_measured_to_fall_short_is_moved(void **state)
{
    struct job_status *a;

    (void)state;
    r.count = 0;
    round_init(&r, "corgi", 1, 1, 1);
    r.beliefs.rate[1] = 11; /* hardly faster: the cheap card is taken */
    a = round_job(&r, 9);
    round_plan(&r);
    assert_int_equal(type_of(a), 0);
    r.now_s += 120;
    measure(a, 6);
    round_plan(&r);
    assert_int_equal(type_of(a), 1);
    assert_int_equal(a->moves, 1);
}

static void one_noisy_window_moves_nobody(void **state)
{
    struct job_status *a;

    (void)state;
    round_init(&r, "corgi", 1, 1, 1);
    r.beliefs.rate[1] = 11;
    a = round_job(&r, 9);
    round_plan(&r);
    r.now_s += 120;
    measure(a, 8.9);
    round_plan(&r);
    assert_int_equal(a->moves, 0);
}

static void a_small_gain_is_not_worth_a_pause(void **state)
{
    struct job_status *a;

    (void)state;
    round_init(&r, "corgi", 0, 2, 1);
    r.beliefs.rate[1] = 40;
    a = round_job(&r, 5);
    round_plan(&r);
    for (int i = 0; i < 10; i++) {
        r.now_s += 600;
        measure(a, 40);
        round_plan(&r);
    }
    assert_int_equal(a->moves, 0);
}

static void caps_wait_for_the_first_window(void **state)
{
    struct job_status *a;

    (void)state;
    round_init(&r, "corgi", 0, 1, 1);
    r.beliefs.watts[1] = 290;
    a = round_job(&r, 5);
    a->job.kind = JOB_INFERENCE; /* progress beyond its need is worth nothing */
    a->job.need.kind = NEED_SERVICE;
    a->job.duration_s = 1e6;
    round_plan(&r);
    assert_true(r.plan.cap_watts[a->devices[0]] <= 0);
    measure(a, 40);
    r.now_s += 300;
    round_plan(&r);
    assert_true(r.plan.cap_watts[a->devices[0]] > 0);
}

static void larger_priorities_are_seated_first(void **state)
{
    struct job_status *a, *b;

    (void)state;
    round_init(&r, "corgi", 0, 1, 1);
    a = round_job(&r, 30);
    b = round_job(&r, 30);
    b->job.priority = 1;
    round_plan(&r);
    assert_int_equal(a->device_count, 0);
    assert_int_equal(b->device_count, 1);
}

static void a_pace_of_other_company_does_not_count(void **state)
{
    struct job_status *a, *b;

    (void)state;
    round_init(&r, "corgi", 0, 1, 1);
    a = round_job(&r, 5);
    round_plan(&r);
    measure(a, 40);
    assert_true(pace_known(a, r.cluster));
    b = round_job(&r, 5);
    round_plan(&r);
    assert_int_equal(b->devices[0], a->devices[0]);
    assert_false(pace_known(a, r.cluster));
    measure(a, 20);
    measure(a, 22);
    assert_true(a->pace.windows == 2 && fabs(a->pace.rate - 21) < 1e-9);
}

#define steady_test(f) cmocka_unit_test_teardown(f, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        steady_test(two_share_where_both_keep_their_need),
        steady_test(nobody_shares_below_his_need),
        steady_test(who_is_measured_to_fall_short_is_moved),
        steady_test(one_noisy_window_moves_nobody),
        steady_test(a_small_gain_is_not_worth_a_pause),
        steady_test(caps_wait_for_the_first_window),
        steady_test(larger_priorities_are_seated_first),
        steady_test(a_pace_of_other_company_does_not_count),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
