/* test_model_demand.c - services that work part of the time: what the learned model makes
 * of their demand */
#include "model/learned_private.h"

#include "loop/estimate/predict.h"
#include "loop/requirement.h"
#include "world/power.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#include "fixture/sim.h"

#define WINDOWS 20
/* What the jobs of these tests do: alone, and of that beside each other at work. */
#define TRAINING_ALONE 10.0
#define SERVICE_ALONE  100.0
#define FULL           0.5

static struct gpu_sheet types[2];
static struct job training, service;
static struct model model;
static double now_s;

static int set_up(void **state)
{
    (void)state;
    types[0] = *gpu_find("k80");
    types[1] = *gpu_find("v100");
    training = (struct job){.id = 1,
                            .devices = 1,
                            .need = {.kind = NEED_RATE, .rate = 5},
                            .descriptor = {.family = "net", .batch = 16}};
    service = (struct job){.id = 2,
                           .kind = JOB_INFERENCE,
                           .devices = 1,
                           .need = {.kind = NEED_SERVICE, .rate = 80},
                           .descriptor = {.family = "talk", .batch = 1}};
    model = learned_create(types, 2, &(struct learned_options){.seed = 1});
    model.ops->begin(model.self, &training);
    model.ops->begin(model.self, &service);
    now_s = 0;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    model.ops->destroy(model.self);
    return 0;
}

/* The two together on a V100, the service asked for so much; 0: all it can do. */
static struct combination together(double demand)
{
    return (struct combination){
        .type = 1, .count = 2, .members = {{&training, 1, 0}, {&service, 1, demand}}};
}

static struct combination service_alone(double demand)
{
    return (struct combination){
        .type = 1, .count = 1, .members = {{&service, 1, demand}}};
}

static void absorb(const struct combination *where, int subject, double rate,
                   double watts)
{
    struct observation seen = {
        .where = *where, .subject = subject, .rate = rate, .device_watts = watts};

    for (int i = 0; i < WINDOWS; i++) {
        seen.at_s = now_s += 60;
        model.ops->absorb(model.self, &seen);
    }
}

static void measure_alone(void)
{
    const struct combination one = {
        .type = 1, .count = 1, .members = {{&training, 1, 0}}};
    const struct combination other = service_alone(0);

    absorb(&one, 0, TRAINING_ALONE, NAN);
    absorb(&other, 0, SERVICE_ALONE, NAN);
}

static struct estimate service_rate(void)
{
    const struct combination where = service_alone(1);
    struct prediction p;

    predict(&model, &where, &p);
    return p.rate[0];
}

/* It is at least so fast: that lifts what is believed, and never lowers it. */
static void a_floor_only_lifts(void **state)
{
    struct observation seen = {
        .where = service_alone(1), .floor = true, .device_watts = NAN, .at_s = 60};
    double before = service_rate().value;

    (void)state;
    seen.rate = before / 20;
    model.ops->absorb(model.self, &seen);
    assert_near(service_rate().value, before, 1e-9 * before);
    seen.rate = 2 * before;
    model.ops->absorb(model.self, &seen);
    assert_true(service_rate().value > 1.9 * before);
    assert_true(service_rate().source != ESTIMATE_MEASURED);
}

/* What is inferred of a service is believed as far as it is sure. */
static void the_doubt_of_an_observation_is_kept(void **state)
{
    static const double sds[] = {0.03, 0.2, 0.6};
    struct observation seen = {
        .where = service_alone(1), .rate = 40, .device_watts = NAN, .at_s = 60};

    (void)state;
    for (int i = 0; i < 3; i++) {
        struct estimate e;

        seen.rate_sd_log = sds[i];
        model.ops->absorb(model.self, &seen);
        e = service_rate();
        assert_near(e.value, 40, 1e-6);
        assert_true(log(e.high / e.value) >= 1.64 * sds[i]);
        assert_true(log(e.high / e.value) <= 1.64 * sds[i] + 0.2);
        assert_int_equal(e.source == ESTIMATE_MEASURED, i < 2);
    }
}

/* What the training does beside the service when that is asked for so much. */
static double truth(double demand)
{
    return TRAINING_ALONE * (1 - (1 - FULL) * demand / (SERVICE_ALONE * FULL));
}

static double training_beside(double demand)
{
    const struct combination where = together(demand);
    struct prediction p;

    predict(&model, &where, &p);
    return p.rate[0].value;
}

static double watts_at(double demand)
{
    const struct combination where = service_alone(demand);
    struct prediction p;

    predict(&model, &where, &p);
    return p.watts.value;
}

