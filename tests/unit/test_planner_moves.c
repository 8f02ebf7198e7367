/* test_planner_moves.c - running jobs are moved, exchanged and gathered where that earns
 * a multiple of what the moves cost, and else left alone
 *
 * A move has to save 28 times what a pause of move_s costs at 250 W, 240 times for a
 * service, over the time the job is expected to stay, four hours at most. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "fixture/planner_world.h"

#define PAUSE_JOULES (45.0 * 250)
#define FOUR_HOURS   14400.0

static struct planner_world w;

static int tear_down(void **state)
{
    (void)state;
    world_fini(&w);
    return 0;
}

/* Believed to run on for so long: half its best rate is counted on. */
static void lasts(struct job_status *s, double left_s, double best_rate)
{
    s->steps_done = 1000;
    s->job.total_steps = s->steps_done + left_s * 0.5 * best_rate;
}

/* ---- one job ---- */

struct one {
    const char *what;
    double saves_watts; /* on the other device */
    double left_s;
    int moves; /* so far */
    double move_s;
    bool service;
    bool goes;
};

/* A job on a fast device does as well on a slow one, for so many watts less. */
static bool one_goes(const struct one *c)
{
    struct job_status *a;

    world_init(&w);
    world_node(&w, SLOW, 1);
    world_node(&w, FAST, 1);
    w.settings.sleep = false;
    w.settings.move_s = c->move_s;
    a = c->service ? world_service(&w, 5) : world_job(&w, 5);
    w.beliefs.rate[1][FAST] = 10;
    w.beliefs.watts[1][FAST] = 130 + c->saves_watts; /* 30 W more idle */
    world_run(&w, a, 1);
    a->moves = c->moves;
    lasts(a, c->left_s, 10);
    if (c->service) {
        a->job.total_steps = 0;
        a->job.duration_s = w.now_s + c->left_s - a->started_s;
    }
    world_measure(&w, a, 10, 0);
    world_plan(&w);
    return world_seat(&w, a) == 0;
}

static void a_move_must_earn_a_multiple_of_its_pause(void **state)
{
    const double least = 28 * PAUSE_JOULES / FOUR_HOURS;
    const struct one cases[] = {
        {"a little more than the least", 1.01 * least, 1e6, 0, 45, false, true},
        {"a little less", 0.99 * least, 1e6, 0, 45, false, false},
        {"just four hours left", 1.01 * least, FOUR_HOURS, 0, 45, false, true},
        {"three hours left", 1.01 * least, 10800, 0, 45, false, false},
        {"an hour left, and it saves four times as much", 4.04 * least, 3600, 0, 45,
         false, true},
        {"moved before", 1.24 * least, 1e6, 1, 45, false, false},
        {"moved before, and it saves a quarter more", 1.26 * least, 1e6, 1, 45, false,
         true},
        {"moved four times", 1.99 * least, 1e6, 4, 45, false, false},
        {"moved four times, and it saves twice as much", 2.01 * least, 1e6, 4, 45, false,
         true},
        {"a longer pause", 1.9 * least, 1e6, 0, 90, false, false},
        {"no pause counts as one of a second", 0.99 * least / 45, 1e6, 0, 0, false,
         false},
        {"a bit more than that", 1.01 * least / 45, 1e6, 0, 0, false, true},
        {"a service feels a pause more", 8.5 * least, 1e6, 0, 45, true, false},
        {"for 240 times a service goes", 8.6 * least, 1e6, 0, 45, true, true},
        {"a service that ends in an hour", 34.2 * least, 3600, 0, 45, true, false},
        {"and one that saves more", 34.4 * least, 3600, 0, 45, true, true},
        {"a service that has moved", 42.7 * least, 1e6, 1, 45, true, false},
        {"and one that saves five times as much", 43 * least, 1e6, 1, 45, true, true},
        {"whoever ends in five minutes stays", 2000, 299, 0, 45, false, false},
        {"or goes when there is a bit more time", 2000, 301, 0, 45, false, true},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        if (one_goes(&cases[i]) != cases[i].goes)
            fail_msg("%s", cases[i].what);
        if (i + 1 < sizeof(cases) / sizeof(*cases))
            world_fini(&w);
    }
}

