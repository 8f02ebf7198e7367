/* test_planner_explore.c - uncertain places are tried within a budget, progress has the
 * price it takes */
#include "loop/optimize/planner_private.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "fixture/policy.h"
#include "loop/recent_rate.h"

#define VAGUE 0.8 /* sd of the log: hoped for is 2.8 times the guess */

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

/* A job that is better off on the V100 by the guess, on the K80 if that may be hoped. */
static struct job_status *plan_vague_job(double explore)
{
    struct job_status *a;

    policy_round_init(&r, "corgi", 2, 2, 1);
    r.settings.explore = explore;
    r.beliefs.sd = VAGUE;
    r.beliefs.rate[0] = 14;
    a = policy_round_job(&r, 2);
    a->job.may_share = false;
    policy_round_plan(&r);
    return a;
}

static void an_uncertain_place_is_tried(void **state)
{
    struct job_status *a = plan_vague_job(0.02);

    (void)state;
    assert_int_equal(round_type(&r, a), 0);
    assert_int_equal(r.plan.learning.trials, 1);
}

static void without_a_budget_the_best_guess_is_taken(void **state)
{
    struct job_status *a = plan_vague_job(0);

    (void)state;
    assert_int_equal(round_type(&r, a), 1);
    assert_int_equal(r.plan.learning.trials, 0);
}

static void what_is_known_is_no_trial(void **state)
{
    struct job_status *a;

    (void)state;
    policy_round_init(&r, "corgi", 2, 2, 1);
    a = policy_round_job(&r, 2);
    policy_round_plan(&r);
    assert_int_equal(round_type(&r, a), 1);
    assert_int_equal(r.plan.learning.trials, 0);
}

static void a_spent_budget_ends_trials(void **state)
{
    struct job_status *b;

    (void)state;
    plan_vague_job(1e-9); /* nothing is spent yet, so one is tried */
    assert_int_equal(r.plan.learning.trials, 1);
    r.now_s += 60;
    b = policy_round_job(&r, 2);
    b->job.may_share = false;
    policy_round_plan(&r);
    assert_int_equal(round_type(&r, b), 1);
    assert_int_equal(r.plan.learning.trials, 1);
}

static void a_trial_that_does_well_has_earned(void **state)
{
    struct job_status *a = plan_vague_job(0.02);

    (void)state;
    r.now_s += 120;
    measure(a, 39);
    policy_round_plan(&r);
    assert_int_equal(r.plan.learning.settled, 1);
    assert_int_equal(r.plan.learning.better, 1);
    assert_true(r.plan.learning.earned_joules > 0);
    assert_true(r.plan.learning.spent_joules <= 0);
}

static void a_trial_that_disappoints_has_cost(void **state)
{
    struct job_status *a = plan_vague_job(0.02);

    (void)state;
    r.now_s += 120;
    measure(a, 4);
    policy_round_plan(&r);
    assert_int_equal(r.plan.learning.settled, 1);
    assert_int_equal(r.plan.learning.better, 0);
    assert_true(r.plan.learning.spent_joules > 0);
    assert_true(r.plan.learning.earned_joules <= 0);
}

/* Neither type is believed to do, and the one it is on is measured not to. */
static struct job_status *plan_sufferer(double explore, double need, double steps)
{
    struct job_status *a;

    policy_round_init(&r, "corgi", 1, 1, 1);
    r.settings.explore = explore;
    r.beliefs = (struct round_beliefs){
        .rate = {10, 12}, .watts = {100, 200}, .beside = 0.6, .sd = VAGUE};
    a = policy_round_job(&r, need);
    a->job.total_steps = steps;
    policy_round_plan(&r);
    assert_int_equal(round_type(&r, a), 1);
    for (int i = 0; i < 2; i++) {
        r.now_s += 60;
        measure(a, 12);
    }
    policy_round_plan(&r);
    return a;
}

static void who_suffers_tries_what_may_help(void **state)
{
    struct job_status *a = plan_sufferer(0.02, 20, 1e6);

    (void)state;
    assert_int_equal(round_type(&r, a), 0);
    assert_int_equal(a->moves, 1);
}

