/* test_corgi_planner.c - Corgi's planner keeps the rules of all planners */
#include "loop_fixture.h"

#include "base/rng.h"
#include "loop/optimize/corgi_planner.h"
#include "loop/optimize/kinds.h"
#include "loop/optimize/plan.h"
#include "loop/place/place.h"

struct planning {
    struct fixture f;
    void *planner;
    struct plan plan;
};

static int set_up(void **state)
{
    struct planning *x = test_calloc(1, sizeof(*x));

    fixture_init(&x->f);
    x->planner = corgi_planner_ops.create(1);
    corgi_planner_check(x->planner, true);
    *state = x;
    return 0;
}

static int tear_down(void **state)
{
    struct planning *x = *state;

    corgi_planner_ops.destroy(x->planner);
    plan_fini(&x->plan);
    fixture_fini(&x->f);
    test_free(x);
    return 0;
}

/* Plan, and refuse plans that break a rule. */
static void make_plan(struct planning *x, double now_s)
{
    struct err err = {0};

    fixture_input(&x->f, now_s);
    corgi_planner_ops.plan(x->planner, &x->f.in, &x->plan);
    if (place_check(&x->f.in, &x->plan, &err) < 0)
        fail_msg("%s", err.text);
}

static int type_of_seat(const struct planning *x, size_t seat)
{
    return x->f.cluster->devices[x->plan.devices[x->plan.seats[seat].first]].type;
}

static void requirements_choose_the_type(void **state)
{
    struct planning *x = *state;
    struct job easy = fixture_rate_job(1, 5), hard = fixture_rate_job(2, 30);

    x->f.settings.progress_watts = 0;
    jobs_add(x->f.jobs, &easy);
    jobs_add(x->f.jobs, &hard);
    make_plan(x, 0);
    assert_int_equal(x->plan.seats[0].device_count, 1);
    assert_int_equal(x->plan.seats[1].device_count, 1);
    assert_int_equal(type_of_seat(x, 1), FAST);
    assert_true(x->plan.seats[1].rate >= 30);
}

static void nodes_without_jobs_go_to_sleep(void **state)
{
    struct planning *x = *state;
    struct job job = fixture_rate_job(1, 5);
    int awake = 0;

    jobs_add(x->f.jobs, &job);
    make_plan(x, 1000);
    for (int n = 0; n < 3; n++)
        awake += x->plan.awake[n];
    assert_int_equal(awake, 1);
    x->f.settings.sleep = false;
    make_plan(x, 1000);
    for (int n = 0; n < 3; n++)
        assert_true(x->plan.awake[n]);
}

static void a_running_job_keeps_a_seat_whatever_it_needs(void **state)
{
    struct planning *x = *state;

    for (int d = 0; d < 8; d++)
        fixture_running(&x->f, fixture_rate_job((uint64_t)d + 1, 1000), &d, 0);
    make_plan(x, 5000);
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(x->plan.seats[i].device_count, 1);
}

static void nothing_moves_when_moves_are_forbidden(void **state)
{
    struct planning *x = *state;
    int devices[] = {0, 2, 3, 6};

    x->f.settings.moves = false;
    for (int i = 0; i < 4; i++)
        fixture_running(&x->f, fixture_job((uint64_t)i + 1, 1), &devices[i], 0);
    make_plan(x, 5000); /* place_check sees to it */
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(x->plan.devices[x->plan.seats[i].first], devices[i]);
}

static void a_drained_device_keeps_its_job_and_takes_no_other(void **state)
{
    struct planning *x = *state;
    int device = 2;

    fixture_running(&x->f, fixture_job(1, 1), &device, 0);
    x->f.cluster->devices[device].drained = true;
    for (uint64_t id = 2; id < 9; id++) {
        struct job job = fixture_job(id, 1);

        jobs_add(x->f.jobs, &job);
    }
    make_plan(x, 5000);
    assert_int_equal(x->plan.devices[x->plan.seats[0].first], device);
    for (size_t i = 1; i < 8; i++)
        assert_int_not_equal(x->plan.devices[x->plan.seats[i].first], device);
}

static void a_gang_gets_all_its_devices_or_none(void **state)
{
    struct planning *x = *state;
    struct job four = fixture_job(1, 4), nine = fixture_job(2, 9);

    jobs_add(x->f.jobs, &four);
    jobs_add(x->f.jobs, &nine); /* more than there are */
    make_plan(x, 0);
    assert_int_equal(x->plan.seats[0].device_count, 4);
    assert_int_equal(x->plan.seats[1].device_count, 0);
    assert_int_not_equal(x->plan.seats[1].reason, UNPLACED_NONE);
}

static void what_cannot_be_placed_says_why(void **state)
{
    struct planning *x = *state;
    struct job huge = fixture_rate_job(1, 1e6);

    huge.submitted_s = 0;
    x->f.table.fits[SLOW] = x->f.table.fits[FAST] = 0;
    jobs_add(x->f.jobs, &huge);
    make_plan(x, 10);
    assert_int_equal(x->plan.seats[0].device_count, 0);
    assert_int_equal(x->plan.seats[0].reason, UNPLACED_MEMORY);
}

static void random_states_keep_the_rules(void **state)
{
    struct planning *x = *state;
    struct rng rng;
    uint64_t id = 1;

    rng_init(&rng, 5);
    for (int round = 0; round < 25; round++) {
        place_actions actions = {0};
        struct job job = fixture_rate_job(id++, rng_range(&rng, 0, 35));

        job.devices = rng_uniform(&rng) < 0.2 ? 2 : 1;
        job.may_share = rng_uniform(&rng) < 0.8;
        job.may_move = rng_uniform(&rng) < 0.8;
        job.submitted_s = round * 400.0;
        jobs_add(x->f.jobs, &job);
        x->f.settings.caps = round % 2;
        make_plan(x, round * 400.0);
        place_apply(&x->f.in, &x->plan, x->f.jobs, x->f.cluster, &actions);
        vec_free(&actions);
    }
}

static void pairs_are_asked_once_while_nothing_changes(void **state)
{
    struct planning *x = *state;
    struct kinds *kinds = kinds_create();
    long first = 0, second;

    for (uint64_t id = 1; id <= 6; id++) {
        struct job job = fixture_job(id, 1);

        jobs_add(x->f.jobs, &job);
    }
    for (int round = 0; round < 2; round++) {
        kinds_load(kinds, fixture_input(&x->f, 0));
        for (int a = 0; a < 6; a++)
            for (int b = a; b < 6; b++)
                kinds_pair_on(kinds, a, b, FAST);
        if (round == 0)
            first = kinds_asked(kinds);
    }
    second = kinds_asked(kinds) - first;
    assert_true(second < first);
    assert_true(second <= 12 + 6); /* alone again, and the row whose turn it is */
    x->f.table.rate[FAST] *= 1.5;  /* news: everything again */
    kinds_load(kinds, fixture_input(&x->f, 0));
    assert_true(kinds_pair_on(kinds, 0, 1, FAST).rate[0] > 30);
    kinds_destroy(kinds);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(requirements_choose_the_type),
        CASE(nodes_without_jobs_go_to_sleep),
        CASE(a_running_job_keeps_a_seat_whatever_it_needs),
        CASE(nothing_moves_when_moves_are_forbidden),
        CASE(a_drained_device_keeps_its_job_and_takes_no_other),
        CASE(a_gang_gets_all_its_devices_or_none),
        CASE(what_cannot_be_placed_says_why),
        CASE(random_states_keep_the_rules),
        CASE(pairs_are_asked_once_while_nothing_changes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