/* Moves and what it was seen short may take 0.5 % of a job's time so far. */
static void a_job_is_moved_for_less_cost_within_its_budget(void **state)
{
    static const struct {
        double age_s, short_s;
        int moves;
        bool goes;
    } cases[] = {{8999, 0, 0, false}, {9001, 0, 0, true},     {17999, 0, 1, false},
                 {18001, 0, 1, true}, {68999, 300, 0, false}, {69001, 300, 0, true}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct job_status *a;

        world_init(&w);
        world_node(&w, SLOW, 1);
        world_node(&w, FAST, 1);
        w.settings.sleep = false;
        a = world_run(&w, world_job(&w, 5), 1);
        w.beliefs.rate[1][FAST] = 10;
        w.beliefs.watts[1][FAST] = 350;
        world_measure(&w, a, 10, 0);
        a->started_s = w.now_s - cases[i].age_s;
        a->short_s = cases[i].short_s;
        a->moves = cases[i].moves;
        world_plan(&w);
        assert_int_equal(world_seat(&w, a), cases[i].goes ? 0 : 1);
        if (i + 1 < sizeof(cases) / sizeof(*cases))
            world_fini(&w);
    }
}

static void a_job_is_looked_at_again_after_a_while(void **state)
{
    struct job_status *a;

    (void)state;
    world_init(&w);
    world_node(&w, SLOW, 1);
    world_node(&w, FAST, 1);
    w.settings.sleep = false;
    a = world_run(&w, world_job(&w, 5), 1);
    w.beliefs.rate[1][FAST] = 10;
    w.beliefs.watts[1][FAST] = 350;
    world_measure(&w, a, 10, 0);
    a->placed_s = w.now_s - 599; /* too short to know it there */
    world_plan(&w);
    assert_int_equal(world_seat(&w, a), 1);
    w.now_s += 10; /* moves for cost are looked for every five minutes only */
    world_plan(&w);
    assert_int_equal(world_seat(&w, a), 1);
    w.now_s += 290;
    world_plan(&w);
    assert_int_equal(world_seat(&w, a), 0);
}

static void without_a_measurement_it_takes_half_an_hour(void **state)
{
    struct job_status *a;

    (void)state;
    for (int late = 0; late < 2; late++) {
        world_init(&w);
        world_node(&w, SLOW, 1);
        world_node(&w, FAST, 1);
        w.settings.sleep = false;
        a = world_run(&w, world_job(&w, 5), 1);
        w.beliefs.rate[1][FAST] = 10;
        w.beliefs.watts[1][FAST] = 350;
        a->placed_s = w.now_s - (late ? 1800 : 1799);
        world_plan(&w);
        assert_int_equal(world_seat(&w, a), late ? 0 : 1);
        if (!late)
            world_fini(&w);
    }
}

/* ---- neighbours ---- */

/* Two share a slow device at 0.6 each and one is free: 80 W better for each of them, at
 * 200 W for the progress of one job. */
static int moves_of_two(double left_s_of_first, double left_s_of_second)
{
    struct job_status *a, *b;

    world_init(&w);
    world_node(&w, SLOW, 2);
    w.settings.sleep = false;
    a = world_run(&w, world_job(&w, 1), 0);
    b = world_run(&w, world_job(&w, 1), 0);
    for (int id = 1; id <= 2; id++)
        w.beliefs.rate[id][FAST] = 1;
    lasts(a, left_s_of_first, 10);
    lasts(b, left_s_of_second, 10);
    world_measure_all(&w);
    world_plan(&w);
    return (world_seat(&w, a) == 1) + (world_seat(&w, b) == 1);
}

static void nobody_flees_from_a_neighbour_who_is_about_to_end(void **state)
{
    const double pays_s = 28 * PAUSE_JOULES / 80;

    (void)state;
    assert_int_equal(moves_of_two(1e6, 1e6), 1); /* one of them, not both */
    world_fini(&w);
    assert_int_equal(moves_of_two(1e6, 1.02 * pays_s), 1);
    world_fini(&w);
    assert_int_equal(moves_of_two(1.02 * pays_s, 1e6), 1);
    world_fini(&w);
    assert_int_equal(moves_of_two(1e6, 0.98 * pays_s), 0);
    world_fini(&w);
    assert_int_equal(moves_of_two(0.98 * pays_s, 1e6), 0);
}

/* A job on a fast device would save 340 W beside one on a slow device. */
static bool joins(double left_s_of_neighbour)
{
    struct job_status *a, *b;

    world_init(&w);
    world_node(&w, SLOW, 1);
    world_node(&w, FAST, 1);
    w.settings.sleep = false;
    a = world_run(&w, world_service(&w, 5), 1);
    b = world_run(&w, world_service(&w, 5), 0);
    w.beliefs.beside[1] = w.beliefs.beside[2] = 1;
    w.beliefs.rate[1][FAST] = 10;
    w.beliefs.rate[2][FAST] = 1; /* the neighbour has to stay where it is */
    w.beliefs.watts[1][FAST] = 450;
    w.beliefs.more_watts = 60;
    b->job.duration_s = w.now_s + left_s_of_neighbour - b->started_s;
    world_measure_all(&w);
    world_plan(&w);
    assert_int_equal(world_seat(&w, b), 0);
    return world_seat(&w, a) == 0;
}

