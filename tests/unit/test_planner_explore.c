/* test_planner_explore.c - uncertain places are tried within a budget, progress has the
 * price it takes */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "fixture/planner_world.h"
#include "fixture/policy.h"

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
    a->started_s = r.now_s - 86400; /* it has time to lose */
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

/* ---- the budget, step by step ---- */

static struct planner_world w;

static int set_up_world(void **state)
{
    (void)state;
    world_init(&w);
    world_node(&w, SLOW, 2);
    world_node(&w, FAST, 2);
    w.settings.explore = 0.02;
    w.planner->settings = w.settings;
    return 0;
}

static int tear_down_world(void **state)
{
    (void)state;
    world_fini(&w);
    return 0;
}

/* A share of what was used so far, and of a day of what is drawn now. */
static void trials_have_a_share_of_the_energy(void **state)
{
    struct planner_state *s = w.planner;

    (void)state;
    s->used_joules = 1e6;
    s->watts_now = 10;
    s->guessed_joules = 0.02 * (1e6 + 864000) - 1;
    assert_true(planner_is_bold(s));
    s->guessed_joules += 2;
    assert_false(planner_is_bold(s));
    s->settings.explore = 0.03;
    assert_true(planner_is_bold(s));
    s->settings.explore = 0;
    s->guessed_joules = 0;
    assert_false(planner_is_bold(s));
    s->terms = &(struct plan_terms){.bold = true}; /* an offer: as the last plan was */
    assert_true(planner_is_bold(s));
    s->settings.explore = 0.03;
    s->terms = &(struct plan_terms){.bold = false};
    assert_false(planner_is_bold(s));
}

static void places_are_judged_boldly_moves_less_so(void **state)
{
    struct planner_state *s = w.planner;

    (void)state;
    planner_look_to_place(s);
    assert_true(s->view.alone == 1 && s->view.pair == 0.75);
    planner_look_to_move(s);
    assert_true(s->view.alone == 0 && s->view.pair == 0.3);
    s->settings.moves = false; /* what cannot be left is not tried */
    planner_look_to_place(s);
    assert_true(s->view.alone == 0 && s->view.pair == 0);
    s->settings.moves = true;
    s->settings.explore = 0;
    planner_look_to_move(s);
    assert_true(s->view.alone == 0 && s->view.pair == 0);
    planner_look_to_place(s);
    assert_true(s->view.alone == 0 && s->view.pair == 0);
}

static void load(void)
{
    planner_load(w.planner, world_input(&w));
    planner_set_price(w.planner);
}

static void a_trial_is_a_place_that_is_dearer_and_keeps_promises(void **state)
{
    struct planner_state *s = w.planner;

    (void)state;
    world_job(&w, 1);
    load();
    planner_note_trial(s, 0, 2, 50, 0.9);
    planner_note_trial(s, 0, 2, 50, 10001);
    assert_int_equal(s->learning.trials, 0);
    assert_int_equal(s->trials.count, 0);
    planner_note_trial(s, 0, 2, 50, 1.5);
    assert_int_equal(s->learning.trials, 1);
    assert_true(fabs(s->guessed_joules - 900) < 1e-9); /* ten minutes of it */
    planner_note_trial(s, 0, 2, 50, 9999);
    assert_int_equal(s->learning.trials, 2);
    assert_int_equal(s->trials.count, 2);
    assert_int_equal(s->trials.items[0].device, 2);
    assert_true(s->trials.items[0].instead == 50 && s->trials.items[0].at_s == w.now_s);
    assert_int_equal(s->trials.items[0].job, 1);
}

/* Job 1 sits on a fast device and was measured: 150 W above idle, less its progress. */
static struct job_status *try_place(double rate, bool beside)
{
    struct job_status *a = world_run(&w, world_job(&w, 1), 2);

    if (beside)
        world_run(&w, world_job(&w, 1), 2);
    if (rate > 0)
        world_measure(&w, a, rate, 0);
    load();
    return a;
}

static void note(double instead, double seconds_ago)
{
    const struct planner_trial trial = {
        .job = 1, .device = 2, .at_s = w.now_s - seconds_ago, .instead = instead};

    vec_push(&w.planner->trials, trial);
}

