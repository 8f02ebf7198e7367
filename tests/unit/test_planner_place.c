/* test_planner_place.c - seats for jobs that wait, gangs on few nodes, and what is
 * offered to a job that has none yet */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "fixture/planner_world.h"

static struct planner_world w;

static int tear_down(void **state)
{
    (void)state;
    world_fini(&w);
    return 0;
}

static struct job_status *alone(double rate)
{
    struct job_status *s = world_job(&w, rate);

    s->job.may_share = false;
    return s;
}

/* The device has a job that stays there for itself. */
static struct job_status *take(int device)
{
    struct job_status *s = world_run(&w, alone(1), device);

    s->job.may_move = false;
    return s;
}

static enum unplaced_reason reason(const struct job_status *s)
{
    return w.plan.seats[s - w.jobs].reason;
}

/* ---- in which order ---- */

static void larger_priorities_go_first_then_who_came_first(void **state)
{
    const int priorities[] = {0, 5, 5, 1, 7, 5};
    const bool seated[] = {false, true, true, false, true, false};

    (void)state;
    world_init(&w);
    world_node(&w, SLOW, 3);
    for (int i = 0; i < 6; i++)
        alone(1)->job.priority = priorities[i];
    world_plan(&w);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(world_seat(&w, &w.jobs[i]) >= 0, seated[i]);
        if (!seated[i])
            assert_int_equal(reason(&w.jobs[i]), UNPLACED_CAPACITY);
    }
}

static void a_long_queue_is_looked_at_from_its_head(void **state)
{
    int seated = 0;

    (void)state;
    world_init(&w);
    world_node(&w, SLOW, 70);
    for (int i = 0; i < 68; i++)
        alone(1);
    w.jobs[67].job.priority = 1;
    world_plan(&w);
    for (int i = 0; i < 68; i++)
        seated += world_seat(&w, &w.jobs[i]) >= 0;
    assert_int_equal(seated, 64);
    assert_true(world_seat(&w, &w.jobs[67]) >= 0); /* the most urgent is one of them */
    assert_true(world_seat(&w, &w.jobs[62]) >= 0);
    for (int i = 63; i < 67; i++)
        assert_int_equal(world_seat(&w, &w.jobs[i]), -1);
}

/* Running jobs have their seats however long the queue is. */
static void who_runs_is_looked_at_besides(void **state)
{
    (void)state;
    world_init(&w);
    world_node(&w, SLOW, 70);
    for (int i = 0; i < 66; i++)
        alone(1);
    take(69);
    w.jobs[66].job.priority = -3;
    world_plan(&w);
    assert_int_equal(world_seat(&w, &w.jobs[66]), 69);
    assert_true(world_seat(&w, &w.jobs[63]) >= 0);
    assert_int_equal(world_seat(&w, &w.jobs[64]), -1);
}

static bool seated_behind(int in_vain)
{
    struct job_status *last;

    world_init(&w);
    world_node(&w, SLOW, 1);
    world_node(&w, FAST, 1);
    take(1);
    for (int i = 0; i < in_vain; i++)
        alone(1)->job.types_allowed = 1u << FAST;
    last = alone(1);
    world_plan(&w);
    return world_seat(&w, last) == 0;
}

static void after_many_that_find_no_place_the_others_are_not_tried(void **state)
{
    (void)state;
    assert_true(seated_behind(0));
    world_fini(&w);
    assert_true(seated_behind(23));
    world_fini(&w);
    assert_false(seated_behind(24));
}

/* ---- to wait, or not ---- */

static void a_wait_for_a_better_place_ends_with_the_grace_time(void **state)
{
    struct job_status *a;

    (void)state;
    world_init(&w);
    world_node(&w, SLOW, 1);
    world_node(&w, FAST, 1);
    take(1);
    a = alone(20);
    w.settings.grace_s = 1000;
    a->job.submitted_s = w.now_s - 799;
    world_plan(&w);
    assert_int_equal(world_seat(&w, a), -1);
    assert_int_equal(reason(a), UNPLACED_RATE);
    a->job.submitted_s = w.now_s - 801;
    world_plan(&w);
    assert_int_equal(world_seat(&w, a), 0);
}