static void nobody_joins_a_neighbour_who_is_about_to_end(void **state)
{
    const double pays_s = 240 * PAUSE_JOULES / 340;

    (void)state;
    assert_true(joins(1e6));
    world_fini(&w);
    assert_true(joins(1.02 * pays_s));
    world_fini(&w);
    assert_false(joins(0.98 * pays_s));
}

/* ---- exchanges ---- */

struct exchange {
    const char *what;
    void (*change)(struct job_status *a, struct job_status *b);
    bool done;
};

static void nothing(struct job_status *a, struct job_status *b)
{
    (void)a;
    (void)b;
}

static void first_stays(struct job_status *a, struct job_status *b)
{
    (void)b;
    a->job.may_move = false;
}

static void second_stays(struct job_status *a, struct job_status *b)
{
    (void)a;
    b->job.may_move = false;
}

static void first_is_new(struct job_status *a, struct job_status *b)
{
    (void)b;
    a->placed_s = w.now_s - 500;
}

static void second_is_new(struct job_status *a, struct job_status *b)
{
    (void)a;
    b->placed_s = w.now_s - 500;
}

static void first_only_fast(struct job_status *a, struct job_status *b)
{
    (void)b;
    a->job.types_allowed = 1u << FAST;
}

static void second_only_slow(struct job_status *a, struct job_status *b)
{
    (void)a;
    b->job.types_allowed = 1u << SLOW;
    w.beliefs.rate[2][FAST] = 10000; /* whatever it would do there */
}

/* The two together earn 150 W and pay two pauses. */
static void first_ends_too_soon(struct job_status *a, struct job_status *b)
{
    (void)b;
    lasts(a, 0.98 * 2 * 28 * PAUSE_JOULES / 150, 10);
}

static void first_ends_just_late_enough(struct job_status *a, struct job_status *b)
{
    (void)b;
    lasts(a, 1.02 * 2 * 28 * PAUSE_JOULES / 150, 10);
}

static void second_ends_too_soon(struct job_status *a, struct job_status *b)
{
    (void)a;
    lasts(b, 0.98 * 2 * 28 * PAUSE_JOULES / 150, 40);
}

static void progress_is_dear_and_the_end_near(struct job_status *a, struct job_status *b)
{
    (void)b;
    w.settings.progress_watts = 5000;
    lasts(a, 299, 10);
}

static void progress_is_dear(struct job_status *a, struct job_status *b)
{
    (void)b;
    w.settings.progress_watts = 5000;
    lasts(a, 301, 10);
}

static void first_was_moved_often(struct job_status *a, struct job_status *b)
{
    lasts(b, 7200, 40);
    a->moves = 8; /* three pauses for it, and one for the other */
}

static void first_was_moved(struct job_status *a, struct job_status *b)
{
    lasts(b, 7200, 40);
    a->moves = 3;
}

/* The first is no faster on the fast device it has, the second would be four times as
 * fast there; nothing is free, and nobody shares. */
static void two_change_places_when_that_pays(void **state)
{
    const struct exchange cases[] = {
        {"both may", nothing, true},
        {"the first may not be moved", first_stays, false},
        {"the second may not be moved", second_stays, false},
        {"the first has just come", first_is_new, false},
        {"the second has just come", second_is_new, false},
        {"the first may only use fast devices", first_only_fast, false},
        {"the second may only use slow devices", second_only_slow, false},
        {"the first ends too soon", first_ends_too_soon, false},
        {"the first ends a bit later", first_ends_just_late_enough, true},
        {"the second ends too soon", second_ends_too_soon, false},
        {"five minutes are too short whatever it earns",
         progress_is_dear_and_the_end_near, false},
        {"more than five minutes", progress_is_dear, true},
        {"the first was moved too often", first_was_moved_often, false},
        {"the first was moved some times", first_was_moved, true},
    };
    size_t count = sizeof(cases) / sizeof(*cases);

    (void)state;
    for (size_t i = 0; i < count; i++) {
        struct job_status *a, *b;

        world_init(&w);
        world_node(&w, SLOW, 1);
        world_node(&w, FAST, 1);
        w.settings.sleep = false;
        a = world_run(&w, world_job(&w, 1), 1);
        b = world_run(&w, world_job(&w, 1), 0);
        a->job.may_share = b->job.may_share = false;
        w.beliefs.rate[1][FAST] = 10;
        w.beliefs.watts[1][FAST] = w.beliefs.watts[2][FAST] = 130;
        cases[i].change(a, b);
        world_measure_all(&w);
        world_plan(&w);
        if ((world_seat(&w, a) == 0) != cases[i].done ||
            (world_seat(&w, b) == 1) != cases[i].done)
            fail_msg("%s", cases[i].what);
        if (i + 1 < count)
            world_fini(&w);
    }
}