static void what_a_trial_earns_counts_as_long_as_the_job_stays(void **state)
{
    const struct plan_learning *l = &w.planner->learning;
    struct job_status *a = try_place(40, false);

    (void)state;
    note(-20, 300); /* it costs 150 - 200 now: 30 W less than the other was believed */
    planner_settle_trials(w.planner);
    assert_int_equal(l->settled, 1);
    assert_int_equal(l->better, 1);
    assert_true(fabs(l->earned_joules - 30 * 7200) < 1e-3);
    assert_true(l->spent_joules == 0);
    assert_int_equal(w.planner->trials.count, 0);
    a->job.total_steps = 20 * 1000; /* 1000 s at half its best rate */
    load();
    note(-20, 300);
    planner_settle_trials(w.planner);
    assert_true(fabs(l->earned_joules - 30 * 8200) < 1e-3);
    note(1e6, 300); /* twice the power of the device at most */
    planner_settle_trials(w.planner);
    assert_true(fabs(l->earned_joules - 30 * 8200 - 800 * 1000) < 1e-3);
    assert_int_equal(l->settled, 3);
}

static void what_a_trial_loses_counts_until_it_was_measured(void **state)
{
    const struct plan_learning *l = &w.planner->learning;

    (void)state;
    try_place(20, false); /* 150 - 100 */
    note(-20, 300);
    planner_settle_trials(w.planner);
    assert_int_equal(l->settled, 1);
    assert_int_equal(l->better, 0);
    assert_true(fabs(l->spent_joules - 70 * 300) < 1e-3);
    assert_true(l->earned_joules == 0);
    note(-1e6, 10);
    planner_settle_trials(w.planner);
    assert_true(fabs(l->spent_joules - 70 * 300 - 800 * 10) < 1e-3);
    note(50, 10); /* no difference is not better */
    planner_settle_trials(w.planner);
    assert_int_equal(l->better, 0);
    note(50.4, 10); /* the least is */
    planner_settle_trials(w.planner);
    assert_int_equal(l->better, 1);
}

static void of_two_on_a_device_only_what_the_job_adds_counts(void **state)
{
    const struct plan_learning *l = &w.planner->learning;
    double alone = 150 - 200, pair = 150 - 200 * 0.5 - 200 * 0.6;

    (void)state;
    try_place(20, true); /* half of its best beside one at 0.6 as believed */
    note(-20, 300);
    planner_settle_trials(w.planner);
    assert_int_equal(l->settled, 1);
    assert_int_equal(l->better, 0);
    assert_true(fabs(l->spent_joules - 300 * (pair - alone + 20)) < 1e-2);
}

static void a_trial_waits_for_its_measurement_and_ends_with_its_place(void **state)
{
    const struct plan_learning *l = &w.planner->learning;
    struct job_status *a = try_place(0, false);

    (void)state;
    note(-20, 300);
    planner_settle_trials(w.planner);
    assert_int_equal(w.planner->trials.count, 1);
    w.planner->trials.items[0].device = 3; /* it is elsewhere */
    planner_settle_trials(w.planner);
    assert_int_equal(w.planner->trials.count, 0);
    note(-20, 300);
    a->job.id = 2; /* another job */
    load();
    planner_settle_trials(w.planner);
    assert_int_equal(w.planner->trials.count, 0);
    assert_int_equal(l->settled, 0);
}

/* Job 1 has measured 8 a second on a slow device and needs more. */
static int hopeful(double keep, double left_s)
{
    struct job_status *a = &w.jobs[0];

    a->job.need.rate = a->required_rate = keep;
    a->job.total_steps = left_s * 0.5 * 40;
    load();
    return planner_hopeful_place(w.planner, 0);
}

static void who_falls_short_tries_another_type_that_may_do(void **state)
{
    double hope;

    (void)state;
    world_run(&w, world_job(&w, 20), 0);
    w.beliefs.sd = 0.2;
    world_measure(&w, &w.jobs[0], 8, 0);
    load();
    hope = w.planner->jobs.items[0].kind->alone[FAST].hope;
    assert_true(hope > 50 && hope < 53);
    assert_int_equal(hopeful(0.99 * hope, 3500), 2); /* the first empty one */
    assert_int_equal(hopeful(1.01 * hope, 3500), -1);
    assert_int_equal(hopeful(1.01 * hope, 3700),
                     2); /* hours to come: it hopes for more */
    assert_int_equal(hopeful(0.99 * 40 * pow(hope / 40, 1.6), 3700), 2);
    assert_int_equal(hopeful(1.01 * 40 * pow(hope / 40, 1.6), 3700), -1);
    world_run(&w, world_job(&w, 1), 2);
    assert_int_equal(hopeful(30, 3500), 3); /* taken */
    w.cluster->devices[3].drained = true;
    assert_int_equal(hopeful(30, 3500), -1);
    w.cluster->devices[3].drained = false;
    w.jobs[0].job.types_allowed = 1u << SLOW;
    assert_int_equal(hopeful(30, 3500), -1);
    w.jobs[0].job.types_allowed = 0;
    w.beliefs.fits[1][FAST] = 0.49;
    assert_int_equal(hopeful(30, 3500), -1);
    w.beliefs.fits[1][FAST] = 0.51;
    assert_int_equal(hopeful(30, 3500), 3);
    w.planner->settings.explore = 0;
    assert_int_equal(hopeful(30, 3500), -1);
}

