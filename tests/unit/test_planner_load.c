/* test_planner_load.c - what a round makes of jobs: how long they stay, whether they may
 * be moved, whether they fall short, what progress is worth */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "fixture/planner_world.h"

static struct planner_world w;

static int set_up(void **state)
{
    (void)state;
    world_init(&w);
    world_node(&w, SLOW, 2);
    world_node(&w, FAST, 2);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    world_fini(&w);
    return 0;
}

static const struct planner_job *loaded(const struct job_status *s)
{
    w.planner->settings = w.settings;
    planner_load(w.planner, world_input(&w));
    vec_each (struct planner_job, j, &w.planner->jobs)
        if (j->status == s)
            return j;
    fail();
    return NULL;
}

static void assert_left(const struct job_status *s, double left_s)
{
    double planned = planner_left_s(w.planner, loaded(s));

    if (!(fabs(planned - left_s) <= 1e-3 * left_s + 1e-9))
        fail_msg("%g s left, not %g", planned, left_s);
}

/* Training at half its best rate, services as long as they said, others two hours more
 * than they ran already; who is past what was told for a while in proportion to that. */
static void how_long_a_job_stays(void **state)
{
    struct job_status *a = world_run(&w, world_job(&w, 5), 0);
    struct job_status *b = world_run(&w, world_service(&w, 5), 1);
    double past_s;

    (void)state;
    a->job.total_steps = 50000;
    a->steps_done = 10000;
    assert_left(a, 40000 / (0.5 * 40));
    a->job.types_allowed = 1u << SLOW;
    assert_left(a, 40000 / (0.5 * 10));
    a->steps_done = 60000;
    past_s = planner_left_s(w.planner, loaded(a));
    assert_true(past_s > 0);
    a->steps_done = 120000;
    assert_true(planner_left_s(w.planner, loaded(a)) > 1.5 * past_s);
    a->job.total_steps = 0.5;
    a->steps_done = 0;
    assert_left(a, 0.5 / 5);
    a->job.total_steps = 0;
    a->job.duration_s = 77;        /* says nothing of training */
    assert_left(a, 7200 + 86400);  /* it has run for a day */
    w.beliefs.rate[1][SLOW] = 0.5; /* slow, but not slower than it is */
    a->job.total_steps = 50;
    assert_left(a, 50 / 0.25);
    b->job.duration_s = 86800; /* started a day ago */
    assert_left(b, 400);
    b->job.duration_s = 72000;
    assert_true(planner_left_s(w.planner, loaded(b)) > 0 &&
                planner_left_s(w.planner, loaded(b)) < 36000);
    b->job.duration_s = 0;
    assert_left(b, 7200 + 86400);
    b->job.total_steps = 1000; /* says nothing of a service */
    b->job.duration_s = 86800;
    assert_left(b, 400);
    b->started_s = NAN;
    assert_left(b, 86800);
}

static void who_may_be_moved(void **state)
{
    struct job_status *a = world_run(&w, world_job(&w, 5), 0), *others[2];

    (void)state;
    assert_true(loaded(a)->movable);
    a->job.may_move = false;
    assert_false(loaded(a)->movable);
    a->job.may_move = true;
    w.settings.moves = false;
    assert_false(loaded(a)->movable);
    w.settings.moves = true;
    others[0] = world_run(&w, world_job(&w, 5), 0);
    assert_true(loaded(a)->movable);
    cluster_seat(w.cluster, 0, 99); /* more than this planner ever seats */
    assert_false(loaded(a)->movable);
    assert_false(loaded(others[0])->movable);
    others[1] = world_job(&w, 5);
    assert_false(loaded(others[1])->movable); /* waits */
    others[1]->job.devices = 2;
    world_run(&w, others[1], 2);
    assert_false(loaded(others[1])->movable); /* gangs are moved whole, elsewhere */
}

static void measured(struct job_status *s, double rate, int windows)
{
    s->pace = (struct recent_rate){0};
    for (int i = 0; i < windows; i++) {
        const struct measurement m = {
            .at_s = w.now_s, .window_s = 60, .rate = rate, .device_watts = NAN};

        recent_rate_note(s, w.cluster, &m);
    }
}

/* Two windows below what it must have, or one that is clearly below. */
static void who_falls_short(void **state)
{
    static const struct {
        double rate;
        int windows;
        bool suffers;
    } cases[] = {{9.99, 2, true},  {10, 2, false}, {9.6, 1, false}, {9.4, 1, true},
                 {9.99, 1, false}, {1, 0, false},  {9.6, 3, true}};
    struct job_status *a = world_run(&w, world_job(&w, 10), 0);

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        measured(a, cases[i].rate, cases[i].windows);
        assert_int_equal(loaded(a)->suffers, cases[i].suffers);
        assert_int_equal(loaded(a)->paced, cases[i].windows > 0);
    }
}