/* The first has a neighbour on its fast device; whoever may not share cannot come. */
static void an_exchange_brings_nobody_beside_another_who_may_not_share(void **state)
{
    (void)state;
    for (int shares = 0; shares < 2; shares++) {
        struct job_status *a, *b, *c;

        world_init(&w);
        world_node(&w, SLOW, 1);
        world_node(&w, FAST, 1);
        w.settings.sleep = false;
        a = world_run(&w, world_job(&w, 1), 1);
        c = world_run(&w, world_service(&w, 1), 1);
        b = world_run(&w, world_job(&w, 1), 0);
        c->job.may_move = false;
        b->job.may_share = shares;
        w.beliefs.beside[1] = w.beliefs.beside[2] = w.beliefs.beside[3] = 1;
        w.beliefs.rate[1][FAST] = 10;
        w.beliefs.watts[1][FAST] = w.beliefs.watts[2][FAST] = w.beliefs.watts[3][FAST] =
            130;
        w.beliefs.more_watts = 100; /* no reason to gather them */
        world_measure_all(&w);
        world_plan(&w);
        assert_int_equal(world_seat(&w, c), 1);
        assert_int_equal(world_seat(&w, a), shares ? 0 : 1);
        assert_int_equal(world_seat(&w, b), shares ? 1 : 0);
        if (!shares)
            world_fini(&w);
    }
}

/* ---- nodes are emptied ---- */

struct empty {
    const char *what;
    void (*change)(struct job_status **jobs);
    bool emptied;
};

static void as_it_is(struct job_status **jobs)
{
    (void)jobs;
}

static void one_may_not_move(struct job_status **jobs)
{
    jobs[1]->job.may_move = false;
}

static void one_is_new(struct job_status **jobs)
{
    jobs[0]->placed_s = w.now_s - 500;
}

static void nothing_sleeps(struct job_status **jobs)
{
    (void)jobs;
    w.settings.sleep = false;
}

static void this_one_does_not_sleep(struct job_status **jobs)
{
    (void)jobs;
    w.cluster->nodes[0].may_sleep = false;
    w.cluster->nodes[1].may_sleep = false;
}

static void a_device_is_drained(struct job_status **jobs)
{
    (void)jobs;
    w.cluster->devices[3].drained = true;
}

static void one_ends_too_soon(struct job_status **jobs)
{
    lasts(jobs[1], 0.98 * 2 * 28 * PAUSE_JOULES / 110, 10);
}

static void one_ends_just_late_enough(struct job_status **jobs)
{
    lasts(jobs[1], 1.02 * 2 * 28 * PAUSE_JOULES / 110, 10);
}

/* 2 x 28 pauses in two hours are 87.5 W. */
static void it_hardly_pays(struct job_status **jobs)
{
    (void)jobs;
    w.cluster->nodes[0].host_watts = w.cluster->nodes[1].host_watts = 78.5;
}

static void it_hardly_fails_to_pay(struct job_status **jobs)
{
    (void)jobs;
    w.cluster->nodes[0].host_watts = w.cluster->nodes[1].host_watts = 76.5;
}

static void a_host_draws_much_and_one_ends(struct job_status **jobs)
{
    w.cluster->nodes[0].host_watts = 5000;
    lasts(jobs[0], 299, 10);
}

static void a_host_draws_much(struct job_status **jobs)
{
    w.cluster->nodes[0].host_watts = 5000;
    lasts(jobs[0], 301, 10);
}

static void one_needs_all_of_a_device(struct job_status **jobs)
{
    jobs[0]->job.may_share = false;
}

/* Two nodes of two devices, each with a job.  A device with two costs 10 W more than two
 * devices with one each, so no single move pays; a node less saves 130 W. */
