/* test_oracle.c - the model that knows the truth */
#include "lab/sim/sim_run.h"

#include "engine/sim/sim_engine.h"
#include "loop/estimate/predict.h"
#include "lab/sim/sim_private.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "fixture/sim.h"

static struct world *world;
static struct workload *workload;

static int set_up(void **state)
{
    (void)state;
    world = fixture_world();
    workload = fixture_workload();
    fixture_training(workload, world, FIXTURE_LIGHT, 0, 3600);
    fixture_service(workload, world, 0, 3600, 0.5);
    fixture_training(workload, world, FIXTURE_PAIR, 0, 3600);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    workload_destroy(workload);
    world_destroy(world);
    return 0;
}

/* An engine that expects all three. */
static struct engine make_engine(double alone_sd, double beside_sd)
{
    struct cluster *cluster = fixture_cluster(world, 1, 1, 1);
    struct sim_engine_options options = sim_engine_defaults();
    struct engine engine;
    struct err err = {0};

    options.drawn = cluster;
    options.world = world;
    options.gpu_of_type = fixture_types;
    options.clock = SIM_CLOCK_STEPPED;
    options.alone_sd = alone_sd;
    options.beside_sd = beside_sd;
    if (sim_engine_create(&engine, &options, (struct engine_sink){0}, &err) < 0)
        fail_msg("%s", err.text);
    cluster_destroy(cluster);
    for (size_t i = 0; i < workload->count; i++)
        sim_engine_expect(&engine, &workload->requests[i]);
    return engine;
}

static void predicts_what_will_happen(void **state)
{
    struct truth truth = {
        .world = world, .gpu_of_type = fixture_types, .alone_sd = 0.15, .beside_sd = 0.1};
    struct engine engine = make_engine(0.15, 0.1);
    struct model oracle = sim_oracle_create(&engine);
    const struct combination where = {
        .type = FIXTURE_V100,
        .cap_watts = 150,
        .count = 2,
        .members = {{.job = &workload->requests[0].job, .nodes = 1},
                    {.job = &workload->requests[1].job, .nodes = 1}}};
    const struct truth_member members[] = {
        {.request = &workload->requests[0], .nodes = 1},
        {.request = &workload->requests[1],
         .nodes = 1,
         .demand = request_demand(&workload->requests[1], 0)}};
    struct truth_outcome outcome;
    struct prediction p;

    (void)state;
    predict(&oracle, &where, &p);
    truth_outcome(&truth, FIXTURE_V100, 150, members, 2, &outcome);
    for (int i = 0; i < 2; i++) {
        assert_near(p.rate[i].value, outcome.rate[i], 0);
        assert_near(p.rate[i].low, p.rate[i].high, 0);
    }
    assert_near(p.watts.value, outcome.watts, 0);
    assert_near(p.fits, 1, 0);
    *world_beside(world, FIXTURE_V100, FIXTURE_LIGHT, FIXTURE_SERVICE) = 0;
    predict(&oracle, &where, &p);
    assert_near(p.fits, 0, 0);
    oracle.ops->destroy(oracle.self);
    engine.ops->destroy(engine.self);
}

static void knows_when_a_gang_is_spread(void **state)
{
    struct engine engine = make_engine(0, 0);
    struct model oracle = sim_oracle_create(&engine);
    struct combination where = {
        .type = FIXTURE_K80,
        .count = 1,
        .members = {{.job = &workload->requests[2].job, .nodes = 1}}};
    struct prediction together, spread;

    (void)state;
    predict(&oracle, &where, &together);
    where.members[0].nodes = 2;
    predict(&oracle, &where, &spread);
    assert_near(together.rate[0].value, 18, 1e-6);
    assert_near(spread.rate[0].value, 9, 1e-6);
    oracle.ops->destroy(oracle.self);
    engine.ops->destroy(engine.self);
}

/* What it says and what is measured differ by the noise alone. */
static void errs_by_the_noise_of_measurements_and_no_more(void **state)
{
    static const double noise_sd[] = {0, 0.03, 0.03};
    static const uint64_t seeds[] = {1, 1, 2};
    struct cluster *cluster = fixture_cluster(world, 2, 2, 2);
    struct sim_options options = sim_default_options();
    struct refine_score scores[3];

    (void)state;
    for (int i = 0; i < 3; i++) {
        struct sim_result r;

        options.noise_sd = noise_sd[i];
        options.seed = seeds[i];
        r = fixture_run("oracle", &options, world, workload, cluster);
        assert_int_equal(r.finished, 3);
        assert_true(r.estimates.observations > 10);
        scores[i] = r.estimates;
        sim_result_fini(&r);
    }
    /* What a service can do is inferred from several windows, and moved between them. */
    assert_near(scores[0].abs_log_error, 0, 0.003);
    assert_near(scores[1].abs_log_error, 0.024, 0.012);
    assert_near(scores[2].abs_log_error, 0.024, 0.012);
    assert_true(scores[1].abs_log_error != scores[2].abs_log_error);
    cluster_destroy(cluster);
}

int main(void)
{
#define ORACLE_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        ORACLE_TEST(predicts_what_will_happen),
        ORACLE_TEST(knows_when_a_gang_is_spread),
        ORACLE_TEST(errs_by_the_noise_of_measurements_and_no_more),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