/* It is late by little, and what may be better is believed to be worse. */
static void a_service_does_not_try_what_is_believed_to_be_worse(void **state)
{
    struct job_status *a = world_run(&w, world_service(&w, 20), 0);
    struct measurement m = {.window_s = 60, .rate = 10, .latency_s = 0.055};

    (void)state;
    w.beliefs.sd = 1;
    a->job.need.latency_s = 0.05;
    a->demand = a->asked = a->asked_least = 10;
    a->required_rate = 12.5;
    a->job.duration_s = 36000;
    for (int i = 0; i < 12; i++)
        recent_rate_note(a, w.cluster, &m);
    load();
    assert_true(w.planner->jobs.items[0].suffers);
    w.beliefs.rate[1][FAST] = 0.9 * a->pace.rate;
    load();
    assert_true(w.planner->jobs.items[0].kind->alone[FAST].hope > 12.5);
    assert_int_equal(planner_hopeful_place(w.planner, 0), -1);
    w.beliefs.rate[1][FAST] = 1.1 * a->pace.rate;
    load();
    assert_int_equal(planner_hopeful_place(w.planner, 0), 2);
}

static void an_offer_is_as_bold_and_tries_nothing(void **state)
{
    const struct plan_terms bold = {.known = true, .price_watts = 200, .bold = true};
    const struct plan_terms timid = {.known = true, .price_watts = 200};
    struct place_offer offer = {0};

    (void)state;
    w.beliefs.sd = 0.8;
    w.beliefs.rate[1][SLOW] = 14;
    world_job(&w, 2)->job.may_share = false;
    corgi_planner_ops.offer(w.planner, world_input(&w), &bold, &offer);
    assert_true(offer.devices[0] < 2);
    assert_int_equal(w.planner->learning.trials, 0);
    assert_int_equal(w.planner->trials.count, 0);
    corgi_planner_ops.offer(w.planner, world_input(&w), &timid, &offer);
    assert_true(offer.devices[0] >= 2);
}

/* Two that come at once are both seen boldly. */
static void the_second_trial_is_as_bold_as_the_first(void **state)
{
    (void)state;
    w.beliefs.sd = 0.8;
    for (int id = 1; id <= 2; id++) {
        w.beliefs.rate[id][SLOW] = 14;
        world_job(&w, 2)->job.may_share = false;
    }
    world_plan(&w);
    assert_true(world_seat(&w, &w.jobs[0]) < 2 && world_seat(&w, &w.jobs[1]) < 2);
}

/* A place that was tried for what it may turn out to be is dearer by the best guess. */
static void a_trial_is_noted_against_the_place_of_the_best_guess(void **state)
{
    (void)state;
    w.beliefs.sd = 0.8;
    w.beliefs.rate[1][SLOW] = 14; /* may turn out to be 39 */
    world_job(&w, 0.01)->job.may_share = false;
    world_plan(&w);
    assert_true(world_seat(&w, &w.jobs[0]) < 2);
    assert_int_equal(w.plan.learning.trials, 1);
    assert_int_equal(w.planner->trials.count, 1);
    /* Half a node and the device, less its progress: what the fast one would have cost */
    /* without the half node that the slow one takes. */
    assert_true(fabs(w.planner->trials.items[0].instead -
                     ((0.5 * 190 + 150 - 200) - 0.5 * 130)) < 1e-3);
    assert_true(
        fabs(w.planner->guessed_joules -
             600 * ((0.5 * 130 + 80 - 200 * 14 / 40.0) - (0.5 * 190 + 150 - 200))) < 0.1);
}

#define planner_test(f) cmocka_unit_test_teardown(f, tear_down)
#define world_test(f)   cmocka_unit_test_setup_teardown(f, set_up_world, tear_down_world)

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
        world_test(trials_have_a_share_of_the_energy),
        world_test(places_are_judged_boldly_moves_less_so),
        world_test(a_trial_is_a_place_that_is_dearer_and_keeps_promises),
        world_test(what_a_trial_earns_counts_as_long_as_the_job_stays),
        world_test(what_a_trial_loses_counts_until_it_was_measured),
        world_test(of_two_on_a_device_only_what_the_job_adds_counts),
        world_test(a_trial_waits_for_its_measurement_and_ends_with_its_place),
        world_test(who_falls_short_tries_another_type_that_may_do),
        world_test(a_service_does_not_try_what_is_believed_to_be_worse),
        world_test(a_trial_is_noted_against_the_place_of_the_best_guess),
        world_test(an_offer_is_as_bold_and_tries_nothing),
        world_test(the_second_trial_is_as_bold_as_the_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