static void who_suffers_stays_without_a_budget(void **state)
{
    struct job_status *a = plan_sufferer(0, 20, 1e6);

    (void)state;
    assert_int_equal(a->moves, 0);
}

static void who_suffers_for_hours_tries_what_hardly_helps(void **state)
{
    struct job_status *a = plan_sufferer(0.02, 40, 1e6);

    (void)state;
    assert_int_equal(a->moves, 1);
}

static void who_suffers_and_ends_soon_does_not(void **state)
{
    struct job_status *a = plan_sufferer(0.02, 40, 5e3);

    (void)state;
    assert_int_equal(a->moves, 0);
}

/* Jobs alike on one type, seated over some rounds, and how often they move in the six
 * hours after that. */
static int moves_of_likes(void)
{
    struct job_status *jobs[6];
    int before = 0, moves = 0;

    policy_round_init(&r, "corgi", 1, 0, 4);
    r.settings.explore = 0.02;
    r.beliefs.sd = 2;
    for (int i = 0; i < 6; i++) {
        jobs[i] = policy_round_job(&r, 0.01);
        policy_round_plan(&r);
    }
    for (int k = 0; k < 36; k++) {
        r.now_s += 600;
        policy_round_plan(&r);
        if (k == 5) /* whoever came first may have been seated otherwise */
            for (int i = 0; i < 6; i++)
                before += jobs[i]->moves;
    }
    for (int i = 0; i < 6; i++)
        moves += jobs[i]->moves;
    return moves - before;
}

static void a_place_not_measured_yet_does_not_lose_against_its_like(void **state)
{
    (void)state;
    assert_int_equal(moves_of_likes(), 0);
}

static void who_was_not_measured_yet_is_left_alone(void **state)
{
    struct job_status *a;

    (void)state;
    policy_round_init(&r, "corgi", 1, 1, 1);
    a = policy_round_job(&r, 2);
    a->job.types_allowed = 1;
    policy_round_plan(&r);
    assert_int_equal(round_type(&r, a), 0);
    a->job.types_allowed = 0; /* the V100 would be better by far */
    r.beliefs.rate[1] = 100;
    r.now_s += 1200;
    policy_round_plan(&r);
    assert_int_equal(a->moves, 0);
    measure(a, 10);
    r.now_s += 400;
    policy_round_plan(&r);
    assert_int_equal(a->moves, 1);
}

static double price_after_a_day(double progress_watts)
{
    struct job_status *a;

    policy_round_init(&r, "corgi", 0, 1, 1);
    r.settings.progress_watts = progress_watts;
    r.settings.caps = false;
    a = policy_round_job(&r, 5);
    policy_round_plan(&r);
    r.now_s += 60;
    measure(a, 80); /* twice what it was believed to do at best */
    policy_round_plan(&r);
    r.now_s += 86400;
    policy_round_plan(&r);
    return ((const struct planner_state *)r.planner)->price;
}

static void progress_has_the_price_it_takes(void **state)
{
    double price = price_after_a_day(50);
    double watts = r.cluster->nodes[0].host_watts + 200;

    (void)state;
    assert_true(fabs(2 * price / watts - 1) < 1e-6); /* two units for these watts */
}

static void least_power_alone_can_be_asked_for(void **state)
{
    (void)state;
    assert_true(price_after_a_day(0) == 0);
}

#define planner_test(f) cmocka_unit_test_teardown(f, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        planner_test(an_uncertain_place_is_tried),
        planner_test(without_a_budget_the_best_guess_is_taken),
        planner_test(what_is_known_is_no_trial),
        planner_test(a_spent_budget_ends_trials),
        planner_test(a_trial_that_does_well_has_earned),
        planner_test(a_trial_that_disappoints_has_cost),
        planner_test(who_suffers_tries_what_may_help),
        planner_test(who_suffers_stays_without_a_budget),
        planner_test(who_suffers_for_hours_tries_what_hardly_helps),
        planner_test(who_suffers_and_ends_soon_does_not),
        planner_test(a_place_not_measured_yet_does_not_lose_against_its_like),
        planner_test(who_was_not_measured_yet_is_left_alone),
        planner_test(progress_has_the_price_it_takes),
        planner_test(least_power_alone_can_be_asked_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
