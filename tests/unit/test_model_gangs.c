/* test_model_gangs.c - several devices, and services with a promise on latency */
#include "model/queueing.h"
#include "model/gangs.h"
#include "base/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

static struct gangs *create(void)
{
    static struct gpu_sheet types[2];

    types[0] = *gpu_find("p100");
    types[1] = *gpu_find("v100");
    return gangs_create(types);
}

static struct gangs_case make_case(int devices, bool spread)
{
    return (struct gangs_case){.cls = 11,
                               .family = 5,
                               .type = 1,
                               .devices = devices,
                               .spread = spread,
                               .params_millions = 60,
                               .log_rate = log(6)};
}

static void more_devices_give_more_but_ever_less_each(void **state)
{
    struct gangs *s = create();
    double last = 0;

    (void)state;
    for (int devices = 2; devices <= 8; devices *= 2) {
        struct gangs_case near_by = make_case(devices, false), far = near_by;
        double gain = gangs_predict(s, &near_by).mean;

        far.spread = true;
        assert_true(gain > last && gain < log(devices));
        assert_true(gangs_predict(s, &far).mean < gain);
        assert_true(gangs_predict(s, &far).var > 0);
        last = gain;
    }
    gangs_destroy(s);
}

static void one_device_gains_nothing_and_is_sure_of_it(void **state)
{
    struct gangs *s = create();
    struct gangs_case one = make_case(1, false);
    struct gangs_guess g = gangs_predict(s, &one);

    (void)state;
    assert_true(g.mean == 0 && g.var == 0);
    gangs_observe(s, &one, 3, 0.01, 1); /* nothing to learn from */
    assert_true(gangs_predict(s, &one).mean == 0);
    gangs_destroy(s);
}

static void large_models_pay_more_for_the_exchange(void **state)
{
    struct gangs *s = create();
    struct gangs_case small = make_case(4, true), large = small;

    (void)state;
    large.params_millions = 600;
    assert_true(gangs_predict(s, &large).mean < gangs_predict(s, &small).mean - 0.3);
    gangs_destroy(s);
}

static void a_measured_gang_corrects_other_sizes_and_its_family(void **state)
{
    struct gangs *s = create();
    struct gangs_case two = make_case(2, true), eight = make_case(8, true), kin = eight;
    double before = gangs_predict(s, &eight).mean, var = gangs_predict(s, &eight).var;
    double kin_before;

    (void)state;
    kin.cls = 12;
    kin_before = gangs_predict(s, &kin).mean;
    for (int i = 0; i < 4; i++) /* no gain at all from the second device */
        gangs_observe(s, &two, log(1.0), 0.001, 1);
    assert_true(gangs_predict(s, &eight).mean < before - 0.3);
    assert_true(gangs_predict(s, &eight).var < var);
    assert_true(gangs_predict(s, &kin).mean < kin_before - 0.1);
    assert_float_equal(gangs_predict(s, &two).mean, 0, 0.12);
    gangs_destroy(s);
}

/* The 99th percentile of a queue played through. */
static double play_queue(double capacity, int devices, double load)
{
    static double waits[200000];
    double free_s[8] = {0}, now_s = 0, worst = 0;
    size_t count = sizeof(waits) / sizeof(waits[0]), late = 0;
    struct rng rng;

    rng_init(&rng, 9);
    for (size_t i = 0; i < count; i++) {
        int first = 0;

        now_s += rng_exponential(&rng, 1 / load);
        for (int d = 1; d < devices; d++)
            if (free_s[d] < free_s[first])
                first = d;
        free_s[first] = fmax(now_s, free_s[first]) + devices / capacity;
        waits[i] = free_s[first] - now_s;
        worst = fmax(worst, waits[i]);
    }
    for (double low = 0, high = worst;;) { /* bisect the percentile */
        double middle = (low + high) / 2;

        late = 0;
        for (size_t i = 0; i < count; i++)
            late += waits[i] > middle;
        if (high - low < 1e-4 * worst)
            return middle;
        if ((double)late > 0.01 * (double)count)
            low = middle;
        else
            high = middle;
    }
}

static void the_latency_formula_agrees_with_a_queue_played_through(void **state)
{
    (void)state;
    for (int devices = 1; devices <= 4; devices *= 4)
        for (int percent = 30; percent <= 90; percent += 20) {
            double load = percent / 100.0 * 200;
            double said = queueing_latency_s(200, devices, load);

            assert_float_equal(said / play_queue(200, devices, load), 1, 0.2);
        }
}

static void a_rate_within_a_latency_keeps_it(void **state)
{
    double rate = queueing_rate_within(200, 1, 0.03);

    (void)state;
    assert_true(rate > 50 && rate < 200);
    assert_float_equal(queueing_latency_s(200, 1, rate), 0.03, 1e-6);
    assert_true(queueing_rate_within(200, 1, 0.1) > rate);
    assert_true(queueing_rate_within(200, 1, 0.004) == 0); /* one alone takes 5 ms */
    assert_true(queueing_rate_within(0, 1, 1) == 0);
    assert_true(isinf(queueing_latency_s(10, 1, 10)));
}

static void only_services_that_ask_are_limited(void **state)
{
    struct job job = {.kind = JOB_INFERENCE, .devices = 1};
    struct estimate e = {.value = 200, .low = 150, .high = 250};

    (void)state;
    queueing_useful_estimate(&job, &e);
    assert_true(e.value == 200);
    job.need.latency_s = 0.03;
    queueing_useful_estimate(&job, &e);
    assert_true(e.low < e.value && e.value < e.high && e.value < 180);
    job.kind = JOB_TRAINING;
    assert_true(queueing_useful(&job, 7) == 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(more_devices_give_more_but_ever_less_each),
        cmocka_unit_test(one_device_gains_nothing_and_is_sure_of_it),
        cmocka_unit_test(large_models_pay_more_for_the_exchange),
        cmocka_unit_test(a_measured_gang_corrects_other_sizes_and_its_family),
        cmocka_unit_test(the_latency_formula_agrees_with_a_queue_played_through),
        cmocka_unit_test(a_rate_within_a_latency_keeps_it),
        cmocka_unit_test(only_services_that_ask_are_limited),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