static void relative_speeds_go_there_and_back(void **state)
{
    (void)state;
    for (double busy = 0.2; busy <= 1; busy += 0.2)
        for (double full = 0.1; full < 1; full += 0.2) {
            double grows, at = learned_relative_at(log(full), busy);

            assert_true(at >= log(full) - 1e-12);
            assert_near(exp(learned_relative_full(at, busy, &grows)), full, 1e-9);
            assert_true(grows >= 1);
        }
    assert_near(learned_relative_at(log(0.3), 0), 0, 1e-12);
}

static void who_is_asked_for_less_slows_its_neighbours_less(void **state)
{
    (void)state;
    measure_alone();
    assert_true(training_beside(5) > training_beside(20));
    assert_true(training_beside(20) > training_beside(0));
    assert_true(training_beside(1) > 0.9 * TRAINING_ALONE);
}

/* Measured at one demand, believed at others. */
static void a_demand_that_moves_is_followed(void **state)
{
    const struct combination where = together(25);
    /* The service beside training that never rests. */
    const double service_rate = SERVICE_ALONE * FULL;

    (void)state;
    measure_alone();
    absorb(&where, 1, service_rate, NAN);
    absorb(&where, 0, truth(25), NAN);
    assert_near(training_beside(25), truth(25), 0.05 * TRAINING_ALONE);
    assert_near(training_beside(45), truth(45), 0.12 * TRAINING_ALONE);
    assert_near(training_beside(10), truth(10), 0.08 * TRAINING_ALONE);
}

/* The next job of the class profits, whatever its neighbour is asked for. */
static void the_class_is_told_of_full_load(void **state)
{
    const struct combination where = together(25);
    struct job next = training;
    struct combination asked = together(45);
    struct prediction p;

    (void)state;
    measure_alone();
    absorb(&where, 1, SERVICE_ALONE * FULL, NAN);
    absorb(&where, 0, truth(25), NAN);
    next.id = 3;
    model.ops->begin(model.self, &next);
    asked.members[0].job = &next;
    predict(&model, &asked, &p);
    assert_near(p.rate[0].value, truth(45), 0.15 * TRAINING_ALONE);
}

static void watts_go_with_the_demand(void **state)
{
    const struct combination half = service_alone(50);
    double busy = 0.3, seen = power_draw_watts(&types[1], busy);

    (void)state;
    absorb(&half, 0, SERVICE_ALONE, seen);
    assert_near(watts_at(50), seen, 5);
    assert_near(watts_at(100), power_draw_watts(&types[1], 2 * busy), 5);
    assert_near(watts_at(10), power_draw_watts(&types[1], busy / 5), 5);
    assert_near(watts_at(0), watts_at(1000), 1e-9); /* at work all the time */
}

/* Who is hardly asked for anything tells nothing of how it is at work. */
static void a_service_that_rests_teaches_nothing(void **state)
{
    const struct combination resting = service_alone(2);
    double before;

    (void)state;
    measure_alone();
    before = watts_at(100);
    absorb(&resting, 0, SERVICE_ALONE, types[1].idle_watts + 1);
    assert_near(watts_at(100), before, 1e-9);
}

static void a_checkpoint_keeps_how_busy_neighbours_were(void **state)
{
    const struct combination where = together(25);
    struct model again = learned_create(types, 2, &(struct learned_options){.seed = 1});
    unsigned char *bytes;
    size_t count;
    double before;

    (void)state;
    measure_alone();
    absorb(&where, 0, truth(25), NAN);
    before = training_beside(45);
    learned_save(model.self, &bytes, &count);
    assert_int_equal(learned_load(again.self, bytes, count, NULL), 0);
    model.ops->destroy(model.self);
    model = again;
    assert_near(training_beside(45), before, 0.005 * before);
    free(bytes);
}

/* Nobody asks for anything: that is not the same as all it can do. */
static void a_service_nobody_asks_rests(void **state)
{
    struct job_status status = {.job = service, .demand = 0};

    (void)state;
    measure_alone();
    assert_true(requirement_demand(&status) > 0);
    assert_true(training_beside(requirement_demand(&status)) > 0.95 * TRAINING_ALONE);
    status.demand = NAN;
    assert_near(requirement_demand(&status), service.need.rate, 0);
    status.job = training;
    assert_near(requirement_demand(&status), 0, 0);
}

#define load_test(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        load_test(relative_speeds_go_there_and_back),
        load_test(who_is_asked_for_less_slows_its_neighbours_less),
        load_test(a_floor_only_lifts),
        load_test(the_doubt_of_an_observation_is_kept),
        load_test(a_demand_that_moves_is_followed),
        load_test(the_class_is_told_of_full_load),
        load_test(a_service_nobody_asks_rests),
        load_test(watts_go_with_the_demand),
        load_test(a_service_that_rests_teaches_nothing),
        load_test(a_checkpoint_keeps_how_busy_neighbours_were),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
