/* test_truth.c - what really happens on a device: hidden factors, neighbours, caps */
#include "engine/sim/truth.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "fixture/sim.h"

static struct world *world;
static struct truth exact, hidden;
static struct sim_request light, heavy, service, pair;

static struct sim_request request_of(int cls, uint64_t seed)
{
    struct sim_request r = {.hidden = seed};

    request_describe(&r, world, cls, FIXTURE_V100, 0.5);
    return r;
}

static int set_up(void **state)
{
    (void)state;
    world = fixture_world();
    exact = (struct truth){.world = world, .gpu_of_type = fixture_types};
    hidden = exact;
    hidden.alone_sd = 0.15;
    hidden.beside_sd = 0.1;
    light = request_of(FIXTURE_LIGHT, 1);
    heavy = request_of(FIXTURE_HEAVY, 2);
    service = request_of(FIXTURE_SERVICE, 3);
    pair = request_of(FIXTURE_PAIR, 4);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    world_destroy(world);
    return 0;
}

static struct truth_outcome outcome_of(const struct truth *truth, double cap_watts,
                                       struct truth_member a, struct truth_member b)
{
    const struct truth_member members[] = {a, b};
    struct truth_outcome out;

    truth_outcome(truth, FIXTURE_V100, cap_watts, members, b.request ? 2 : 1, &out);
    return out;
}

#define NOBODY ((struct truth_member){0})

static struct truth_member runs(const struct sim_request *r)
{
    return (struct truth_member){.request = r, .nodes = 1};
}

static void without_hidden_factors_the_tables_hold(void **state)
{
    (void)state;
    assert_near(truth_alone(&exact, &light, FIXTURE_K80, 1), 10, 1e-6);
    assert_near(truth_alone(&exact, &light, FIXTURE_V100, 1), 40, 1e-6);
    assert_near(truth_alone(&exact, &pair, FIXTURE_V100, 1), 72, 1e-6);
    assert_near(truth_alone(&exact, &pair, FIXTURE_V100, 2), 36, 1e-6);
}

static void hidden_factors_are_a_job_s_own_and_never_change(void **state)
{
    struct sim_request twin = light, other = light;
    double first = truth_alone(&hidden, &light, FIXTURE_V100, 1);
    struct truth_outcome beside = outcome_of(&hidden, 0, runs(&light), runs(&heavy));

    (void)state;
    other.hidden = 77;
    truth_alone(&hidden, &heavy, FIXTURE_K80, 1); /* what is asked between is no matter */
    assert_true(truth_alone(&hidden, &light, FIXTURE_V100, 1) == first);
    assert_true(truth_alone(&hidden, &twin, FIXTURE_V100, 1) == first);
    assert_true(truth_alone(&hidden, &other, FIXTURE_V100, 1) != first);
    assert_true(first != 40);
    assert_true(outcome_of(&hidden, 0, runs(&light), runs(&heavy)).rate[0] ==
                beside.rate[0]);
    assert_true(outcome_of(&hidden, 0, runs(&heavy), runs(&light)).rate[1] ==
                beside.rate[0]);
}

static void hidden_factors_spread_as_asked(void **state)
{
    double sum = 0, squares = 0;
    int count = 4000;

    (void)state;
    for (int i = 0; i < count; i++) {
        struct sim_request r = request_of(FIXTURE_LIGHT, (uint64_t)i);
        double log_factor = log(truth_alone(&hidden, &r, FIXTURE_V100, 1) / 40);

        sum += log_factor;
        squares += log_factor * log_factor;
    }
    assert_near(sum / count, 0, 0.01);
    assert_near(sqrt(squares / count), 0.15, 0.01);
}

static void a_neighbour_slows_and_is_slowed(void **state)
{
    struct truth_outcome alone = outcome_of(&exact, 0, runs(&light), NOBODY);
    struct truth_outcome both = outcome_of(&exact, 0, runs(&light), runs(&heavy));

    (void)state;
    assert_near(alone.rate[0], 40, 1e-6);
    assert_near(both.rate[0], 40 * 0.75, 1e-6);
    assert_near(both.rate[1], 16 * 0.75, 1e-6);
    assert_true(both.watts > alone.watts);
    assert_true(both.watts <= world->gpus[FIXTURE_V100].tdp_watts);
}

static void a_service_at_low_load_slows_its_neighbour_less(void **state)
{
    struct truth_member calm = {.request = &service, .nodes = 1, .demand = 6};
    struct truth_member busy = {.request = &service, .nodes = 1, .demand = 60};
    struct truth_outcome low = outcome_of(&exact, 0, runs(&light), calm);
    struct truth_outcome high = outcome_of(&exact, 0, runs(&light), busy);

    (void)state;
    /* 6 of the 60 requests/s it can do beside the other: a tenth of the slow-down. */
    assert_near(low.rate[0], 40 * (1 - 0.25 * 0.1), 1e-5);
    assert_near(high.rate[0], 40 * 0.75, 1e-5);
    assert_true(low.watts < high.watts);
}

