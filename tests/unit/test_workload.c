/* test_workload.c - generated requests: as many as the load asks for, as the seed says */
#include "lab/traces/workload.h"

#include "lab/sim/scenario.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "fixture/sim.h"

#define DAY_S 86400.0

static struct world *world;
static const int devices[] = {20, 20};

static struct workload *generate(struct workload_options o)
{
    return workload_generate(&o, world, devices);
}

static int set_up(void **state)
{
    (void)state;
    world = fixture_world();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    world_destroy(world);
    return 0;
}

/* Seconds from the second to the fifth day of a job that arrives within the five, on
 * average over many arrivals. */
static double in_window(double seconds)
{
    double sum = 0;

    for (int i = 0; i < 500; i++) {
        double from = (i + 0.5) / 500 * 5 * DAY_S;

        sum += fmax(0, fmin(from + seconds, 5 * DAY_S) - fmax(from, DAY_S));
    }
    return sum / 500;
}

/* Device-seconds of a request on a device drawn at random, as the header defines load. */
static double device_seconds(const struct sim_request *r)
{
    double slow = r->steps / *world_alone(world, FIXTURE_K80, r->cls);
    double fast = r->steps / *world_alone(world, FIXTURE_V100, r->cls);
    double seconds = r->job.kind == JOB_TRAINING ? (in_window(slow) + in_window(fast)) / 2
                                                 : in_window(r->serve_s);

    return seconds * r->job.devices;
}

static void the_load_asked_for_is_reached(void **state)
{
    static const double loads[] = {0.3, 0.9};

    (void)state;
    for (int i = 0; i < 2; i++) {
        for (int inference = 0; inference < 2; inference++) {
            struct workload *w =
                generate((struct workload_options){.load = loads[i],
                                                   .days = 200,
                                                   .inference = 0.5 * inference,
                                                   .several_gpus = 0.2,
                                                   .diurnal = inference,
                                                   .seed = 3});
            double sum = 0;

            for (size_t k = 0; k < w->count; k++)
                sum += device_seconds(&w->requests[k]);
            /* Requests of five days, in the four of them that count. */
            assert_near(sum * 5 / 200 / (40 * 4 * DAY_S), loads[i], 0.08 * loads[i]);
            workload_destroy(w);
        }
    }
}

/* Every service asks for a latency that the reference GPU keeps at the peak. */
static void services_ask_for_a_latency(void **state)
{
    struct workload *w = generate(
        (struct workload_options){.load = 0.5, .days = 20, .inference = 0.5, .seed = 2});
    int services = 0;

    (void)state;
    for (size_t i = 0; i < w->count; i++) {
        const struct sim_request *r = &w->requests[i];
        double asked = r->job.need.latency_s /
                       request_latency(r, r->reference_rate, r->peak_rate).late_s;

        if (r->job.kind == JOB_TRAINING) {
            assert_true(r->job.need.latency_s == 0);
            continue;
        }
        services++;
        assert_true(asked > 4.99 && asked < 20.01);
    }
    assert_true(services > 50);
    workload_destroy(w);
}

static void requests_come_in_order_with_ids_from_one(void **state)
{
    struct workload *w = generate((struct workload_options){
        .load = 0.5, .days = 60, .inference = 0.3, .several_gpus = 0.2, .seed = 1});
    int services = 0, gangs = 0;

    (void)state;
    assert_true(w->count > 500);
    for (size_t i = 0; i < w->count; i++) {
        const struct sim_request *r = &w->requests[i];

        assert_int_equal(r->job.id, i + 1);
        assert_true(i == 0 || r->job.submitted_s >= r[-1].job.submitted_s);
        assert_true(r->job.submitted_s <= 60 * DAY_S);
        assert_int_equal(r->job.devices, world->classes[r->cls].scale);
        assert_true(r->job.need.rate >= 0.149 * r->reference_rate);
        assert_true(r->job.need.rate <= 0.701 * r->reference_rate);
        services += r->job.kind == JOB_INFERENCE;
        gangs += r->job.devices > 1;
    }
    assert_near(services / (double)w->count, 0.3, 0.06);
    assert_near(gangs / (double)w->count, 0.2, 0.06);
    assert_near(w->last_arrival_s, w->requests[w->count - 1].job.submitted_s, 0);
    workload_destroy(w);
    workload_destroy(NULL);
}

static void the_same_seed_gives_the_same_bytes(void **state)
{
    const struct workload_options o = {
        .load = 0.5, .days = 3, .inference = 0.3, .several_gpus = 0.1, .seed = 5};
    struct workload_options changed = o;
    struct workload *a = generate(o), *b = generate(o), *c;

    (void)state;
    assert_int_equal(a->count, b->count);
    assert_memory_equal(a->requests, b->requests, a->count * sizeof(*a->requests));
    changed.seed = 6;
    c = generate(changed);
    assert_true(c->requests[0].job.submitted_s != a->requests[0].job.submitted_s);
    assert_true(c->requests[0].hidden != a->requests[0].hidden);
    workload_destroy(a);
    workload_destroy(b);
    workload_destroy(c);
}

