/* test_policy_gavel.c - shares of time from a linear program, realised by rounds */
#include "lab/policy/gavel_policy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "fixture/policy.h"

static struct policy_round r;

static int tear_down(void **state)
{
    (void)state;
    policy_round_fini(&r);
    return 0;
}

static struct job_status *service(double rate)
{
    struct job_status *s = policy_round_job(&r, rate);

    s->job.kind = JOB_INFERENCE;
    s->job.need.kind = NEED_SERVICE;
    s->job.duration_s = 1e6;
    s->started_s = r.now_s;
    return s;
}

static void cost_weighs_price_against_progress(void **state)
{
    struct job_status *training, *easy, *hard;

    (void)state;
    policy_round_init(&r, "gavel-cost", 1, 1, 4);
    training = policy_round_job(&r, 5);
    easy = service(5);
    hard = service(20);
    policy_round_plan(&r);
    assert_int_equal(round_type(&r, training), FIXTURE_V100);
    assert_int_equal(round_type(&r, easy), FIXTURE_K80);
    assert_int_equal(round_type(&r, hard), FIXTURE_V100);
}

static void cost_moves_who_falls_short_and_nobody_else(void **state)
{
    struct job_status *first, *second;

    (void)state;
    policy_round_init(&r, "gavel-cost", 1, 1, 4);
    first = service(5);
    second = service(2);
    policy_round_plan(&r);
    r.now_s += 1000;
    r.beliefs.rate[FIXTURE_K80] = 3;
    policy_round_plan(&r);
    assert_int_equal(round_type(&r, first), FIXTURE_V100);
    assert_int_equal(round_type(&r, second), FIXTURE_K80);
    assert_int_equal(second->moves, 0);
}

static void packing_shares_where_both_keep_their_rate(void **state)
{
    struct job_status *a, *b;

    (void)state;
    policy_round_init(&r, "gavel-cost-packed", 0, 1, 2);
    r.beliefs.beside = 0.9;
    a = policy_round_job(&r, 20);
    b = policy_round_job(&r, 20);
    policy_round_plan(&r);
    assert_int_equal(a->devices[0], b->devices[0]);
    policy_round_fini(&r);
    policy_round_init(&r, "gavel-cost-packed", 0, 1, 2);
    r.beliefs.beside = 0.9;
    a = policy_round_job(&r, 20);
    b = policy_round_job(&r, 38); /* 36 together */
    policy_round_plan(&r);
    assert_int_not_equal(a->devices[0], b->devices[0]);
}

/* One fast device for two jobs: each gets about half of the time there. */
static void fairness_takes_turns_on_the_fast_device(void **state)
{
    int fast[2] = {0};

    (void)state;
    policy_round_init(&r, "gavel-maxmin", 1, 1, 1);
    policy_round_job(&r, 5);
    policy_round_job(&r, 5);
    for (int i = 0; i < 200; i++) {
        policy_round_plan(&r);
        assert_int_not_equal(r.jobs[0].devices[0], r.jobs[1].devices[0]);
        for (int k = 0; k < 2; k++)
            fast[k] += round_type(&r, &r.jobs[k]) == FIXTURE_V100;
        r.now_s += GAVEL_ROUND_S;
    }
    assert_int_equal(fast[0] + fast[1], 200);
    assert_true(fast[0] > 80 && fast[0] < 120);
    assert_true(r.jobs[0].moves < 60);
}

/* More jobs than devices: all of them get time. */
static void fairness_lets_nobody_starve(void **state)
{
    int got[5] = {0};

    (void)state;
    policy_round_init(&r, "gavel-maxmin", 0, 1, 2);
    for (int k = 0; k < 5; k++)
        policy_round_job(&r, 5);
    for (int i = 0; i < 300; i++) {
        policy_round_plan(&r);
        for (int k = 0; k < 5; k++)
            got[k] += r.jobs[k].device_count;
        r.now_s += GAVEL_ROUND_S;
    }
    for (int k = 0; k < 5; k++)
        assert_in_range(got[k], 80, 160);
}

static void between_rounds_everything_stays(void **state)
{
    (void)state;
    policy_round_init(&r, "gavel-maxmin", 1, 1, 1);
    policy_round_job(&r, 5);
    policy_round_job(&r, 5);
    policy_round_plan(&r);
    policy_round_plan(&r); /* who waits and who runs has changed: once more */
    for (int i = 0; i < 5; i++) {
        r.now_s += 60;
        policy_round_plan(&r);
    }
    assert_int_equal(r.jobs[0].moves + r.jobs[1].moves, 0);
}

static void a_job_that_may_not_move_stays(void **state)
{
    struct job_status *first;

    (void)state;
    policy_round_init(&r, "gavel-maxmin-packed", 1, 1, 1);
    first = policy_round_job(&r, 5);
    first->job.may_move = false;
    policy_round_plan(&r);
    for (int k = 0; k < 3; k++)
        policy_round_job(&r, 5);
    for (int i = 0; i < 50; i++) {
        r.now_s += GAVEL_ROUND_S;
        policy_round_plan(&r);
        assert_int_equal(round_type(&r, first), FIXTURE_V100);
    }
    assert_int_equal(first->moves, 0);
}

static void a_gang_gets_all_its_devices_of_one_type(void **state)
{
    struct job_status *gang;

    (void)state;
    policy_round_init(&r, "gavel-cost-packed", 1, 1, 4);
    policy_round_job(&r, 5);
    gang = policy_round_job(&r, 5);
    gang->job.devices = 3;
    policy_round_plan(&r);
    assert_int_equal(gang->device_count, 3);
    for (int k = 0; k < 3; k++)
        assert_int_equal(r.cluster->devices[gang->devices[k]].type, FIXTURE_V100);
}

static void dearer_cards_cost_more(void **state)
{
    (void)state;
    policy_round_init(&r, "gavel-cost", 1, 1, 1);
    assert_true(gavel_price(gpu_find("k80")) < gavel_price(gpu_find("v100")));
    assert_true(gavel_price(gpu_find("v100")) < gavel_price(gpu_find("h100")));
}

#define policy_test(f) cmocka_unit_test_teardown(f, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        policy_test(cost_weighs_price_against_progress),
        policy_test(cost_moves_who_falls_short_and_nobody_else),
        policy_test(packing_shares_where_both_keep_their_rate),
        policy_test(fairness_takes_turns_on_the_fast_device),
        policy_test(fairness_lets_nobody_starve),
        policy_test(between_rounds_everything_stays),
        policy_test(a_job_that_may_not_move_stays),
        policy_test(a_gang_gets_all_its_devices_of_one_type),
        policy_test(dearer_cards_cost_more),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