static void relative_speed_never_passes_one(void **state)
{
    (void)state;
    *world_beside(world, FIXTURE_V100, FIXTURE_LIGHT, FIXTURE_HEAVY) = 0.99f;
    for (uint64_t i = 0; i < 200; i++) {
        struct sim_request r = request_of(FIXTURE_LIGHT, i);
        struct truth_outcome out = outcome_of(&hidden, 0, runs(&r), runs(&heavy));

        assert_true(out.rate[0] <= truth_alone(&hidden, &r, FIXTURE_V100, 1));
        assert_true(out.rate[0] > 0);
    }
}

static void a_capped_device_is_slower_and_draws_less(void **state)
{
    struct truth_outcome open = outcome_of(&exact, 0, runs(&light), NOBODY);
    struct truth_outcome capped = outcome_of(&exact, 130, runs(&light), NOBODY);
    struct truth_outcome loose = outcome_of(&exact, 1000, runs(&light), NOBODY);

    (void)state;
    assert_true(open.watts > 130);
    assert_true(capped.watts <= 130);
    assert_true(capped.rate[0] < open.rate[0] && capped.rate[0] > 0.3 * open.rate[0]);
    assert_true(loose.rate[0] == open.rate[0] && loose.watts == open.watts);
}

static void a_limit_may_cost_more_than_the_power_model_says(void **state)
{
    struct truth steep = exact;
    struct truth_outcome open = outcome_of(&exact, 0, runs(&light), NOBODY);
    struct truth_outcome usual = outcome_of(&exact, 130, runs(&light), NOBODY), more;
    double left = usual.rate[0] / open.rate[0];

    (void)state;
    steep.cap_steepness = 2;
    more = outcome_of(&steep, 130, runs(&light), NOBODY);
    assert_near(more.rate[0] / open.rate[0], left * left, 1e-6);
    assert_near(more.watts, usual.watts, 1e-6);
    more = outcome_of(&steep, 0, runs(&light), NOBODY);
    assert_near(more.rate[0], open.rate[0], 1e-6);
}

static void gangs_that_share_may_interfere_more_than_jobs_on_one_device(void **state)
{
    struct truth apart = exact;
    double least = 1, most = 0;

    (void)state;
    apart.gang_interference = 0.8;
    for (uint64_t i = 0; i < 200; i++) {
        struct sim_request a = request_of(FIXTURE_LIGHT, i),
                           b = request_of(FIXTURE_HEAVY, 9);
        double alike, gangs;

        alike = outcome_of(&apart, 0, runs(&a), runs(&b)).rate[0];
        a.job.devices = b.job.devices = 2;
        gangs = outcome_of(&apart, 0, runs(&a), runs(&b)).rate[0] / alike;
        least = fmin(least, gangs);
        most = fmax(most, gangs);
    }
    assert_true(least >= 0.64 && least < 0.7);
    assert_true(most <= 1 && most > 0.95);
}

static void what_cannot_run_does_not_fit_and_draws_idle(void **state)
{
    double idle_watts = world->gpus[FIXTURE_V100].idle_watts;
    struct truth_outcome out;

    (void)state;
    truth_outcome(&exact, FIXTURE_V100, 0, NULL, 0, &out);
    assert_true(out.fits);
    assert_near(out.watts, idle_watts, 0);
    *world_beside(world, FIXTURE_V100, FIXTURE_LIGHT, FIXTURE_HEAVY) = NAN;
    out = outcome_of(&exact, 0, runs(&light), runs(&heavy));
    assert_false(out.fits); /* nobody measured the pair */
    assert_near(out.rate[0] + out.rate[1], 0, 0);
    assert_near(out.watts, idle_watts, 0);
    *world_alone(world, FIXTURE_V100, FIXTURE_HEAVY) = 0;
    assert_false(outcome_of(&exact, 0, runs(&heavy), NOBODY).fits);
    assert_true(outcome_of(&exact, 0, runs(&light), NOBODY).fits);
}

int main(void)
{
#define TRUTH_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TRUTH_TEST(without_hidden_factors_the_tables_hold),
        TRUTH_TEST(hidden_factors_are_a_job_s_own_and_never_change),
        TRUTH_TEST(hidden_factors_spread_as_asked),
        TRUTH_TEST(a_neighbour_slows_and_is_slowed),
        TRUTH_TEST(a_service_at_low_load_slows_its_neighbour_less),
        TRUTH_TEST(relative_speed_never_passes_one),
        TRUTH_TEST(a_capped_device_is_slower_and_draws_less),
        TRUTH_TEST(a_limit_may_cost_more_than_the_power_model_says),
        TRUTH_TEST(gangs_that_share_may_interfere_more_than_jobs_on_one_device),
        TRUTH_TEST(what_cannot_run_does_not_fit_and_draws_idle),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