static void nobody_waits_for_a_place_that_is_not_there(void **state)
{
    struct job_status *a, *b;

    (void)state;
    world_init(&w);
    world_node(&w, SLOW, 1);
    world_node(&w, FAST, 1);
    take(1);
    a = alone(50); /* more than any type does */
    world_plan(&w);
    assert_int_equal(world_seat(&w, a), 0);
    world_fini(&w);

    world_init(&w);
    world_node(&w, SLOW, 1);
    world_node(&w, FAST, 1);
    take(1);
    b = alone(20); /* the type that does may not be used */
    b->job.types_allowed = 1u << SLOW;
    world_plan(&w);
    assert_int_equal(world_seat(&w, b), 0);
}

static void what_fits_nowhere_waits_for_that_reason(void **state)
{
    struct job_status *large, *taken;

    (void)state;
    world_init(&w);
    world_node(&w, SLOW, 2);
    world_node(&w, FAST, 1);
    take(2);
    large = alone(1);
    taken = alone(1);
    w.beliefs.fits[large->job.id][SLOW] = w.beliefs.fits[large->job.id][FAST] = 0.49;
    w.beliefs.fits[taken->job.id][SLOW] = 0.49;
    world_plan(&w);
    assert_int_equal(world_seat(&w, large), -1);
    assert_int_equal(reason(large), UNPLACED_MEMORY);
    assert_int_equal(world_seat(&w, taken), -1);
    assert_int_equal(reason(taken), UNPLACED_CAPACITY);
    large->job.types_allowed = 1u << SLOW;
    w.beliefs.fits[large->job.id][FAST] = 1; /* where it may not run */
    world_plan(&w);
    assert_int_equal(reason(large), UNPLACED_MEMORY);
}

static void among_equals_the_node_that_is_awake(void **state)
{
    struct job_status *a;

    (void)state;
    world_init(&w);
    for (int n = 0; n < 3; n++)
        world_node(&w, SLOW, 1);
    w.cluster->nodes[0].state = w.cluster->nodes[2].state = NODE_ASLEEP;
    a = alone(1);
    world_plan(&w);
    assert_int_equal(world_seat(&w, a), 1);
}

/* ---- gangs ---- */

struct gang {
    int sizes[4], taken[4]; /* devices of each node, and of which busy */
    int wanted;
    int from[4]; /* devices of the gang on each node */
};

static void a_gang_has_few_nodes_the_tightest_and_those_in_use_first(void **state)
{
    const struct gang cases[] = {
        {{4, 2, 3}, {0}, 2, {0, 2, 0}},                /* the tightest that has all */
        {{4, 3, 3}, {0}, 2, {0, 2, 0}},                /* the first of equals */
        {{2, 3}, {0, 1}, 2, {0, 2}},                   /* the one in use */
        {{2, 4}, {0, 1}, 2, {2, 0}},                   /* but a tighter one before that */
        {{1, 3, 2}, {0}, 4, {1, 3, 0}},                /* most first, then the tightest */
        {{2, 2, 2}, {0}, 5, {2, 2, 1}},                /* as many as it takes */
        {{3, 4, 4, 1}, {0, 1, 1, 0}, 4, {0, 3, 0, 1}}, /* 3 of a node in use, then 1 */
        {{2, 2, 2}, {0}, 7, {0}},                      /* too few */
    };
    size_t count = sizeof(cases) / sizeof(*cases);

    (void)state;
    for (size_t i = 0; i < count; i++) {
        const struct gang *c = &cases[i];
        int first = 0, from[4] = {0};
        struct job_status *a;
        const struct seat *seat;

        world_init(&w);
        for (int n = 0; n < 4 && c->sizes[n] > 0; n++) {
            world_node(&w, SLOW, c->sizes[n]);
            for (int k = 0; k < c->taken[n]; k++)
                take(first + k);
            first += c->sizes[n];
        }
        a = alone(0);
        a->job.devices = c->wanted;
        world_plan(&w);
        seat = &w.plan.seats[a - w.jobs];
        for (int k = 0; k < seat->device_count; k++) {
            int d = w.plan.devices[seat->first + k];

            assert_int_equal(w.cluster->devices[d].job_count, 0);
            from[w.cluster->devices[d].node]++;
            for (int m = 0; m < k; m++)
                assert_int_not_equal(d, w.plan.devices[seat->first + m]);
        }
        for (int n = 0; n < 4; n++)
            if (from[n] != c->from[n])
                fail_msg("case %zu: %d devices on node %d, not %d", i, from[n], n,
                         c->from[n]);
        if (i + 1 < count)
            world_fini(&w);
    }
}

