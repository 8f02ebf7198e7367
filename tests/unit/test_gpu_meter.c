/* test_gpu_meter.c - joules of intervals: counters, power, jumps, gaps */
#include "gpu/gpu_meter.h"
#include "support/test.h"

#include <math.h>

static const struct gpu_sheet sheet = {.tdp_watts = 300, .idle_watts = 40};

static struct gpu_sample sample_at(double at_s, double watts, double joules)
{
    struct gpu_sample s;

    gpu_sample_clear(&s);
    s.at_s = at_s;
    s.watts = watts;
    s.watts_error = 0.05 * watts;
    s.method = isnan(watts) ? GPU_METHOD_NONE : GPU_METHOD_INSTANT;
    s.energy_joules = joules;
    return s;
}

static bool add(struct gpu_meter *meter, double at_s, double watts, double joules,
                struct gpu_interval *interval)
{
    struct gpu_sample s = sample_at(at_s, watts, joules);

    return gpu_meter_add(meter, &s, interval);
}

CASE(counter_goes_before_power)
{
    struct gpu_meter meter;
    struct gpu_interval interval;

    gpu_meter_init(&meter, &sheet);
    assert_false(add(&meter, 10, 100, 5000, &interval));
    assert_true(add(&meter, 12, 300, 5150, &interval));
    assert_int_equal(interval.method, GPU_METHOD_ENERGY);
    assert_float_equal(interval.joules, 150, 1e-9);
    assert_true(interval.error_joules > 0 && interval.error_joules < 30);
}

CASE(power_is_integrated_by_trapezoids)
{
    struct gpu_meter meter;
    struct gpu_interval interval;

    gpu_meter_init(&meter, &sheet);
    add(&meter, 0, 100, NAN, &interval);
    assert_true(add(&meter, 4, 200, NAN, &interval));
    assert_int_equal(interval.method, GPU_METHOD_INSTANT);
    assert_float_equal(interval.joules, 600, 1e-9);
    /* Power that moved between two readings is less sure than power that stood. */
    assert_true(interval.error_joules > 0.05 * 600);
    assert_true(add(&meter, 8, 200, NAN, &interval));
    assert_float_equal(interval.error_joules, 0.05 * 800, 1e-6);
}

CASE(counter_that_falls_back_is_not_believed)
{
    struct gpu_meter meter;
    struct gpu_interval interval;

    gpu_meter_init(&meter, &sheet);
    add(&meter, 0, 100, 90000, &interval);
    assert_true(add(&meter, 2, 100, 40, &interval)); /* the driver was loaded again */
    assert_int_equal(interval.method, GPU_METHOD_INSTANT);
    assert_float_equal(interval.joules, 200, 1e-9);
    assert_true(add(&meter, 4, 100, 250, &interval)); /* and counts on from there */
    assert_int_equal(interval.method, GPU_METHOD_ENERGY);
    assert_float_equal(interval.joules, 210, 1e-9);
}

CASE(jump_beyond_what_a_card_draws_is_not_believed)
{
    struct gpu_meter meter;
    struct gpu_interval interval;

    gpu_meter_init(&meter, &sheet);
    add(&meter, 0, 100, 0, &interval);
    assert_true(add(&meter, 1, 100, 4294967, &interval));
    assert_int_equal(interval.method, GPU_METHOD_INSTANT);
    assert_float_equal(interval.joules, 100, 1e-9);
    /* Without power there is nothing to put in its place. */
    gpu_meter_init(&meter, &sheet);
    add(&meter, 0, NAN, 0, &interval);
    assert_false(add(&meter, 1, NAN, 4294967, &interval));
    assert_float_equal(meter.gap_s, 1, 1e-9);
    assert_float_equal(meter.total_joules, 0, 1e-9);
}

CASE(frozen_counter_gives_way_to_power)
{
    struct gpu_meter meter;
    struct gpu_interval interval;

    gpu_meter_init(&meter, &sheet);
    add(&meter, 0, 100, 777, &interval);
    assert_true(add(&meter, 20, 100, 777, &interval));
    assert_int_equal(interval.method, GPU_METHOD_INSTANT);
    assert_float_equal(interval.joules, 2000, 1e-9);
}

CASE(gap_is_not_invented)
{
    struct gpu_meter meter;
    struct gpu_interval interval;

    gpu_meter_init(&meter, &sheet);
    add(&meter, 0, 100, NAN, &interval);
    assert_false(add(&meter, 500, 100, NAN, &interval));
    assert_float_equal(meter.gap_s, 500, 1e-9);
    assert_true(add(&meter, 501, 100, NAN, &interval));
    assert_float_equal(meter.total_joules, 100, 1e-9);
    /* A counter bridges it. */
    gpu_meter_init(&meter, &sheet);
    add(&meter, 0, 100, 0, &interval);
    assert_true(add(&meter, 500, 100, 60000, &interval));
    assert_float_equal(meter.total_joules, 60000, 1e-9);
}

CASE(time_that_does_not_pass_ends_nothing)
{
    struct gpu_meter meter;
    struct gpu_interval interval;

    gpu_meter_init(&meter, NULL);
    add(&meter, 5, 100, 0, &interval);
    assert_false(add(&meter, 5, 100, 10, &interval));
    assert_false(add(&meter, 4, 100, 20, &interval));
    assert_false(add(&meter, 6, NAN, NAN, &interval));
    assert_true(add(&meter, 7, 100, 200, &interval));
    assert_float_equal(interval.joules, 200, 1e-9);
}

CASE(modelled_joules_are_told_apart)
{
    struct gpu_meter meter;
    struct gpu_interval interval;
    struct gpu_sample s = sample_at(0, 100, NAN);

    gpu_meter_init(&meter, &sheet);
    gpu_meter_add(&meter, &s, &interval);
    s.at_s = 1;
    s.method = GPU_METHOD_MODEL;
    assert_true(gpu_meter_add(&meter, &s, &interval));
    assert_int_equal(interval.method, GPU_METHOD_MODEL);
}

CASE(bias_adds_up_and_noise_in_squares)
{
    struct gpu_meter meter;
    struct gpu_interval interval;

    gpu_meter_init(&meter, &sheet);
    for (int i = 0; i <= 100; i++)
        add(&meter, i, 100, 100.0 * i, &interval);
    /* Five percent of the whole, and hardly more for a hundred edges. */
    assert_float_equal(meter.total_joules, 10000, 1e-6);
    assert_float_equal(gpu_meter_error(&meter), 500, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counter_goes_before_power),
        cmocka_unit_test(power_is_integrated_by_trapezoids),
        cmocka_unit_test(counter_that_falls_back_is_not_believed),
        cmocka_unit_test(jump_beyond_what_a_card_draws_is_not_believed),
        cmocka_unit_test(frozen_counter_gives_way_to_power),
        cmocka_unit_test(gap_is_not_invented),
        cmocka_unit_test(time_that_does_not_pass_ends_nothing),
        cmocka_unit_test(modelled_joules_are_told_apart),
        cmocka_unit_test(bias_adds_up_and_noise_in_squares),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
