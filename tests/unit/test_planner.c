/* test_planner.c - a running placement is improved where that pays, and else left alone
 */
#include "loop/optimize/planner_private.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "fixture/policy.h"
#include "loop/recent_rate.h"

static struct policy_round r;

static int tear_down(void **state)
{
    (void)state;
    policy_round_fini(&r);
    return 0;
}

static void measure(struct job_status *s, double rate)
{
    const struct measurement m = {
        .job = s->job.id, .at_s = r.now_s, .window_s = 60, .rate = rate};

    recent_rate_note(s, r.cluster, &m);
}

static int type_of(const struct job_status *s)
{
    return r.cluster->devices[s->devices[0]].type;
}

static void two_share_where_both_keep_their_need(void **state)
{
    struct job_status *a, *b;

    (void)state;
    policy_round_init(&r, "corgi", 0, 2, 1);
    a = policy_round_job(&r, 20);
    b = policy_round_job(&r, 20);
    policy_round_plan(&r);
    assert_int_equal(a->devices[0], b->devices[0]); /* the other node sleeps on */
}

static void nobody_shares_below_what_they_need(void **state)
{
    struct job_status *a, *b;

    (void)state;
    policy_round_init(&r, "corgi", 0, 2, 1);
    a = policy_round_job(&r, 30); /* 24 beside another */
    b = policy_round_job(&r, 5);
    policy_round_plan(&r);
    assert_int_equal(a->device_count, 1);
    assert_int_equal(b->device_count, 1);
    assert_int_not_equal(a->devices[0], b->devices[0]);
}

static void a_small_gain_is_not_worth_a_pause(void **state)
{
    struct job_status *a;

    (void)state;
    policy_round_init(&r, "corgi", 0, 2, 1);
    r.beliefs.rate[1] = 40;
    a = policy_round_job(&r, 5);
    policy_round_plan(&r);
    for (int i = 0; i < 10; i++) {
        r.now_s += 600;
        measure(a, 40);
        policy_round_plan(&r);
    }
    assert_int_equal(a->moves, 0);
}

static void caps_wait_for_the_first_window(void **state)
{
    struct job_status *a;

    (void)state;
    policy_round_init(&r, "corgi", 0, 1, 1);
    r.beliefs.watts[1] = 290;
    a = policy_round_job(&r, 5);
    a->job.kind = JOB_INFERENCE; /* progress beyond its need is worth nothing */
    a->job.need.kind = NEED_SERVICE;
    a->job.duration_s = 1e6;
    policy_round_plan(&r);
    assert_true(r.plan.cap_watts[a->devices[0]] <= 0);
    measure(a, 40);
    r.now_s += 300;
    policy_round_plan(&r);
    assert_true(r.plan.cap_watts[a->devices[0]] > 0);
}

static void larger_priorities_are_seated_first(void **state)
{
    struct job_status *a, *b;

    (void)state;
    policy_round_init(&r, "corgi", 0, 1, 1);
    a = policy_round_job(&r, 30);
    b = policy_round_job(&r, 30);
    b->job.priority = 1;
    policy_round_plan(&r);
    assert_int_equal(a->device_count, 0);
    assert_int_equal(b->device_count, 1);
}

static void a_pace_of_other_company_does_not_count(void **state)
{
    struct job_status *a, *b;

    (void)state;
    policy_round_init(&r, "corgi", 0, 1, 1);
    a = policy_round_job(&r, 5);
    policy_round_plan(&r);
    measure(a, 40);
    assert_true(recent_rate_known(a, r.cluster));
    b = policy_round_job(&r, 5);
    policy_round_plan(&r);
    assert_int_equal(b->devices[0], a->devices[0]);
    assert_false(recent_rate_known(a, r.cluster));
    measure(a, 20);
    measure(a, 22);
    assert_true(a->pace.windows == 2 && fabs(a->pace.rate - 21) < 1e-9);
}

/* ---- changes of the policy --------------------------------------------------------- */

static void caps_switched_off_later_are_off(void **state)
{
    struct job_status *a;

    (void)state;
    policy_round_init(&r, "corgi", 0, 1, 1);
    r.beliefs.watts[1] = 290;
    a = policy_round_job(&r, 5);
    a->job.kind = JOB_INFERENCE;
    a->job.need.kind = NEED_SERVICE;
    a->job.duration_s = 1e6;
    policy_round_plan(&r);
    measure(a, 40);
    r.now_s += 300;
    policy_round_plan(&r);
    assert_true(r.plan.cap_watts[a->devices[0]] > 0);
    r.settings.caps = false;
    policy_round_plan(&r);
    assert_true(r.plan.cap_watts[a->devices[0]] <= 0);
}

/* Jobs come and go around it for hours: nobody who is well where he is, is moved. */
static void coming_and_going_moves_nobody_who_is_well(void **state)
{
    struct job_status *stays[3];

    (void)state;
    policy_round_init(&r, "corgi", 2, 2, 2);
    for (int i = 0; i < 3; i++)
        stays[i] = policy_round_job(&r, 8);
    for (int hour = 0; hour < 40; hour++) {
        struct job_status *guest = policy_round_job(&r, 6);

        r.now_s += 60;
        policy_round_plan(&r);
        for (size_t i = 0; i < r.count; i++)
            if (r.jobs[i].device_count > 0)
                measure(&r.jobs[i], r.beliefs.rate[type_of(&r.jobs[i])]);
        r.now_s += 540;
        for (int k = 0; k < guest->device_count; k++)
            cluster_leave(r.cluster, guest->devices[k], guest->job.id, r.now_s);
        r.count--;
    }
    for (int i = 0; i < 3; i++)
        assert_true(stays[i]->moves <= 1);
}

#define planner_test(f) cmocka_unit_test_teardown(f, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        planner_test(two_share_where_both_keep_their_need),
        planner_test(nobody_shares_below_what_they_need),
        planner_test(a_small_gain_is_not_worth_a_pause),
        planner_test(caps_wait_for_the_first_window),
        planner_test(larger_priorities_are_seated_first),
        planner_test(a_pace_of_other_company_does_not_count),
        planner_test(caps_switched_off_later_are_off),
        planner_test(coming_and_going_moves_nobody_who_is_well),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