/* A higher load brings the same jobs closer together, so loads can be compared. */
static void another_load_has_the_same_jobs_first(void **state)
{
    struct workload *a =
        generate((struct workload_options){.load = 0.3, .days = 3, .seed = 5});
    struct workload *b =
        generate((struct workload_options){.load = 0.9, .days = 3, .seed = 5});

    (void)state;
    assert_true(b->count > 2 * a->count);
    for (size_t i = 0; i < a->count; i++) {
        assert_true(a->requests[i].hidden == b->requests[i].hidden);
        assert_near(a->requests[i].job.submitted_s / b->requests[i].job.submitted_s, 3,
                    1e-9);
    }
    workload_destroy(a);
    workload_destroy(b);
}

static void diurnal_arrivals_follow_the_day(void **state)
{
    struct workload *w = generate(
        (struct workload_options){.load = 0.9, .days = 100, .diurnal = true, .seed = 2});
    double noon = 0, midnight = 0;

    (void)state;
    for (size_t i = 0; i < w->count; i++) {
        double hour = fmod(w->requests[i].job.submitted_s, DAY_S) / 3600;

        noon += hour >= 10 && hour < 14;
        midnight += hour < 2 || hour >= 22;
    }
    assert_true(midnight > 0);
    assert_near(noon / midnight, 3, 0.5);
    workload_destroy(w);
}

static void tight_requirements_are_higher(void **state)
{
    struct workload *w = generate(
        (struct workload_options){.load = 0.5, .days = 20, .tight = true, .seed = 1});

    (void)state;
    for (size_t i = 0; i < w->count; i++) {
        double share = w->requests[i].job.need.rate / w->requests[i].reference_rate;

        assert_true(share > 0.49 && share < 0.91);
    }
    workload_destroy(w);
}

static void a_new_family_comes_half_way_and_then_often(void **state)
{
    struct workload *w = generate((struct workload_options){
        .load = 0.9, .days = 60, .new_family = true, .seed = 1});
    size_t late[FIXTURE_PAIR + 1] = {0}, early[FIXTURE_PAIR + 1] = {0}, late_all = 0;
    int newcomers = 0;

    (void)state;
    for (size_t i = 0; i < w->count; i++) {
        bool is_late = w->requests[i].job.submitted_s >= 30 * DAY_S;

        late_all += is_late;
        (is_late ? late : early)[w->requests[i].base]++;
    }
    for (int c = 0; c < FIXTURE_PAIR; c++) {
        if (early[c] > 0)
            continue;
        newcomers++;
        assert_near((double)late[c] / (double)late_all, 0.3, 0.06);
    }
    assert_int_equal(newcomers, 1);
    workload_destroy(w);
}

static void the_limit_cuts_the_list(void **state)
{
    struct workload_options o = {.load = 0.9, .days = 100, .seed = 2, .limit = 17};
    struct workload *w = generate(o);

    (void)state;
    assert_int_equal(w->count, 17);
    workload_destroy(w);
    o.days = 1e-9;
    w = generate(o);
    assert_int_equal(w->count, 0);
    workload_destroy(w);
}

static void a_service_s_demand_moves_within_its_peak(void **state)
{
    const struct sim_request r = {.peak_rate = 50, .phase = 1};
    double least = INFINITY, most = 0;

    (void)state;
    for (double at_s = 0; at_s < 3 * DAY_S; at_s += 60) {
        double demand = request_demand(&r, at_s);

        least = fmin(least, demand);
        most = fmax(most, demand);
    }
    assert_true(least > 0 && least < 25);
    assert_true(most <= 50 && most > 45);
}

static void the_reference_is_the_fastest_card_on_average(void **state)
{
    (void)state;
    assert_int_equal(request_reference_gpu(world), FIXTURE_V100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_load_asked_for_is_reached),
        cmocka_unit_test(services_ask_for_a_latency),
        cmocka_unit_test(requests_come_in_order_with_ids_from_one),
        cmocka_unit_test(the_same_seed_gives_the_same_bytes),
        cmocka_unit_test(another_load_has_the_same_jobs_first),
        cmocka_unit_test(diurnal_arrivals_follow_the_day),
        cmocka_unit_test(tight_requirements_are_higher),
        cmocka_unit_test(a_new_family_comes_half_way_and_then_often),
        cmocka_unit_test(the_limit_cuts_the_list),
        cmocka_unit_test(a_service_s_demand_moves_within_its_peak),
        cmocka_unit_test(the_reference_is_the_fastest_card_on_average),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
