/* test_gpu_nvml.c - NVIDIA devices as the fake library pretends them */
#include "fixture/fake_nvml.h"
#include "gpu/gpu_meter.h"
#include "support/test.h"

#include <math.h>

static struct fake_nvml fake;

static struct gpu *open_with(const char *script)
{
    struct gpu *gpu;

    fake_nvml_begin(&fake, script);
    gpu = fake_nvml_open(&fake, 2);
    assert_non_null(gpu);
    fake_nvml_time(&fake, 0);
    return gpu;
}

static void close_all(struct gpu *gpu)
{
    gpu_close(gpu);
    fake_nvml_end(&fake);
}

static struct gpu_sample read_ok(struct gpu *gpu, int device)
{
    struct gpu_sample sample;
    struct err err = {0};

    if (gpu_read(gpu, device, &sample, &err) != GPU_OK)
        fail_msg("%s", err.text);
    return sample;
}

CASE(eight_devices_of_four_generations)
{
    static const char script[] =
        "driver fake-550.1\n"
        "gpu name=\"Tesla K80\" arch=2 device_id=0x102d10de energy=no\n"
        "gpu name=\"Tesla K80\" arch=2 device_id=0x102d10de energy=no\n"
        "gpu name=\"Tesla P100-PCIE-16GB\" arch=4 energy=no\n"
        "gpu name=\"Tesla P100-PCIE-16GB\" arch=4 energy=no\n"
        "gpu name=\"Tesla V100-SXM2-16GB\" arch=5 memory=16384\n"
        "gpu name=\"NVIDIA A100-SXM4-40GB\" arch=7 device_id=0x20b010de\n"
        "gpu name=\"NVIDIA A40\" arch=7 device_id=0x223510de\n"
        "gpu name=\"NVIDIA H100 80GB HBM3\" arch=9 device_id=0x233010de field=yes\n";
    static const char *const sheets[] = {
        "k80", "k80", "p100-16", "p100-16", "v100-sxm2-16", "a100-40", "a40", "h100-sxm"};
    struct gpu *gpu = open_with(script);

    assert_int_equal(gpu_count(gpu), 8);
    for (int i = 0; i < 8; i++) {
        const struct gpu_device *d = gpu_device(gpu, i);

        assert_non_null(d->sheet);
        assert_string_equal(d->sheet->name, sheets[i]);
        assert_string_equal(d->driver, "fake-550.1");
        assert_int_equal(d->has_energy, i >= 4);
        /* GA100 tells the moment, other Amperes and later a mean. */
        assert_int_equal(d->power_method,
                         i < 6 ? GPU_METHOD_INSTANT : GPU_METHOD_AVERAGE);
        assert_int_equal(gpu_find_uuid(gpu, d->uuid), i);
    }
    assert_string_equal(gpu_device(gpu, 0)->pci, "0000:10:00.0");
    assert_float_equal(gpu_device(gpu, 4)->memory_bytes, 16384.0 * (1 << 20), 1);
    close_all(gpu);
}

CASE(sample_tells_what_the_device_tells)
{
    struct gpu *gpu = open_with("gpu name=\"Tesla V100-SXM2-16GB\" limit=300 max=300\n"
                                "power 0 60\npower 10 200\nutil 10 95\nthrottle 10 36\n"
                                "process 4242 2000 60\nprocess 4343 1000 20\n");
    struct gpu_sample s = read_ok(gpu, 0);

    assert_float_equal(s.watts, 60, 0.01);
    assert_int_equal(s.method, GPU_METHOD_INSTANT);
    assert_float_equal(s.watts_error, 3, 0.01);
    fake_nvml_time(&fake, 20);
    s = read_ok(gpu, 0);
    assert_float_equal(s.watts, 200, 0.01);
    assert_float_equal(s.energy_joules, 60 * 10 + 200 * 10, 0.01);
    assert_float_equal(s.utilisation, 0.95, 1e-9);
    assert_float_equal(s.memory_used_bytes, 3000.0 * (1 << 20), 1);
    assert_float_equal(s.temperature_c, 50, 0.5);
    assert_float_equal(s.limit_watts, 300, 0.01);
    assert_int_equal(s.throttle, GPU_THROTTLE_POWER | GPU_THROTTLE_HEAT);
    assert_true(s.processes_known);
    assert_int_equal(s.process_count, 2);
    assert_int_equal(s.processes[0].pid, 4242);
    assert_float_equal(s.processes[0].utilisation, 0.6, 1e-9);
    assert_float_equal(s.processes[1].memory_bytes, 1000.0 * (1 << 20), 1);
    close_all(gpu);
}