/* A new place has headroom; where a service is already, the demand and a little count. */
static void a_service_must_have_its_demand_and_a_little(void **state)
{
    struct job_status *a = world_run(&w, world_service(&w, 20), 2);

    (void)state;
    assert_true(loaded(a)->need == 20 && loaded(a)->keep == 20);
    a->demand = 10;
    a->required_rate = 12.5;
    assert_true(loaded(a)->need == 12.5);
    assert_true(fabs(loaded(a)->keep - 10.3) < 1e-9);
    a->demand = 19.9;
    a->required_rate = 20;
    assert_true(loaded(a)->keep == 20); /* never more than was asked for */
    a->job.kind = JOB_TRAINING;         /* steps/s are as they are */
    a->job.need.kind = NEED_RATE;
    a->required_rate = 12;
    assert_true(loaded(a)->keep == 12);
}

/* What was believed of it was too much: it is put only where there is more. */
static void a_service_that_was_helped_must_have_more_elsewhere(void **state)
{
    struct job_status *a = world_run(&w, world_service(&w, 20), 1);
    struct job_status *b = world_run(&w, world_job(&w, 5), 0);

    (void)state;
    a->helped = b->helped = 1;
    assert_true(fabs(loaded(a)->need - 24) < 1e-9 && loaded(a)->keep == 20);
    assert_true(fabs(loaded(a)->capped - 24) < 1e-9);
    assert_true(loaded(b)->need == 5);
    a->helped = 50; /* there is an end to it */
    assert_true(fabs(loaded(a)->need - 32) < 1e-9);
}

static void best_rates_are_those_of_allowed_types(void **state)
{
    struct job_status *a = world_job(&w, 0);

    (void)state;
    assert_true(fabs(loaded(a)->unit - 40) < 1e-9);
    a->job.types_allowed = 1u << SLOW;
    assert_true(fabs(loaded(a)->unit - 10) < 1e-9);
    w.beliefs.rate[1][SLOW] = 0.3;
    assert_true(fabs(loaded(a)->unit - 0.3) < 1e-9);
}

static void devices_have_their_jobs_and_nodes_count_them(void **state)
{
    struct job_status *a = world_run(&w, world_job(&w, 1), 1),
                      *b = world_run(&w, world_job(&w, 1), 1), *c = world_job(&w, 1);

    (void)state;
    c->job.devices = 2;
    world_run(&w, c, 2);
    w.cluster->devices[0].drained = true;
    loaded(a);
    assert_int_equal(planner_members(w.planner, 0)[0], -1);
    assert_int_equal(planner_members(w.planner, 1)[0], 0);
    assert_int_equal(planner_members(w.planner, 1)[1], 1);
    assert_int_equal(planner_members(w.planner, 2)[0], 2);
    assert_int_equal(planner_members(w.planner, 3)[0], 2);
    assert_int_equal(planner_members(w.planner, 3)[1], -1);
    assert_int_equal(w.planner->node_jobs.items[0], 2);
    assert_int_equal(w.planner->node_jobs.items[1], 2);
    assert_false(w.planner->usable.items[0]);
    assert_true(w.planner->usable.items[1]);
    assert_int_equal(w.planner->jobs.items[2].device, 2);
    planner_detach(w.planner, 0, a->devices, 1);
    assert_int_equal(planner_members(w.planner, 1)[0], 1);
    assert_int_equal(planner_members(w.planner, 1)[1], -1);
    assert_int_equal(w.planner->jobs.items[0].device, -1);
    planner_attach(w.planner, 0, a->devices, 1);
    planner_detach(w.planner, 0, a->devices, 1);
    assert_int_equal(planner_members(w.planner, 1)[0], 1);
    planner_detach(w.planner, 1, b->devices, 1);
    assert_int_equal(planner_members(w.planner, 1)[0], -1);
    assert_int_equal(w.planner->node_jobs.items[0], 0);
    planner_detach(w.planner, 2, c->devices, 2);
    assert_int_equal(planner_members(w.planner, 3)[0], -1);
    assert_int_equal(w.planner->node_jobs.items[1], 0);
}

/* ---- the price of progress ---- */

/* What a unit of progress takes, after so long that only the present counts. */
static double price_in_time(void)
{
    world_plan(&w);
    w.now_s += 1e6;
    w.planner->improved_s = w.now_s; /* nobody moves meanwhile */
    world_plan(&w);
    return w.plan.terms.price_watts;
}

static void assert_price(double watts)
{
    double price = price_in_time();

    if (!(fabs(price - watts) <= 1e-6 * watts))
        fail_msg("%g W, not %g", price, watts);
}

static void seat_and_measure(struct job_status *s, int device, double rate)
{
    s->job.may_move = false;
    world_run(&w, s, device);
    s->placed_s = w.now_s;
    if (rate > 0)
        world_measure(&w, s, rate, 0);
}

