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

static void who_is_measured_to_fall_short_is_moved(void **state)
{
    struct job_status *a;

    (void)state;
    r.count = 0;
    policy_round_init(&r, "corgi", 1, 1, 1);
    r.beliefs.rate[1] = 11; /* hardly faster: the cheap card is taken */
    a = policy_round_job(&r, 9);
    policy_round_plan(&r);
    assert_int_equal(type_of(a), 0);
    r.now_s += 120;
    measure(a, 6);
    policy_round_plan(&r);
    assert_int_equal(type_of(a), 1);
    assert_int_equal(a->moves, 1);
}

/* ---- who falls short, and what is done about it --------------------------------------
 */

static void assert_mended(const struct job_status *s, enum plan_help help)
{
    assert_int_equal(r.plan.mend_count, 1);
    assert_int_equal(r.plan.mends[0].job, s->job.id);
    assert_int_equal(r.plan.mends[0].help, help);
    assert_true(r.plan.mends[0].rate < r.plan.mends[0].needed);
}

static void the_plan_says_what_was_done_for_a_job_that_falls_short(void **state)
{
    struct job_status *a;

    (void)state;
    policy_round_init(&r, "corgi", 1, 1, 1);
    r.beliefs.rate[1] = 11;
    a = policy_round_job(&r, 9);
    policy_round_plan(&r);
    assert_int_equal(r.plan.mend_count, 0);
    r.now_s += 120;
    measure(a, 6);
    policy_round_plan(&r);
    assert_mended(a, HELP_MOVED);
}

static void a_job_keeps_what_it_has_where_nothing_better_is_free(void **state)
{
    struct job_status *a;

    (void)state;
    policy_round_init(&r, "corgi", 1, 0, 1);
    a = policy_round_job(&r, 9);
    policy_round_plan(&r);
    for (int i = 0; i < 5; i++) {
        r.now_s += 120;
        measure(a, 3);
        policy_round_plan(&r);
        assert_mended(a, HELP_NOTHING);
        assert_int_equal(a->state, JOB_RUNNING);
        assert_int_equal(a->device_count, 1);
    }
    assert_int_equal(a->moves, 0);
}

static void a_job_that_may_not_move_keeps_what_it_has(void **state)
{
    struct job_status *a;

    (void)state;
    policy_round_init(&r, "corgi", 1, 1, 1);
    r.beliefs.rate[1] = 11;
    a = policy_round_job(&r, 9);
    a->job.may_move = false;
    policy_round_plan(&r);
    r.now_s += 120;
    measure(a, 3);
    policy_round_plan(&r);
    assert_mended(a, HELP_FIXED);
    assert_int_equal(a->device_count, 1);
}

static void the_neighbour_goes_when_the_job_itself_may_not(void **state)
{
    struct job_status *a, *b;

    (void)state;
    policy_round_init(&r, "corgi", 0, 2, 1);
    r.cluster->devices[1].drained = true; /* they have to share */
    a = policy_round_job(&r, 20);
    b = policy_round_job(&r, 5);
    a->job.may_move = false;
    policy_round_plan(&r);
    assert_int_equal(a->devices[0], b->devices[0]);
    r.cluster->devices[1].drained = false;
    r.now_s += 120;
    measure(a, 12);
    measure(b, 24);
    policy_round_plan(&r);
    assert_mended(a, HELP_NEIGHBOUR);
    assert_int_equal(a->moves, 0);
    assert_int_equal(b->moves, 1);
    assert_int_not_equal(a->devices[0], b->devices[0]);
}

static void a_more_important_neighbour_is_not_sent_away(void **state)
{
    struct job_status *a, *b;

    (void)state;
    policy_round_init(&r, "corgi", 0, 2, 1);
    r.cluster->devices[1].drained = true;
    a = policy_round_job(&r, 20);
    b = policy_round_job(&r, 5);
    a->job.may_move = false;
    b->job.priority = 1;
    policy_round_plan(&r);
    r.cluster->devices[1].drained = false;
    r.now_s += 120;
    measure(a, 12);
    measure(b, 24);
    policy_round_plan(&r);
    assert_mended(a, HELP_FIXED);
    assert_int_equal(b->moves, 0);
}

