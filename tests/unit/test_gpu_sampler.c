/* test_gpu_sampler.c - readings from the sampler's thread lose no energy */
#include "fixture/fake_nvml.h"
#include "gpu/gpu_meter.h"

#include "base/log.h"
#include "support/test.h"

#include <math.h>
#include <poll.h>

static struct fake_nvml fake;

/* Wait for the next reading of a device, whatever else comes. */
static struct gpu_reading next_of(struct gpu_sampler *sampler, int device)
{
    struct gpu_reading reading;

    for (;;) {
        struct pollfd p = {.fd = gpu_sampler_fd(sampler), .events = POLLIN};

        assert_int_equal(poll(&p, 1, 60000), 1);
        while (gpu_sampler_take(sampler, &reading))
            if (reading.device == device)
                return reading;
    }
}

CASE(intervals_add_up_to_the_counter)
{
    struct err err = {0};
    struct gpu_sampler *sampler;
    struct gpu *gpu;
    double sum = 0, last = 0, first_joules = 0, last_joules = 0;

    fake_nvml_begin(&fake, "gpu name=\"Tesla V100-SXM2-16GB\"\npower 0 200\n"
                           "gpu name=\"Tesla K80\" energy=no\npower 0 90\n");
    gpu = fake_nvml_open(&fake, 2);
    sampler = gpu_sampler_start(gpu, 0.05, &err);
    assert_non_null(sampler);
    for (int i = 0; i < 12; i++) {
        struct gpu_reading r = next_of(sampler, 0);

        assert_int_equal(r.status, GPU_OK);
        last_joules = r.sample.energy_joules;
        if (i == 0)
            first_joules = last_joules;
        if (i == 0 || !r.has_interval)
            continue;
        if (last > 0) /* each begins where the last ended */
            assert_float_equal(r.interval.from_s, last, 1e-12);
        last = r.interval.to_s;
        sum += r.interval.joules;
        assert_int_equal(r.interval.method, GPU_METHOD_ENERGY);
        if (i < 5)
            usleep(150000); /* slower than the sampler: readings grow */
    }
    assert_true(sum > 0);
    assert_float_equal(last_joules - first_joules, sum, 1e-6);
    gpu_sampler_stop(sampler);
    gpu_close(gpu);
    fake_nvml_end(&fake);
}

CASE(loss_and_return_are_told_once)
{
    struct err err = {0};
    struct gpu_sampler *sampler;
    struct gpu_reading r;
    struct gpu *gpu;

    fake_nvml_begin(&fake, "gpu name=\"Tesla V100-SXM2-16GB\"\nunplug 100 200\ngpu\n");
    gpu = fake_nvml_open(&fake, 2);
    fake_nvml_time(&fake, 0);
    sampler = gpu_sampler_start(gpu, 0.02, &err);
    assert_int_equal(next_of(sampler, 0).status, GPU_OK);
    fake_nvml_time(&fake, 150);
    do
        r = next_of(sampler, 0);
    while (r.status == GPU_OK);
    assert_int_equal(r.status, GPU_LOST);
    assert_true(r.err.text[0]);
    fake_nvml_time(&fake, 250);
    /* The sampler looks for it by itself; not a second time LOST before that. */
    assert_int_equal(next_of(sampler, 0).status, GPU_OK);
    gpu_sampler_stop(sampler);
    gpu_close(gpu);
    fake_nvml_end(&fake);
}

CASE(period_must_be_sensible)
{
    struct gpu_options options = {.backends = GPU_BACKEND_AMD, .sysfs = "/nowhere"};
    struct err err = {0};
    struct gpu *gpu = gpu_open(&options, &err);

    assert_null(gpu_sampler_start(gpu, 0, &err));
    assert_null(gpu_sampler_start(gpu, NAN, &err));
    assert_int_equal(err.code, ERR_INVALID);
    gpu_close(gpu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(intervals_add_up_to_the_counter),
        cmocka_unit_test(loss_and_return_are_told_once),
        cmocka_unit_test(period_must_be_sensible),
    };

    log_setup(stderr, LOG_LEVEL_ERROR, LOG_FORMAT_TEXT, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