CASE(sentinels_never_show)
{
    struct gpu *gpu = open_with("gpu name=\"Tesla V100-SXM2-16GB\"\n"
                                "sentinel nvmlDeviceGetPowerUsage\n"
                                "sentinel nvmlDeviceGetTotalEnergyConsumption\n"
                                "sentinel nvmlDeviceGetUtilizationRates\n"
                                "sentinel nvmlDeviceGetTemperature\n"
                                "sentinel nvmlDeviceGetMemoryInfo\n"
                                "sentinel nvmlDeviceGetPowerManagementLimit\n"
                                "sentinel nvmlDeviceGetEnforcedPowerLimit\n"
                                "sentinel nvmlDeviceGetComputeRunningProcesses_v2\n"
                                "process 77 100 10\n");
    struct gpu_sample s = read_ok(gpu, 0);

    assert_true(isnan(s.energy_joules));
    assert_true(isnan(s.utilisation));
    assert_true(isnan(s.temperature_c));
    assert_true(isnan(s.memory_used_bytes));
    assert_true(isnan(s.limit_watts));
    assert_int_equal(s.process_count, 1);
    assert_true(isnan(s.processes[0].memory_bytes));
    /* Power is there all the same, and says that it is a model. */
    assert_int_equal(s.method, GPU_METHOD_MODEL);
    assert_true(s.watts > 40 && s.watts < 300);
    assert_false(gpu_device(gpu, 0)->has_energy);
    assert_false(gpu_device(gpu, 0)->has_limit);
    assert_int_equal(gpu_device(gpu, 0)->power_method, GPU_METHOD_NONE);
    close_all(gpu);
}

CASE(error_of_one_call_costs_only_its_figure)
{
    struct gpu *gpu = open_with("gpu name=\"Tesla V100-SXM2-16GB\"\npower 0 90\n"
                                "error nvmlDeviceGetTemperature 3\n"
                                "error nvmlDeviceGetUtilizationRates 999\n");
    struct gpu_sample s = read_ok(gpu, 0);

    assert_true(isnan(s.temperature_c));
    assert_true(isnan(s.utilisation));
    assert_float_equal(s.watts, 90, 0.01);
    close_all(gpu);
}

CASE(unplugged_device_is_lost_and_comes_back)
{
    struct gpu *gpu = open_with("gpu name=\"Tesla V100-SXM2-16GB\"\nunplug 10 20\n"
                                "gpu name=\"Tesla V100-SXM2-16GB\"\n");
    struct gpu_sample sample;
    struct err err = {0};

    read_ok(gpu, 0);
    fake_nvml_time(&fake, 12);
    assert_int_equal(gpu_read(gpu, 0, &sample, &err), GPU_LOST);
    assert_non_null(strstr(err.text, "lost"));
    read_ok(gpu, 1);
    assert_int_equal(gpu_rescan(gpu), 2);
    assert_int_equal(gpu_read(gpu, 0, &sample, &err), GPU_LOST);
    read_ok(gpu, 1);
    fake_nvml_time(&fake, 21);
    assert_int_equal(gpu_rescan(gpu), 2);
    read_ok(gpu, 0);
    close_all(gpu);
}

CASE(driver_that_is_reloaded_is_found_again)
{
    struct gpu *gpu = open_with("reload 10 20\ngpu name=\"Tesla V100-SXM2-16GB\"\n"
                                "gpu name=\"Tesla V100-SXM2-16GB\"\n");
    struct gpu_sample sample;
    struct err err = {0};

    fake_nvml_time(&fake, 12);
    assert_int_equal(gpu_read(gpu, 0, &sample, &err), GPU_LOST);
    assert_int_equal(gpu_rescan(gpu), 2);
    assert_int_equal(gpu_read(gpu, 1, &sample, &err), GPU_LOST);
    fake_nvml_time(&fake, 25);
    assert_int_equal(gpu_rescan(gpu), 2);
    read_ok(gpu, 0);
    read_ok(gpu, 1);
    close_all(gpu);
}

CASE(counter_that_jumps_is_metered_by_power)
{
    struct gpu *gpu = open_with("gpu name=\"Tesla V100-SXM2-16GB\"\npower 0 100\n"
                                "jump 2 -150\njump 4 9000000\n");
    struct gpu_meter meter;
    struct gpu_interval interval;
    unsigned by_power = 0;

    gpu_meter_init(&meter, gpu_device(gpu, 0)->sheet);
    for (int second = 20; second < 26; second++) {
        struct gpu_sample s;

        fake_nvml_time(&fake, second - 20);
        s = read_ok(gpu, 0);
        s.at_s = second;
        if (gpu_meter_add(&meter, &s, &interval))
            by_power += interval.method != GPU_METHOD_ENERGY;
    }
    assert_int_equal(by_power, 2);
    assert_float_equal(meter.total_joules, 500, 1);
    close_all(gpu);
}