static void a_power_limit_that_breaks_a_promise_is_lifted(void **state)
{
    struct job_status *a;

    (void)state;
    policy_round_init(&r, "corgi", 0, 1, 1);
    r.beliefs.watts[1] = 290;
    a = policy_round_job(&r, 30);
    policy_round_plan(&r);
    r.cluster->devices[a->devices[0]].cap_watts = 200;
    r.now_s += 120;
    measure(a, 20);
    policy_round_plan(&r);
    assert_mended(a, HELP_UNCAPPED);
    assert_true(r.plan.cap_watts[a->devices[0]] <= 0 ||
                r.plan.cap_watts[a->devices[0]] > 200);
}

static void one_noisy_window_moves_nobody(void **state)
{
    struct job_status *a;

    (void)state;
    policy_round_init(&r, "corgi", 1, 1, 1);
    r.beliefs.rate[1] = 11;
    a = policy_round_job(&r, 9);
    policy_round_plan(&r);
    r.now_s += 120;
    measure(a, 8.9);
    policy_round_plan(&r);
    assert_int_equal(a->moves, 0);
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

/* ---- gangs ------------------------------------------------------------------------ */

static struct job_status *gang(double rate, int devices)
{
    struct job_status *s = policy_round_job(&r, rate);

    s->job.devices = devices;
    return s;
}

static void a_gang_that_falls_short_goes_elsewhere_whole(void **state)
{
    struct job_status *a;

    (void)state;
    policy_round_init(&r, "corgi", 1, 1, 2);
    r.beliefs.rate[1] = 11;
    a = gang(9, 2);
    policy_round_plan(&r);
    assert_int_equal(type_of(a), 0);
    r.now_s += 120;
    measure(a, 6);
    policy_round_plan(&r);
    assert_int_equal(a->device_count, 2);
    assert_int_equal(type_of(a), 1);
    assert_int_equal(r.cluster->devices[a->devices[1]].type, 1);
    assert_int_not_equal(a->devices[0], a->devices[1]);
}

static void a_gang_stays_where_nothing_else_is_free(void **state)
{
    struct job_status *a, *b;

    (void)state;
    policy_round_init(&r, "corgi", 1, 1, 2);
    r.beliefs.rate[1] = 11;
    a = gang(9, 2);
    policy_round_plan(&r);
    b = policy_round_job(&r, 10.5); /* needs the other type */
    policy_round_plan(&r);
    assert_int_equal(type_of(b), 1);
    r.now_s += 120;
    measure(a, 6);
    policy_round_plan(&r);
    assert_int_equal(type_of(a), 0);
    assert_int_equal(a->moves, 0);
}

static void a_gang_that_nothing_helps_does_not_wander(void **state)
{
    struct job_status *a;

    (void)state;
    policy_round_init(&r, "corgi", 0, 2, 2);
    a = gang(30, 2); /* believed to do 40 */
    policy_round_plan(&r);
    for (int i = 0; i < 20; i++) {
        r.now_s += 600;
        measure(a, 20);
        policy_round_plan(&r);
    }
    assert_int_equal(a->moves, 0);
}

static void a_gang_that_may_not_move_stays(void **state)
{
    struct job_status *a;

    (void)state;
    policy_round_init(&r, "corgi", 1, 1, 2);
    r.beliefs.rate[1] = 11;
    a = gang(9, 2);
    a->job.may_move = false;
    policy_round_plan(&r);
    r.now_s += 120;
    measure(a, 6);
    policy_round_plan(&r);
    assert_int_equal(type_of(a), 0);
}

/* ---- a limit on power ------------------------------------------------------------- */

/* As the plan has it: everything on nodes with jobs, the others asleep. */
static double planned_watts(void)
{
    const struct cluster *c = r.cluster;
    double watts = 0;

    for (int n = 0; n < c->node_count; n++) {
        bool used = cluster_node_jobs(c, n) > 0;

        watts += used ? c->nodes[n].host_watts : c->nodes[n].sleep_watts;
        for (int i = 0; i < c->nodes[n].device_count && used; i++) {
            const struct device *d = &c->devices[c->nodes[n].first_device + i];
            double draw = d->job_count > 0 ? r.beliefs.watts[d->type]
                                           : c->types[d->type].idle_watts;
            double cap = r.plan.cap_watts[c->nodes[n].first_device + i];

            watts += cap > 0 ? fmin(cap, draw) : draw;
        }
    }
    return watts;
}

static int running(void)
{
    int count = 0;

    for (size_t i = 0; i < r.count; i++)
        count += r.jobs[i].device_count > 0;
    return count;
}

static void under_a_power_limit_fewer_start(void **state)
{
    int without;
    double all_watts;

    (void)state;
    policy_round_init(&r, "corgi", 0, 4, 1);
    for (int i = 0; i < 4; i++)
        policy_round_job(&r, 38); /* each needs a device of its own without a cap */
    policy_round_plan(&r);
    without = running();
    all_watts = planned_watts();
    policy_round_fini(&r);
    assert_int_equal(without, 4);

    policy_round_init(&r, "corgi", 0, 4, 1);
    r.settings.power_limit_watts = 0.6 * all_watts;
    for (int i = 0; i < 4; i++)
        policy_round_job(&r, 38);
    policy_round_plan(&r);
    assert_in_range(running(), 1, 3);
    assert_true(planned_watts() <= r.settings.power_limit_watts);
    assert_int_equal(r.plan.seats[3].reason, UNPLACED_POLICY);
    for (int n = 0; n < r.cluster->node_count; n++) /* none is woken for nobody */
        assert_true(!r.plan.awake[n] || cluster_node_jobs(r.cluster, n) > 0 ||
                    r.cluster->nodes[n].state == NODE_AWAKE);
}

static void a_lower_power_limit_caps_before_it_stops(void **state)
{
    double before;

    (void)state;
    policy_round_init(&r, "corgi", 0, 2, 1);
    r.beliefs.watts[1] = 280;
    policy_round_job(&r, 15)->job.may_share = false;
    policy_round_job(&r, 15)->job.may_share = false;
    policy_round_plan(&r);
    before = planned_watts();
    r.settings.power_limit_watts = before - 20;
    policy_round_plan(&r);
    assert_int_equal(running(), 2);
    assert_true(planned_watts() <= r.settings.power_limit_watts);
    assert_true(r.plan.cap_watts[0] > 0 || r.plan.cap_watts[1] > 0);
}

static void the_least_important_is_stopped_for_a_power_limit(void **state)
{
    struct job_status *a, *b, *c;

    (void)state;
    policy_round_init(&r, "corgi", 0, 3, 1);
    a = policy_round_job(&r, 38);
    b = policy_round_job(&r, 38);
    c = policy_round_job(&r, 38);
    b->job.priority = -1;
    c->job.may_move = false; /* would lose its work */
    policy_round_plan(&r);
    assert_int_equal(running(), 3);
    r.settings.power_limit_watts = planned_watts() * 0.7;
    r.settings.caps = false;
    policy_round_plan(&r);
    assert_int_equal(a->device_count, 1);
    assert_int_equal(b->device_count, 0);
    assert_int_equal(c->device_count, 1);
    assert_true(planned_watts() <= r.settings.power_limit_watts);
}

/* Beliefs may be far off at first: what the devices are measured to draw decides. */
static void a_power_limit_goes_by_measured_watts(void **state)
{
    struct measurement m = {.at_s = 60, .window_s = 60, .rate = 40, .device_watts = 290};
    double limit;

    (void)state;
    policy_round_init(&r, "corgi", 0, 2, 1);
    r.beliefs.watts[1] = 150;
    policy_round_job(&r, 15)->job.may_share = false;
    policy_round_job(&r, 15)->job.may_share = false;
    r.settings.caps = false;
    policy_round_plan(&r);
    limit = r.settings.power_limit_watts = planned_watts() + 100;
    policy_round_plan(&r);
    assert_int_equal(running(), 2); /* believed to draw less than that */
    for (size_t i = 0; i < r.count; i++)
        recent_rate_note(&r.jobs[i], r.cluster, &m);
    r.now_s += 60;
    policy_round_plan(&r);
    assert_int_equal(running(), 1); /* 140 W more each than believed */
    assert_true(planned_watts() + 140 <= limit);
}

/* Without margin for starts a job would come and go with every breath of a belief. */
static void what_a_power_limit_let_start_is_not_stopped_by_jitter(void **state)
{
    int before;

    (void)state;
    policy_round_init(&r, "corgi", 0, 4, 1);
    r.settings.power_limit_watts = 1500;
    for (int i = 0; i < 4; i++)
        policy_round_job(&r, 38);
    policy_round_plan(&r);
    before = running();
    for (int i = 0; i < 20; i++) {
        r.now_s += 30;
        r.beliefs.watts[1] = i % 2 ? 202 : 198;
        policy_round_plan(&r);
        assert_int_equal(running(), before);
    }
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

/* Two share while there is no room; then there is.  Moves after that. */
static int moves_once_there_is_room(double steps_left_of_b)
{
    struct job_status *a, *b;

    policy_round_init(&r, "corgi", 0, 2, 1);
    r.settings.sleep = false;
    a = policy_round_job(&r, 5);
    b = policy_round_job(&r, 5);
    b->job.total_steps = 1e6;
    b->steps_done = 1e6 - steps_left_of_b;
    r.cluster->devices[1].drained = true;
    policy_round_plan(&r);
    assert_int_equal(a->devices[0], b->devices[0]);
    r.cluster->devices[1].drained = false;
    r.now_s += 1200;
    measure(a, 24);
    measure(b, 24);
    policy_round_plan(&r);
    return a->moves + b->moves;
}

static void nobody_flees_from_a_neighbour_who_is_about_to_end(void **state)
{
    (void)state;
    assert_int_equal(moves_once_there_is_room(1e6), 1);
    policy_round_fini(&r);
    assert_int_equal(moves_once_there_is_room(40 * 300), 0);
}

#define planner_test(f) cmocka_unit_test_teardown(f, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        planner_test(two_share_where_both_keep_their_need),
        planner_test(nobody_shares_below_what_they_need),
        planner_test(who_is_measured_to_fall_short_is_moved),
        planner_test(the_plan_says_what_was_done_for_a_job_that_falls_short),
        planner_test(a_job_keeps_what_it_has_where_nothing_better_is_free),
        planner_test(a_job_that_may_not_move_keeps_what_it_has),
        planner_test(the_neighbour_goes_when_the_job_itself_may_not),
        planner_test(a_more_important_neighbour_is_not_sent_away),
        planner_test(a_power_limit_that_breaks_a_promise_is_lifted),
        planner_test(one_noisy_window_moves_nobody),
        planner_test(a_small_gain_is_not_worth_a_pause),
        planner_test(caps_wait_for_the_first_window),
        planner_test(larger_priorities_are_seated_first),
        planner_test(a_pace_of_other_company_does_not_count),
        planner_test(a_gang_that_falls_short_goes_elsewhere_whole),
        planner_test(a_gang_stays_where_nothing_else_is_free),
        planner_test(a_gang_that_nothing_helps_does_not_wander),
        planner_test(a_gang_that_may_not_move_stays),
        planner_test(under_a_power_limit_fewer_start),
        planner_test(a_lower_power_limit_caps_before_it_stops),
        planner_test(the_least_important_is_stopped_for_a_power_limit),
        planner_test(a_power_limit_goes_by_measured_watts),
        planner_test(what_a_power_limit_let_start_is_not_stopped_by_jitter),
        planner_test(caps_switched_off_later_are_off),
        planner_test(coming_and_going_moves_nobody_who_is_well),
        planner_test(nobody_flees_from_a_neighbour_who_is_about_to_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
