/* test_gpu_sysfs.c - AMD cards, processor packages and the model, from trees of files */
#include "fixture/fake_nvml.h"

#include "gpu/gpu_devices.h"
#include "gpu/gpu_meter.h"
#include "gpu/sysfs.h"

#include "base/file.h"
#include "base/mem.h"
#include "support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[64];

static void put(const char *path, const char *text)
{
    char *whole = file_join(root, path);
    char *folder = mem_strdup(whole);
    struct err err = {0};
    FILE *f;

    *strrchr(folder, '/') = '\0';
    assert_int_equal(file_make_dirs(folder, &err), 0);
    f = fopen(whole, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    free(folder);
    free(whole);
}

static int make_root(void **state)
{
    (void)state;
    strcpy(root, "/tmp/corgi-sysfs-XXXXXX");
    return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
    char command[96];

    (void)state;
    snprintf(command, sizeof(command), "rm -rf '%s'", root);
    return system(command);
}

static struct gpu *open_root(unsigned backends)
{
    struct gpu_options options = {.backends = backends, .sysfs = root, .proc = root};
    struct err err = {0};
    struct gpu *gpu = gpu_open(&options, &err);

    assert_non_null(gpu);
    return gpu;
}

static struct gpu_sample read_ok(struct gpu *gpu, int device)
{
    struct gpu_sample sample;
    struct err err = {0};

    if (gpu_read(gpu, device, &sample, &err) != GPU_OK)
        fail_msg("%s", err.text);
    return sample;
}

#define CARD "class/drm/card1/device/"
#define MON  CARD "hwmon/hwmon5/"

static void put_card(void)
{
    put("class/drm/card0/device/vendor", "0x1a03\n"); /* the board's own display */
    put("class/drm/card1-DP-1/status", "connected\n");
    put(CARD "vendor", "0x1002\n");
    put(CARD "uevent", "DRIVER=amdgpu\nPCI_SLOT_NAME=0000:63:00.0\n");
    put(CARD "unique_id", "5f1c2a3b4d5e6f70\n");
    put(CARD "product_name", "AMD Instinct MI210\n");
    put(CARD "gpu_busy_percent", "87\n");
    put(CARD "mem_info_vram_total", "68702699520\n");
    put(CARD "mem_info_vram_used", "2147483648\n");
    put(MON "power1_average", "212000000\n");
    put(MON "power1_cap", "300000000\n");
    put(MON "power1_cap_min", "0\n");
    put(MON "power1_cap_max", "300000000\n");
    put(MON "power1_cap_default", "300000000\n");
    put(MON "temp1_input", "61000\n");
    put("class/kfd/kfd/topology/nodes/0/properties", "location_id 0\ndomain 0\n");
    put("class/kfd/kfd/topology/nodes/0/gpu_id", "0\n");
    put("class/kfd/kfd/topology/nodes/1/properties", "domain 0\nlocation_id 25344\n");
    put("class/kfd/kfd/topology/nodes/1/gpu_id", "51110\n");
    put("class/kfd/kfd/proc/4711/vram_51110", "1073741824\n");
    put("class/kfd/kfd/proc/4712/vram_51110", "0\n");
    put("class/kfd/kfd/proc/4713/vram_9", "5\n");
}

CASE(amd_card_is_read_from_its_files)
{
    const struct gpu_device *device;
    struct gpu_sample s;
    struct gpu *gpu;

    put_card();
    gpu = open_root(GPU_BACKEND_AMD);
    assert_int_equal(gpu_count(gpu), 1);
    device = gpu_device(gpu, 0);
    assert_string_equal(device->uuid, "GPU-5f1c2a3b4d5e6f70");
    assert_string_equal(device->pci, "0000:63:00.0");
    assert_string_equal(device->sheet->name, "mi210");
    assert_float_equal(device->memory_bytes, 68702699520.0, 1);
    assert_true(device->has_limit);
    s = read_ok(gpu, 0);
    assert_float_equal(s.watts, 212, 0.001);
    assert_int_equal(s.method, GPU_METHOD_AVERAGE);
    assert_float_equal(s.utilisation, 0.87, 1e-9);
    assert_float_equal(s.temperature_c, 61, 1e-9);
    assert_float_equal(s.limit_watts, 300, 1e-9);
    assert_int_equal(s.process_count, 1);
    assert_int_equal(s.processes[0].pid, 4711);
    assert_float_equal(s.processes[0].memory_bytes, 1073741824.0, 1);
    gpu_close(gpu);
}

CASE(newer_amd_card_tells_the_moment)
{
    struct gpu_sample s;
    struct gpu *gpu;

    put_card();
    assert_int_equal(chdir(root), 0);
    assert_int_equal(unlink(MON "power1_average"), 0);
    put(MON "power1_input", "199000000\n");
    gpu = open_root(GPU_BACKEND_AMD);
    s = read_ok(gpu, 0);
    assert_int_equal(s.method, GPU_METHOD_INSTANT);
    assert_float_equal(s.watts, 199, 1e-9);
    /* No power at all, or nonsense: the model steps in and says so. */
    put(MON "power1_input", "18446744073709551615\n");
    s = read_ok(gpu, 0);
    assert_int_equal(s.method, GPU_METHOD_MODEL);
    assert_true(s.watts > 200 && s.watts < 300);
    put(MON "power1_input", "lots\n");
    assert_int_equal(read_ok(gpu, 0).method, GPU_METHOD_MODEL);
    assert_int_equal(chdir("/"), 0);
    gpu_close(gpu);
}

/* The library adds its energy counter to what the files tell; the rest stays theirs. */
CASE(rocm_library_adds_energy)
{
    struct gpu_options options = {.backends = GPU_BACKEND_AMD, .sysfs = root};
    struct gpu_sample before, after;
    struct err err = {0};
    char library[512];
    struct gpu *gpu;

    put_card();
    fake_find(library, sizeof(library), "librocm_smi64.so.7");
    options.rocm_library = library;
    gpu = gpu_open(&options, &err);
    assert_int_equal(gpu_count(gpu), 1);
    assert_string_equal(gpu_device(gpu, 0)->backend, "amd");
    assert_true(gpu_device(gpu, 0)->has_energy);
    before = read_ok(gpu, 0);
    after = read_ok(gpu, 0);
    assert_float_equal(after.watts, 212, 1e-6);
    assert_float_equal(after.energy_joules - before.energy_joules, 0.0153, 1e-6);
    gpu_close(gpu);
}

/* Where sysfs shows no card the library does all of it. */
CASE(rocm_library_alone_is_enough)
{
    struct gpu_options options = {.backends = GPU_BACKEND_AMD, .sysfs = root};
    struct gpu_limit limit;
    struct err err = {0};
    struct gpu_sample s;
    char library[512];
    struct gpu *gpu;

    fake_find(library, sizeof(library), "librocm_smi64.so.7");
    options.rocm_library = library;
    gpu = gpu_open(&options, &err);
    assert_int_equal(gpu_count(gpu), 1);
    assert_string_equal(gpu_device(gpu, 0)->uuid, "GPU-5f1c2a3b4d5e6f70");
    assert_string_equal(gpu_device(gpu, 0)->pci, "0000:63:00.0");
    s = read_ok(gpu, 0);
    assert_float_equal(s.watts, 150, 1e-6);
    assert_float_equal(s.utilisation, 0.33, 1e-9);
    assert_int_equal(gpu_set_limit(gpu, 0, 50, &err), GPU_FAILED);
    assert_int_equal(gpu_set_limit(gpu, 0, 200, &err), GPU_OK);
    assert_int_equal(gpu_limit(gpu, 0, &limit, &err), GPU_OK);
    assert_float_equal(limit.watts, 200, 1e-6);
    gpu_close(gpu);
}

CASE(amd_limit_is_written_within_the_range)
{
    struct gpu_limit limit;
    struct err err = {0};
    double microwatts;
    struct gpu *gpu;

    put_card();
    gpu = open_root(GPU_BACKEND_AMD);
    assert_int_equal(gpu_limit(gpu, 0, &limit, &err), GPU_OK);
    assert_float_equal(limit.min_watts, 100, 1e-9); /* the sheet's: the driver says 0 */
    assert_int_equal(gpu_set_limit(gpu, 0, 50, &err), GPU_FAILED);
    assert_int_equal(gpu_set_limit(gpu, 0, 220, &err), GPU_OK);
    {
        char *folder = file_join(root, MON);

        assert_int_equal(sysfs_number(folder, "power1_cap", &microwatts), GPU_OK);
        free(folder);
    }
    assert_float_equal(microwatts, 220e6, 1);
    gpu_close(gpu);
}

CASE(amd_card_that_vanishes_is_lost)
{
    char command[160];
    struct gpu_sample sample;
    struct err err = {0};
    struct gpu *gpu;

    put_card();
    gpu = open_root(GPU_BACKEND_AMD);
    read_ok(gpu, 0);
    snprintf(command, sizeof(command), "rm -rf '%s/class/drm/card1'", root);
    assert_int_equal(system(command), 0);
    assert_int_equal(gpu_read(gpu, 0, &sample, &err), GPU_LOST);
    gpu_rescan(gpu);
    assert_int_equal(gpu_read(gpu, 0, &sample, &err), GPU_LOST);
    put_card();
    assert_int_equal(gpu_rescan(gpu), 1);
    read_ok(gpu, 0);
    gpu_close(gpu);
}

static void put_packages(void)
{
    put("class/powercap/intel-rapl:0/name", "package-0\n");
    put("class/powercap/intel-rapl:0/max_energy_range_uj", "1000000000\n");
    put("class/powercap/intel-rapl:0/energy_uj", "999900000\n");
    put("class/powercap/intel-rapl:0:0/name", "core\n");
    put("class/powercap/intel-rapl:0:0/energy_uj", "1\n");
    put("class/powercap/intel-rapl:0:1/name", "dram\n");
    put("class/powercap/intel-rapl:0:1/max_energy_range_uj", "65712999613\n");
    put("class/powercap/intel-rapl:0:1/energy_uj", "500\n");
    put("class/powercap/intel-rapl:1/name", "psys\n");
    put("class/powercap/intel-rapl:1/energy_uj", "7\n");
}

CASE(package_wraps_and_counts_its_memory)
{
    struct gpu_sample before, after;
    struct gpu *gpu;

    put_packages();
    gpu = open_root(GPU_BACKEND_RAPL | GPU_BACKEND_NONE);
    assert_int_equal(gpu_count(gpu),
                     1); /* psys overlaps, and there is no need of a model */
    assert_string_equal(gpu_device(gpu, 0)->uuid, "cpu-package-0");
    before = read_ok(gpu, 0);
    put("class/powercap/intel-rapl:0/energy_uj", "300000\n"); /* over the top: 400 mJ */
    put("class/powercap/intel-rapl:0:1/energy_uj", "100500\n");
    after = read_ok(gpu, 0);
    assert_float_equal(after.energy_joules - before.energy_joules, 0.5, 1e-6);
    assert_int_equal(after.method, GPU_METHOD_ENERGY);
    assert_true(after.watts > 0);
    gpu_close(gpu);
}

CASE(package_that_jumps_is_not_believed)
{
    struct gpu_meter meter;
    struct gpu_interval interval;
    struct gpu_sample s;
    struct gpu *gpu;

    put_packages();
    gpu = open_root(GPU_BACKEND_RAPL);
    gpu_meter_init(&meter, NULL);
    s = read_ok(gpu, 0);
    gpu_meter_add(&meter, &s, &interval);
    put("class/powercap/intel-rapl:0/energy_uj", "999999000\n");
    s = read_ok(gpu, 0);
    assert_true(gpu_meter_add(&meter, &s, &interval));
    put("class/powercap/intel-rapl:0/energy_uj", "900000000\n"); /* 900 J in no time */
    s = read_ok(gpu, 0);
    assert_false(gpu_meter_add(&meter, &s, &interval));
    assert_true(meter.gap_s > 0);
    assert_true(meter.total_joules < 1);
    gpu_close(gpu);
}

CASE(denied_counter_is_said_clearly)
{
    bool as_root = geteuid() == 0;
    char *file;
    struct gpu_sample sample;
    struct err err = {0};
    struct gpu *gpu;

    put_packages();
    put("stat", "cpu  100 0 100 800 0 0 0 0 0 0\n");
    put("cpuinfo", "processor : 0\nmodel name : Fake CPU 3000\n");
    file = file_join(root, "class/powercap/intel-rapl:0/energy_uj");
    assert_int_equal(chmod(file, 0), 0);
    /* Root may read everything: be nobody for a while. */
    if (as_root)
        assert_true(chmod(root, 0755) == 0 && seteuid(65534) == 0);
    gpu = open_root(GPU_BACKEND_RAPL | GPU_BACKEND_NONE);
    assert_int_equal(gpu_count(gpu), 2);
    assert_int_equal(gpu_device(gpu, 0)->status, GPU_DENIED);
    assert_non_null(strstr(gpu_device(gpu, 0)->note, "root"));
    assert_int_equal(gpu_read(gpu, 0, &sample, &err), GPU_DENIED);
    assert_non_null(strstr(err.text, "energy_uj"));
    assert_string_equal(gpu_device(gpu, 1)->name, "Fake CPU 3000");
    gpu_close(gpu);
    if (as_root)
        assert_int_equal(seteuid(0), 0);
    chmod(file, 0600);
    free(file);
}

CASE(model_says_that_it_is_one)
{
    struct gpu_sample busy, idle;
    struct gpu *gpu;

    put("stat", "cpu  100 0 100 800 0 0 0 0 0 0\ncpu0 1 2 3\n");
    gpu = open_root(GPU_BACKEND_RAPL | GPU_BACKEND_NONE);
    assert_int_equal(gpu_count(gpu), 1);
    assert_string_equal(gpu_device(gpu, 0)->uuid, "cpu-model");
    assert_non_null(strstr(gpu_device(gpu, 0)->note, "model"));
    put("stat", "cpu  1000 0 100 900 0 0 0 0 0 0\n"); /* 900 of 1000 ticks busy */
    busy = read_ok(gpu, 0);
    assert_int_equal(busy.method, GPU_METHOD_MODEL);
    assert_float_equal(busy.utilisation, 0.9, 1e-9);
    put("stat", "cpu  1000 0 100 1900 0 0 0 0 0 0\n");
    idle = read_ok(gpu, 0);
    assert_float_equal(idle.utilisation, 0, 1e-9);
    assert_true(idle.watts < busy.watts);
    assert_true(idle.watts_error > 0.3 * idle.watts);
    gpu_close(gpu);
}

CASE(numbers_are_read_strictly)
{
    double value = -7;

    assert_true(sysfs_parse_number("0x1002", &value));
    assert_float_equal(value, 0x1002, 0);
    assert_true(sysfs_parse_number("-40000", &value));
    assert_float_equal(value, -40000, 0);
    assert_false(sysfs_parse_number("", &value));
    assert_false(sysfs_parse_number("0x", &value));
    assert_false(sysfs_parse_number("12 W", &value));
    assert_false(sysfs_parse_number("nan", &value));
    assert_false(sysfs_parse_number("1e5", &value));
    assert_false(sysfs_parse_number("111111111111111111111", &value));
    assert_float_equal(value, -40000, 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, make_root, remove_root)
    const struct CMUnitTest tests[] = {
        TEST(amd_card_is_read_from_its_files),
        TEST(newer_amd_card_tells_the_moment),
        TEST(rocm_library_adds_energy),
        TEST(rocm_library_alone_is_enough),
        TEST(amd_limit_is_written_within_the_range),
        TEST(amd_card_that_vanishes_is_lost),
        TEST(package_wraps_and_counts_its_memory),
        TEST(package_that_jumps_is_not_believed),
        TEST(denied_counter_is_said_clearly),
        TEST(model_says_that_it_is_one),
        cmocka_unit_test(numbers_are_read_strictly),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