static void a_unit_of_progress_costs_the_watts_it_takes(void **state)
{
    (void)state;
    seat_and_measure(world_job(&w, 1), 2, 32); /* 0.8 of its best */
    seat_and_measure(world_job(&w, 1), 3, 40);
    assert_price((100 + 2 * 200) / 1.8); /* the other node has no jobs */
}

static void idle_devices_and_hosts_are_part_of_it(void **state)
{
    (void)state;
    seat_and_measure(world_job(&w, 1), 2, 0);  /* not measured: counts as half */
    seat_and_measure(world_job(&w, 1), 0, 40); /* measured to do its best there */
    assert_price((100 + 200 + 50 + 100 + 100 + 20) / 1.5);
}

static void with_less_than_one_unit_there_is_no_price_yet(void **state)
{
    (void)state;
    seat_and_measure(world_job(&w, 1), 2, 39);
    assert_price(200); /* as the settings say */
}

static void of_a_node_services_share_training_has_its_share(void **state)
{
    (void)state;
    seat_and_measure(world_job(&w, 1), 2, 40);
    seat_and_measure(world_service(&w, 1), 3, 40);
    assert_price((100 + 2 * 200) / 2.0 / 1);
}

static void two_on_a_device_draw_together(void **state)
{
    (void)state;
    w.beliefs.more_watts = 30;
    seat_and_measure(world_job(&w, 1), 2, 0);
    seat_and_measure(world_job(&w, 1), 2, 0);
    world_measure(&w, &w.jobs[0], 24, 0);
    world_measure(&w, &w.jobs[1], 28, 0);
    assert_price((100 + 230 + 50) / (0.6 + 0.7));
}

static void a_power_limit_bounds_what_is_drawn(void **state)
{
    (void)state;
    w.cluster->devices[2].cap_watts = 150;
    seat_and_measure(world_job(&w, 1), 2, 40);
    assert_price((100 + 150 + 50) / 1.0);
}

static void a_gang_is_one_unit_a_device_at_its_best(void **state)
{
    struct job_status *a = world_job(&w, 1);

    (void)state;
    a->job.devices = 2;
    seat_and_measure(a, 2, 40);
    assert_price((100 + 2 * 200) / 1.0);
    assert_true(fabs(loaded(a)->unit - 40) < 1e-9);
}

static void the_price_follows_within_an_hour(void **state)
{
    double before, after, all;

    (void)state;
    seat_and_measure(world_job(&w, 1), 2, 40);
    all = 100 + 200 + 50;
    world_plan(&w);
    before = w.plan.terms.price_watts;
    assert_true(fabs(before - 200) < 1e-9);
    w.now_s += 3600;
    world_plan(&w);
    after = w.plan.terms.price_watts;
    assert_true(fabs(after - (all - (all - 200) * exp(-1))) < 1e-6);
    assert_true(w.plan.terms.known);
}

static void what_was_used_is_what_was_drawn_over_the_time(void **state)
{
    (void)state;
    seat_and_measure(world_job(&w, 1), 2, 40);
    world_plan(&w);
    assert_true(w.planner->used_joules == 0);
    w.now_s += 100;
    world_plan(&w);
    assert_true(fabs(w.planner->used_joules - 100 * 350) < 1e-6);
    w.now_s += 10;
    world_plan(&w);
    assert_true(fabs(w.planner->used_joules - 110 * 350) < 1e-6);
}

static void worth_is_by_devices_and_of_training_only(void **state)
{
    struct job_status *gang = world_job(&w, 1), *service = world_service(&w, 1);

    (void)state;
    gang->job.devices = 3;
    loaded(gang);
    planner_set_price(w.planner);
    assert_true(fabs(planner_worth(w.planner, &w.planner->jobs.items[0]) - 600) < 1e-9);
    assert_true(planner_worth(w.planner, &w.planner->jobs.items[1]) == 0);
    assert_ptr_equal(w.planner->jobs.items[1].status, service);
}

#define load_test(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        load_test(how_long_a_job_stays),
        load_test(who_may_be_moved),
        load_test(who_falls_short),
        load_test(a_service_must_have_its_demand_and_a_little),
        load_test(a_service_that_was_helped_must_have_more_elsewhere),
        load_test(best_rates_are_those_of_allowed_types),
        load_test(devices_have_their_jobs_and_nodes_count_them),
        load_test(a_unit_of_progress_costs_the_watts_it_takes),
        load_test(idle_devices_and_hosts_are_part_of_it),
        load_test(with_less_than_one_unit_there_is_no_price_yet),
        load_test(of_a_node_services_share_training_has_its_share),
        load_test(two_on_a_device_draw_together),
        load_test(a_power_limit_bounds_what_is_drawn),
        load_test(a_gang_is_one_unit_a_device_at_its_best),
        load_test(the_price_follows_within_an_hour),
        load_test(what_was_used_is_what_was_drawn_over_the_time),
        load_test(worth_is_by_devices_and_of_training_only),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