/* What a gang costs: half of each node that is empty, its power on each device, less the
 * progress it makes; apart it makes less, and may break a promise. */
static double gang_cost(double need, bool apart, bool first_node_used)
{
    struct planner_seats seats;
    struct job_status *a;
    int job = first_node_used;

    world_init(&w);
    world_node(&w, FAST, apart ? 1 : 2);
    world_node(&w, FAST, 1);
    if (first_node_used) {
        world_node(&w, SLOW, 1);
        take(2);
    }
    a = alone(need);
    a->job.devices = 2;
    a->job.types_allowed = 1u << FAST;
    w.planner->settings = w.settings;
    planner_load(w.planner, world_input(&w));
    planner_set_price(w.planner);
    assert_true(planner_find_seats(w.planner, job, &seats));
    assert_int_equal(seats.job, job);
    return seats.cost;
}

static void a_gang_apart_costs_its_progress_and_maybe_its_promise(void **state)
{
    const double node_of_two = 100 + 2 * 50 - 10, node_of_one = 100 + 50 - 10;
    const double worth = 2 * 200, power = 2 * (200 - 50);
    const double together = 0.5 * node_of_two + power - worth;
    const double apart = 2 * 0.5 * node_of_one + power - worth + 0.2 * worth;
    const struct {
        double need;
        bool apart;
        double cost;
    } cases[] = {
        {0, false, together},
        {0, true, apart},
        {31.9, true, apart},                             /* 0.8 x 40 is enough */
        {36, true, apart + 1e5 * (0.2 + 1 - 32 / 36.0)}, /* and is not */
        {36, false, together},
        {50, true, apart + 1e5 * (0.2 + 10 / 50.0)}, /* neither way */
        {50, false, together + 1e5 * (0.2 + 10 / 50.0)},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        double cost = gang_cost(cases[i].need, cases[i].apart, false);

        if (!(fabs(cost - cases[i].cost) <= 0.01 + 1e-6 * fabs(cost)))
            fail_msg("case %zu: %g, not %g", i, cost, cases[i].cost);
        world_fini(&w);
    }
    assert_true(fabs(gang_cost(0, true, true) - apart) < 0.01);
}

static void a_gang_may_only_use_what_it_is_allowed(void **state)
{
    struct job_status *a;

    (void)state;
    world_init(&w);
    world_node(&w, SLOW, 2);
    world_node(&w, FAST, 2);
    a = alone(0);
    a->job.devices = 2;
    world_plan(&w);
    assert_int_equal(world_seat(&w, a), 2);
    a->job.types_allowed = 1u << SLOW;
    world_plan(&w);
    assert_int_equal(world_seat(&w, a), 0);
    w.beliefs.fits[1][SLOW] = 0.4;
    world_plan(&w);
    assert_int_equal(world_seat(&w, a), -1);
    assert_int_equal(reason(a), UNPLACED_MEMORY);
}

/* A gang that runs on one node of four, the only one, and one that waits. */
static struct job_status *gang_beside(int devices, struct job_status **waits)
{
    struct job_status *a;

    world_init(&w);
    world_node(&w, SLOW, 4);
    a = world_job(&w, 0);
    a->job.devices = 4;
    world_run(&w, a, 0);
    *waits = world_job(&w, 0);
    (*waits)->job.devices = devices;
    return a;
}