static void a_node_is_emptied_so_that_it_can_sleep(void **state)
{
    const struct empty cases[] = {
        {"it pays", as_it_is, true},
        {"a job of it may not be moved", one_may_not_move, false},
        {"a job of it has just come", one_is_new, false},
        {"nodes do not sleep", nothing_sleeps, false},
        {"these nodes do not", this_one_does_not_sleep, false},
        {"there is room for one of two", a_device_is_drained, false},
        {"one ends too soon", one_ends_too_soon, false},
        {"one ends a bit later", one_ends_just_late_enough, true},
        {"hosts that draw little", it_hardly_fails_to_pay, false},
        {"and a bit more", it_hardly_pays, true},
        {"five minutes are too short whatever it saves", a_host_draws_much_and_one_ends,
         false},
        {"more than five minutes", a_host_draws_much, true},
        {"one cannot share", one_needs_all_of_a_device, false},
    };
    size_t count = sizeof(cases) / sizeof(*cases);

    (void)state;
    for (size_t i = 0; i < count; i++) {
        struct job_status *jobs[4];
        bool emptied = true, stayed = true;

        world_init(&w);
        world_node(&w, SLOW, 2);
        world_node(&w, SLOW, 2);
        for (int k = 0; k < 4; k++) {
            jobs[k] = world_run(&w, world_job(&w, 1), k);
            w.beliefs.beside[1 + k] = 1;
            w.beliefs.rate[1 + k][FAST] = 1;
        }
        w.beliefs.more_watts = 90;
        jobs[2]->job.may_move = jobs[3]->job.may_move = false; /* the other way round */
        cases[i].change(jobs);
        world_measure_all(&w);
        world_plan(&w);
        for (int k = 0; k < 2; k++) {
            emptied = emptied && world_seat(&w, jobs[k]) >= 2;
            stayed = stayed && world_seat(&w, jobs[k]) == k;
        }
        assert_int_equal(world_seat(&w, jobs[2]), 2);
        assert_int_equal(world_seat(&w, jobs[3]), 3);
        if (emptied != cases[i].emptied || stayed == cases[i].emptied)
            fail_msg("%s", cases[i].what);
        if (emptied)
            assert_int_not_equal(world_seat(&w, jobs[0]), world_seat(&w, jobs[1]));
        if (i + 1 < count)
            world_fini(&w);
    }
}

/* Whether it was tried in vain or not, the next job finds the devices as they are. */
static void what_is_not_emptied_is_as_before(void **state)
{
    struct job_status *jobs[4], *next;

    (void)state;
    world_init(&w);
    world_node(&w, SLOW, 2);
    world_node(&w, SLOW, 2);
    for (int k = 0; k < 4; k++) {
        jobs[k] = world_run(&w, world_job(&w, 1), k);
        jobs[k]->job.may_share = k == 0 || k == 2;
        w.beliefs.beside[1 + k] = 1;
    }
    w.beliefs.more_watts = 90;
    next = world_job(&w, 1);
    world_measure_all(&w);
    world_plan(&w);
    for (int k = 0; k < 4; k++)
        assert_int_equal(world_seat(&w, jobs[k]), k);
    assert_true(world_seat(&w, next) == 0 || world_seat(&w, next) == 2);
}

/* A node of seven jobs is not thought about. */
static void a_node_with_many_jobs_is_left(void **state)
{
    (void)state;
    for (int many = 6; many <= 7; many++) {
        int left = 0;

        world_init(&w);
        world_node(&w, SLOW, 7);
        world_node(&w, SLOW, 7);
        for (int k = 0; k < 14; k++) {
            struct job_status *s;

            if (k == 6 && many == 6)
                continue;
            s = world_run(&w, world_job(&w, 1), k);
            s->job.may_move = k < 7;
            w.beliefs.beside[s->job.id] = 1;
            w.beliefs.rate[s->job.id][FAST] = 1;
        }
        w.cluster->nodes[0].host_watts = 1000;
        w.beliefs.more_watts = 90;
        world_measure_all(&w);
        world_plan(&w);
        for (size_t i = 0; i < w.count; i++)
            left += world_seat(&w, &w.jobs[i]) < 7;
        assert_int_equal(left, many == 6 ? 0 : 7);
        if (many == 6)
            world_fini(&w);
    }
}

#define planner_test(f) cmocka_unit_test_teardown(f, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        planner_test(a_move_must_earn_a_multiple_of_its_pause),
        planner_test(a_job_is_moved_for_less_cost_within_its_budget),
        planner_test(a_job_is_looked_at_again_after_a_while),
        planner_test(without_a_measurement_it_takes_half_an_hour),
        planner_test(nobody_flees_from_a_neighbour_who_is_about_to_end),
        planner_test(nobody_joins_a_neighbour_who_is_about_to_end),
        planner_test(two_change_places_when_that_pays),
        planner_test(an_exchange_brings_nobody_beside_another_who_may_not_share),
        planner_test(a_node_is_emptied_so_that_it_can_sleep),
        planner_test(what_is_not_emptied_is_as_before),
        planner_test(a_node_with_many_jobs_is_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