CASE(mig_instances_are_devices)
{
    struct gpu *gpu =
        open_with("gpu name=\"NVIDIA A100-SXM4-40GB\" arch=7 memory=40960\nmig 3 4864\n"
                  "gpu name=\"Tesla V100-SXM2-16GB\"\n");
    struct gpu_sample s;

    assert_int_equal(gpu_count(gpu), 5);
    assert_true(gpu_device(gpu, 0)->partitioned);
    for (int i = 1; i <= 3; i++) {
        const struct gpu_device *d = gpu_device(gpu, i);

        assert_int_equal(d->kind, GPU_KIND_MIG);
        assert_int_equal(d->parent, 0);
        assert_true(strncmp(d->uuid, "MIG-", 4) == 0);
        assert_float_equal(d->memory_bytes, 4864.0 * (1 << 20), 1);
        s = read_ok(gpu, i);
        assert_true(isnan(s.watts));
        assert_int_equal(s.method, GPU_METHOD_NONE);
    }
    assert_int_equal(gpu_device(gpu, 4)->kind, GPU_KIND_GPU);
    assert_true(isfinite(read_ok(gpu, 0).watts));
    close_all(gpu);
}

CASE(limits_hold_within_their_range)
{
    struct gpu *gpu = open_with(
        "gpu name=\"Tesla V100-SXM2-16GB\" limit=300 min=150 max=300\npower 0 280\n"
        "gpu name=\"Tesla V100-SXM2-16GB\" limit=300 min=150 max=300 setlimit=no\n");
    struct gpu_limit limit;
    struct gpu_sample s;
    struct err err = {0};

    assert_int_equal(gpu_limit(gpu, 0, &limit, &err), GPU_OK);
    assert_float_equal(limit.watts, 300, 0.01);
    assert_float_equal(limit.min_watts, 150, 0.01);
    assert_float_equal(limit.default_watts, 300, 0.01);
    assert_int_equal(gpu_set_limit(gpu, 0, 100, &err), GPU_FAILED);
    assert_int_equal(err.code, ERR_INVALID);
    assert_int_equal(gpu_set_limit(gpu, 0, NAN, &err), GPU_FAILED);
    assert_int_equal(gpu_set_limit(gpu, 0, 200, &err), GPU_OK);
    s = read_ok(gpu, 0);
    assert_float_equal(s.watts, 200, 0.01);
    assert_float_equal(s.limit_watts, 200, 0.01);
    assert_true(s.throttle & GPU_THROTTLE_POWER);
    assert_int_equal(gpu_set_limit(gpu, 1, 200, &err), GPU_DENIED);
    assert_non_null(strstr(err.text, "root"));
    read_ok(gpu, 1);
    close_all(gpu);
}

CASE(missing_library_is_no_error)
{
    struct gpu_options options = {.backends = GPU_BACKEND_NVML,
                                  .nvml_library = "libcorgi-there-is-none.so.1"};
    struct err err = {0};
    struct gpu *gpu = gpu_open(&options, &err);

    assert_non_null(gpu);
    assert_int_equal(gpu_count(gpu), 0);
    assert_non_null(strstr(gpu_remarks(gpu), "nvml: no NVIDIA driver here"));
    gpu_close(gpu);
}

CASE(library_without_a_driver_is_no_error)
{
    struct gpu *gpu;

    fake_nvml_begin(&fake, "");
    unsetenv("CORGI_FAKE_NVML");
    gpu = fake_nvml_open(&fake, 2);
    assert_non_null(gpu);
    assert_int_equal(gpu_count(gpu), 0);
    assert_non_null(strstr(gpu_remarks(gpu), "driver not loaded"));
    close_all(gpu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eight_devices_of_four_generations),
        cmocka_unit_test(sample_tells_what_the_device_tells),
        cmocka_unit_test(sentinels_never_show),
        cmocka_unit_test(error_of_one_call_costs_only_its_figure),
        cmocka_unit_test(unplugged_device_is_lost_and_comes_back),
        cmocka_unit_test(driver_that_is_reloaded_is_found_again),
        cmocka_unit_test(counter_that_jumps_is_metered_by_power),
        cmocka_unit_test(mig_instances_are_devices),
        cmocka_unit_test(limits_hold_within_their_range),
        cmocka_unit_test(missing_library_is_no_error),
        cmocka_unit_test(library_without_a_driver_is_no_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