static void two_gangs_of_one_size_share_all_their_devices(void **state)
{
    struct job_status *a, *b;

    (void)state;
    gang_beside(4, &b);
    world_plan(&w);
    assert_int_equal(world_seat(&w, b), 0);
    assert_int_equal(w.plan.seats[1].device_count, 4);
    world_agrees(&w);
    world_fini(&w);

    gang_beside(2, &b); /* of another size */
    world_plan(&w);
    assert_int_equal(world_seat(&w, b), -1);
    world_fini(&w);

    gang_beside(1, &b); /* nor is a single job beside a gang */
    world_plan(&w);
    assert_int_equal(world_seat(&w, b), -1);
    world_fini(&w);

    a = gang_beside(4, &b);
    a->job.may_share = false;
    world_plan(&w);
    assert_int_equal(world_seat(&w, b), -1);
    world_fini(&w);

    gang_beside(4, &b);
    w.beliefs.fits[2][SLOW] = 0.4; /* both together do not fit */
    world_plan(&w);
    assert_int_equal(world_seat(&w, b), -1);
    world_fini(&w);

    gang_beside(4, &b);
    w.settings.share_max = 1;
    world_plan(&w);
    assert_int_equal(world_seat(&w, b), -1);
}

static void gangs_do_not_share_where_one_would_break_its_promise(void **state)
{
    struct job_status *a, *b;

    (void)state;
    a = gang_beside(4, &b);
    a->job.need = (struct requirement){.kind = NEED_RATE, .rate = 9};
    a->required_rate = 9; /* alone it does 10, with company 6 */
    b->job.submitted_s = w.now_s;
    b->job.need = (struct requirement){.kind = NEED_RATE, .rate = 5};
    b->required_rate = 5;
    world_plan(&w);
    assert_int_equal(world_seat(&w, b), -1);
}

/* ---- offers ---- */

static struct place_offer offer_to_last(void)
{
    const struct plan_terms terms = {.known = true, .price_watts = 200};
    struct place_offer offer = {0};

    corgi_planner_ops.offer(w.planner, world_input(&w), &terms, &offer);
    return offer;
}

static void an_offer_is_the_place_a_round_would_give(void **state)
{
    struct place_offer offer;
    struct job_status *a;

    (void)state;
    world_init(&w);
    world_node(&w, SLOW, 1);
    world_node(&w, FAST, 3);
    take(1);
    a = alone(20);
    a->job.devices = 2;
    offer = offer_to_last();
    world_plan(&w);
    assert_true(offer.placed);
    assert_int_equal(offer.reason, UNPLACED_NONE);
    assert_true(offer.start_s == w.now_s);
    assert_int_equal(offer.device_count, 2);
    assert_int_equal(offer.ahead, 0);
    for (int k = 0; k < 2; k++)
        assert_int_equal(offer.devices[k],
                         w.plan.devices[w.plan.seats[a - w.jobs].first + k]);
}

/* Three services on fast devices that end in 1000, 2000 and 3000 s, put there in another
 * order; a slow device that nobody in need of 20 a second can use. */
static void fill_fast(void)
{
    const double ends_in_s[] = {2000, 3000, 1000};

    world_init(&w);
    world_node(&w, FAST, 3);
    world_node(&w, SLOW, 1);
    for (int d = 0; d < 3; d++) {
        struct job_status *s = world_run(&w, world_service(&w, 1), d);

        s->job.may_share = false;
        s->job.duration_s = w.now_s + ends_in_s[d] - s->started_s;
    }
    take(3)->job.total_steps = 1e9;
}

static double starts_in(void)
{
    return offer_to_last().start_s - w.now_s;
}

static void a_job_starts_when_enough_devices_are_left(void **state)
{
    struct job_status *a;

    (void)state;
    fill_fast();
    a = alone(20);
    assert_true(fabs(starts_in() - 1000) < 1e-6);
    assert_int_equal(offer_to_last().ahead, 0);
    assert_false(offer_to_last().placed);
    assert_int_equal(offer_to_last().reason, UNPLACED_CAPACITY);
    a->job.devices = 2;
    assert_true(fabs(starts_in() - 2000) < 1e-6);
    a->job.devices = 3;
    assert_true(fabs(starts_in() - 3000) < 1e-6);
    a->job.devices = 1;
    w.cluster->devices[2].drained = true; /* nobody follows there */
    assert_true(fabs(starts_in() - 2000) < 1e-6);
}

