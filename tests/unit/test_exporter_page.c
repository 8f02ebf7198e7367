/* test_exporter_page.c - power on pages of DCGM's exporter and of node_exporter */
#include "engine/slurm/exporter_page.h"

#include "engine/slurm/exporter_scrape.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static struct exporter_page read_text(const char *text)
{
    struct exporter_page page;

    exporter_page_init(&page);
    exporter_page_read(&page, text, strlen(text));
    return page;
}

static void watts_and_joules_of_gpus_are_found_by_their_index(void **state)
{
    struct exporter_page p = read_text(
        "# HELP DCGM_FI_DEV_POWER_USAGE Power draw (in W).\n"
        "# TYPE DCGM_FI_DEV_POWER_USAGE gauge\n"
        "DCGM_FI_DEV_POWER_USAGE{gpu=\"0\",UUID=\"GPU-a\",modelName=\"A100\"} 71.25\n"
        "DCGM_FI_DEV_POWER_USAGE{UUID=\"GPU-b\",gpu=\"3\"} 300 1700000000000\r\n"
        "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{gpu=\"3\",UUID=\"GPU-b\"} 5000\n"
        "DCGM_FI_DEV_GPU_UTIL{gpu=\"1\"} 99\n");

    (void)state;
    assert_true(p.gpu_watts[0] == 71.25 && p.gpu_watts[3] == 300);
    assert_true(isnan(p.gpu_watts[1]));
    assert_true(p.gpu_joules[3] == 5); /* it counts millijoules */
    assert_true(isnan(p.gpu_joules[0]) && isnan(p.host_joules));
}

/* Parts of a GPU stand there with the draw of all of it. */
static void a_gpu_that_stands_there_twice_counts_once(void **state)
{
    static const char again[] = "DCGM_FI_DEV_POWER_USAGE{gpu=\"0\"} 200\n";
    struct exporter_page p =
        read_text("DCGM_FI_DEV_POWER_USAGE{gpu=\"0\",GPU_I_ID=\"1\"} 200\n"
                  "DCGM_FI_DEV_POWER_USAGE{gpu=\"0\",GPU_I_ID=\"2\"} 200\n");

    (void)state;
    exporter_page_read(&p, again, sizeof(again) - 1);
    assert_true(p.gpu_watts[0] == 200);
}

static void processors_and_memory_are_the_host(void **state)
{
    struct exporter_page p =
        read_text("node_rapl_package_joules_total{index=\"0\",path=\"/a b\"} 100\n"
                  "node_rapl_package_joules_total{index=\"1\"} 50\n"
                  "node_rapl_dram_joules_total{index=\"0\"} 7.5\n"
                  "node_rapl_package_joules_total_other 1e9\n");

    (void)state;
    assert_true(p.host_joules == 157.5);
}

static void nonsense_is_passed_over(void **state)
{
    static const char *const lines[] = {
        "DCGM_FI_DEV_POWER_USAGE{gpu=\"64\"} 10",
        "DCGM_FI_DEV_POWER_USAGE{gpu=\"-1\"} 10",
        "DCGM_FI_DEV_POWER_USAGE{gpu=\"x\"} 10",
        "DCGM_FI_DEV_POWER_USAGE{gpu=\"0\"} -10",
        "DCGM_FI_DEV_POWER_USAGE{gpu=\"0\"} 1e9",
        "DCGM_FI_DEV_POWER_USAGE{gpu=\"0\"} NaN",
        "DCGM_FI_DEV_POWER_USAGE{gpu=\"0\"}",
        "DCGM_FI_DEV_POWER_USAGE{gpu=\"0\"} 5 W x",
        "DCGM_FI_DEV_POWER_USAGE 10",
        "node_rapl_package_joules_total -5",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        struct exporter_page p = read_text(lines[i]);

        for (int g = 0; g < EXPORTER_MOST_GPUS; g++)
            if (!isnan(p.gpu_watts[g]) && !(p.gpu_watts[g] == 5))
                fail_msg("'%s' became %g W of GPU %d", lines[i], p.gpu_watts[g], g);
        assert_true(isnan(p.host_joules));
    }
}

static void lists_of_addresses_are_checked(void **state)
{
    (void)state;
    assert_int_equal(exporter_scrape_check("http://{node}:9400/metrics", NULL), 0);
    assert_int_equal(
        exporter_scrape_check("http://{node}:1/a,http://{address}:2/b", NULL), 0);
    assert_int_equal(exporter_scrape_check("https://{node}:1/a", NULL), -1);
    assert_int_equal(exporter_scrape_check("{node}:9400", NULL), -1);
    assert_int_equal(
        exporter_scrape_check("http://a,http://b,http://c,http://d,http://e", NULL), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(watts_and_joules_of_gpus_are_found_by_their_index),
        cmocka_unit_test(a_gpu_that_stands_there_twice_counts_once),
        cmocka_unit_test(processors_and_memory_are_the_host),
        cmocka_unit_test(nonsense_is_passed_over),
        cmocka_unit_test(lists_of_addresses_are_checked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
