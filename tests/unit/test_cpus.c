/* test_cpus.c - sets of cores as devices, and the config that names them */
#include "engine/local/cpus.h"
#include "engine/local/local.h"
#include "lab/tables/world_check.h"
#include "support/test.h"

#include <string.h>

CASE(lists_of_cores_are_read)
{
    cpu_set_t cores;

    assert_true(cpus_parse_cores("0-3,8", &cores));
    assert_int_equal(CPU_COUNT(&cores), 5);
    assert_true(CPU_ISSET(8, &cores) && !CPU_ISSET(4, &cores));
    assert_true(cpus_parse_cores("5,5,4-6", &cores));
    assert_int_equal(CPU_COUNT(&cores), 3);
}

CASE(what_is_no_list_is_refused)
{
    static const char *const wrong[] = {"",        "a",  "0,",  ",0",    "3-1",
                                        "0-",      "-1", "0 1", "99999", "1;2",
                                        "0-99999", "+1", "0--1"};
    cpu_set_t cores, before;

    CPU_ZERO(&cores);
    CPU_SET(7, &cores);
    before = cores;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_false(cpus_parse_cores(wrong[i], &cores));
    assert_true(CPU_EQUAL(&cores, &before));
}

static struct cpus_device device(const char *type, double quota)
{
    struct cpus_device d;
    struct err err = {0};

    if (cpus_device_init(&d,
                         &(struct cpus_spec){.type = type, .cores = "0", .quota = quota},
                         &err) < 0)
        fail_msg("%s", err.text);
    return d;
}

CASE(a_sheet_is_scaled_by_the_quota)
{
    struct cpus_device fast = device("fast", 1), slow = device("slow", 0.25);
    struct err err = {0};

    assert_true(fast.sheet.fp32_tflops == 4 * slow.sheet.fp32_tflops);
    assert_true(fast.sheet.bandwidth_gbs == 4 * slow.sheet.bandwidth_gbs);
    assert_true(fast.sheet.tdp_watts == 4 * slow.sheet.tdp_watts);
    assert_true(fast.sheet.memory_gb > 0 && fast.sheet.idle_watts < fast.sheet.tdp_watts);
    assert_string_equal(slow.sheet.name, "slow");
    assert_true(cpus_cores(&slow) == 0.25);
    if (gpu_check(&slow.sheet, &err) < 0)
        fail_msg("%s", err.text);
}

CASE(wrong_devices_are_refused_by_name)
{
    const struct cpus_spec wrong[] = {
        {.type = "a b", .cores = "0", .quota = 1},
        {.type = "", .cores = "0", .quota = 1},
        {.type = "this-name-is-much-longer-than-allowed", .cores = "0", .quota = 1},
        {.type = "x", .cores = "zero", .quota = 1},
        {.type = "x", .cores = "1023", .quota = 1},
    };
    struct cpus_device d;

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct err err = {0};

        assert_int_equal(cpus_device_init(&d, &wrong[i], &err), -1);
        assert_int_equal(err.code, ERR_INVALID);
        assert_true(err.text[0] != '\0');
    }
}

CASE(equal_names_must_be_equal)
{
    struct cpus_device a = device("x", 1), b = device("x", 0.5);
    struct err err = {0};

    assert_int_equal(cpus_same_type(&a, &a, &err), 0);
    assert_int_equal(cpus_same_type(&a, &b, &err), -1);
}

static const char config_text[] = "gpus: false\n"
                                  "window: 5s\n"
                                  "output_mb: 10\n"
                                  "cpus:\n"
                                  "  - type: cpu-fast\n"
                                  "    cores: '0'\n"
                                  "  - type: cpu-slow\n"
                                  "    cores: '0'\n"
                                  "    quota: 0.25\n"
                                  "    memory_gb: 2\n";

CASE(a_config_becomes_options)
{
    struct local_engine_options o;
    const struct cpus_spec *cpus;
    struct err err = {0};

    if (config_parse(local_config_keys, &o, sizeof(o), "test", config_text,
                     strlen(config_text), &err) < 0)
        fail_msg("%s", err.text);
    cpus = o.cpus.items;
    assert_false(o.gpus || o.caps);
    assert_true(o.cgroups && o.memory_cgroups);
    assert_int_equal(o.cpus.count, 2);
    assert_string_equal(cpus[1].type, "cpu-slow");
    assert_true(cpus[0].quota == 1 && cpus[1].quota == 0.25);
    assert_true(o.window_s == 5 && o.output_mb == 10 && cpus[1].memory_gb == 2);
    config_fini(local_config_keys, &o);
}

CASE(a_wrong_quota_or_list_in_the_config_is_named)
{
    static const char *const wrong[] = {
        "cpus: [{type: a, cores: '0', quota: 0}]\n",
        "cpus: [{type: a, cores: '0', quota: 1.5}]\n",
        "cpus: [{type: a, cores: '0', memory_gb: -1}]\n",
        "cpus: [{type: a, cores: '0', idle_watts: -1W}]\n",
        "cpus: [{type: a, cores: 'all'}]\n",
        "cpus: [{cores: '0'}]\n",
        "window: 0s\n",
    };

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct local_engine_options o;
        struct err err = {0};

        assert_int_equal(config_parse(local_config_keys, &o, sizeof(o), "test", wrong[i],
                                      strlen(wrong[i]), &err),
                         -1);
        assert_true(err.text[0] != '\0');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_of_cores_are_read),
        cmocka_unit_test(what_is_no_list_is_refused),
        cmocka_unit_test(a_sheet_is_scaled_by_the_quota),
        cmocka_unit_test(wrong_devices_are_refused_by_name),
        cmocka_unit_test(equal_names_must_be_equal),
        cmocka_unit_test(a_config_becomes_options),
        cmocka_unit_test(a_wrong_quota_or_list_in_the_config_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
