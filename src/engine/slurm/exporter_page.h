/* exporter_page.h - power and energy on the pages of exporters that sites run on nodes
 *
 *     DCGM_FI_DEV_POWER_USAGE{gpu="0",UUID="GPU-...",Hostname="n1"} 71.2
 *     DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{gpu="0",UUID="GPU-..."} 8812345
 *     node_rapl_package_joules_total{index="0",path="/sys/..."} 1.2e6
 *
 * DCGM's exporter tells watts and millijoules of each GPU, node_exporter joules of
 * processors and memory.  A GPU that stands there twice (parts of it, two exporters)
 * counts once.  What else is on the page is passed over. */
#pragma once

#include <stddef.h>

#define EXPORTER_MOST_GPUS 64

struct exporter_page {
    double gpu_watts[EXPORTER_MOST_GPUS];  /* by index; NaN: not told */
    double gpu_joules[EXPORTER_MOST_GPUS]; /* since its driver was loaded; NaN likewise */
    double host_joules; /* of processors and memory, since the boot; NaN: not told */
};

void exporter_page_init(struct exporter_page *page);
/* More of the same node may follow, from another exporter. */
void exporter_page_read(struct exporter_page *page, const char *text, size_t length);