static void whoever_goes_before_is_counted(void **state)
{
    struct job_status *first, *second;

    (void)state;
    fill_fast();
    first = alone(20);
    second = alone(20);
    alone(20);
    first->job.devices = 1;
    second->job.priority = -1; /* comes later */
    assert_int_equal(offer_to_last().ahead, 1);
    assert_true(fabs(starts_in() - 2000) < 1e-6);
    second->job.priority = 1;
    assert_int_equal(offer_to_last().ahead, 2);
    assert_true(fabs(starts_in() - 3000) < 1e-6);
    first->job.devices = 2;
    assert_true(fabs(starts_in() - 251000) < 1e-3);    /* when the second has ended */
    second->job.need.rate = second->required_rate = 1; /* gets a seat at once */
    second->job.types_allowed = 1u << SLOW;
    second->job.may_share = w.jobs[3].job.may_share = true;
    assert_int_equal(offer_to_last().ahead, 1);
    /* What is left at 1000 is held for the two. */
    assert_true(fabs(starts_in() - 3000) < 1e-6);
}

static void what_is_left_of_training_takes_as_long_as_measured(void **state)
{
    struct job_status *s;

    (void)state;
    fill_fast();
    s = &w.jobs[1];
    s->job.kind = JOB_TRAINING;
    s->job.need.kind = NEED_RATE;
    s->job.total_steps = 30000;
    s->steps_done = 10000;
    alone(20);
    assert_true(fabs(starts_in() - 500) < 1e-6); /* 20000 steps at 40 a second */
    world_measure(&w, s, 25, 0);
    assert_true(fabs(starts_in() - 800) < 1e-6);
    s->steps_done = 40000; /* more than it said: a while longer */
    assert_true(starts_in() > 1 && starts_in() <= 1000 + 1e-6); /* others end then */
}

/* The only fast device is left in 1000 s; whoever is before takes it for 100 s. */
static void whoever_goes_before_has_to_end_too(void **state)
{
    struct job_status *first;

    (void)state;
    fill_fast();
    w.cluster->devices[0].drained = w.cluster->devices[1].drained = true;
    first = alone(20);
    first->job.total_steps = 4000; /* 40 a second */
    alone(20);
    assert_true(fabs(starts_in() - 1100) < 1e-6);
    first->job.total_steps = w.jobs[3].job.total_steps = 0; /* not told */
    assert_true(isnan(starts_in()));
}

/* Two share a device: when one ends, the other goes on at its rate alone. */
static void a_neighbour_that_ends_lets_the_other_run_faster(void **state)
{
    (void)state;
    world_init(&w);
    world_node(&w, FAST, 1);
    for (int i = 0; i < 2; i++) {
        struct job_status *s = world_run(&w, world_job(&w, 1), 0);

        s->job.total_steps = i ? 24000 : 2400; /* at 24 a second each, later at 40 */
    }
    alone(20);
    assert_true(fabs(starts_in() - (100 + (24000 - 2400) / 40.0)) < 1e-6);
}

static void any_place_is_taken_when_the_grace_time_is_used_up(void **state)
{
    struct job_status *a;

    (void)state;
    fill_fast();
    w.jobs[3].job.total_steps = 100; /* the slow device is soon free */
    a = alone(20);
    assert_true(fabs(starts_in() - 480) < 1e-6);
    a->job.submitted_s -= 300;
    assert_true(fabs(starts_in() - 180) < 1e-6);
    world_node(&w, SLOW, 1); /* one is free at once */
    assert_true(fabs(starts_in() - 180) < 1e-6);
    world_plan(&w);
    assert_int_equal(reason(a), UNPLACED_RATE);
    assert_true(fabs(w.plan.again_s - w.now_s - 180) < 1e-6); /* then it is time */
    w.now_s = w.plan.again_s;
    world_plan(&w);
    assert_int_equal(reason(a), UNPLACED_NONE);
    assert_true(isinf(w.plan.again_s));
}

static void an_end_nobody_knows_gives_no_start(void **state)
{
    (void)state;
    fill_fast();
    alone(20)->job.devices = 3;
    w.jobs[0].job.duration_s = 0;
    assert_true(isnan(starts_in()));
    w.jobs[0].job.kind = JOB_TRAINING;
    w.jobs[0].job.need.kind = NEED_BEST_EFFORT;
    w.jobs[0].job.total_steps = 0;
    assert_true(isnan(starts_in()));
    w.jobs[4].job.devices = 2;
    assert_true(fabs(starts_in() - 3000) < 1e-6);
}

static void a_free_device_that_is_too_slow_is_named(void **state)
{
    struct place_offer offer;

    (void)state;
    fill_fast();
    world_node(&w, SLOW, 2);
    alone(20);
    offer = offer_to_last();
    assert_false(offer.placed);
    assert_int_equal(offer.reason, UNPLACED_RATE);
    assert_int_equal(offer.device_count, 1);
    assert_int_equal(offer.devices[0], 4);
    assert_true(fabs(offer.start_s - w.now_s - 480) < 1e-6); /* its grace time */
    w.jobs[4].job.devices = 2;
    offer = offer_to_last();
    assert_int_equal(offer.device_count, 2);
    assert_int_equal(offer.devices[0] + offer.devices[1], 4 + 5);
}

static void behind_a_long_queue_no_start_is_known(void **state)
{
    struct place_offer offer;

    (void)state;
    fill_fast();
    for (int i = 0; i < 70; i++)
        alone(20);
    offer = offer_to_last();
    assert_int_equal(offer.ahead, 69);
    assert_true(isnan(offer.start_s));
    assert_int_equal(offer.device_count, 0);
}

/* Terms say whether places are tried and what progress is worth. */
static void an_offer_goes_by_the_terms_of_the_last_plan(void **state)
{
    const struct plan_terms cheap = {.known = true, .price_watts = 0};
    const struct plan_terms dear = {.known = true, .price_watts = 1000};
    const struct plan_terms unknown = {.known = false, .price_watts = 0};
    struct place_offer offer = {0};

    (void)state;
    world_init(&w);
    world_node(&w, SLOW, 1);
    world_node(&w, FAST, 1);
    alone(1);
    corgi_planner_ops.offer(w.planner, world_input(&w), &cheap, &offer);
    assert_int_equal(offer.devices[0], 0);
    corgi_planner_ops.offer(w.planner, world_input(&w), &dear, &offer);
    assert_int_equal(offer.devices[0], 1);
    w.settings.progress_watts = 1000;
    corgi_planner_ops.offer(w.planner, world_input(&w), &unknown, &offer);
    assert_int_equal(offer.devices[0], 1);
}

#define planner_test(f) cmocka_unit_test_teardown(f, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        planner_test(larger_priorities_go_first_then_who_came_first),
        planner_test(a_long_queue_is_looked_at_from_its_head),
        planner_test(who_runs_is_looked_at_besides),
        planner_test(after_many_that_find_no_place_the_others_are_not_tried),
        planner_test(a_wait_for_a_better_place_ends_with_the_grace_time),
        planner_test(nobody_waits_for_a_place_that_is_not_there),
        planner_test(what_fits_nowhere_waits_for_that_reason),
        planner_test(among_equals_the_node_that_is_awake),
        planner_test(a_gang_has_few_nodes_the_tightest_and_those_in_use_first),
        planner_test(a_gang_apart_costs_its_progress_and_maybe_its_promise),
        planner_test(a_gang_may_only_use_what_it_is_allowed),
        planner_test(two_gangs_of_one_size_share_all_their_devices),
        planner_test(gangs_do_not_share_where_one_would_break_its_promise),
        planner_test(an_offer_is_the_place_a_round_would_give),
        planner_test(a_job_starts_when_enough_devices_are_left),
        planner_test(whoever_goes_before_has_to_end_too),
        planner_test(a_neighbour_that_ends_lets_the_other_run_faster),
        planner_test(any_place_is_taken_when_the_grace_time_is_used_up),
        planner_test(whoever_goes_before_is_counted),
        planner_test(what_is_left_of_training_takes_as_long_as_measured),
        planner_test(an_end_nobody_knows_gives_no_start),
        planner_test(a_free_device_that_is_too_slow_is_named),
        planner_test(behind_a_long_queue_no_start_is_known),
        planner_test(an_offer_goes_by_the_terms_of_the_last_plan),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
