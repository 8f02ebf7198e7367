/* fuzz_cluster.c - a cluster file that is taken gives nodes with GPUs and sane watts */
#include "fuzz/fuzz.h"

#include "loop/cluster.h"
#include "engine/sim/cluster_file.h"

#include <math.h>
#include <stdlib.h>

static bool is_sane(const struct node *node)
{
    return node->device_count >= 1 && node->host_watts >= 0 && node->sleep_watts >= 0 &&
           node->wake_s >= 0 && isfinite(node->host_watts + node->sleep_watts) &&
           isfinite(node->wake_s) && node->name[0];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cluster *cluster = NULL;
    struct err err = {0};

    if (cluster_file_parse(&cluster, (const char *)data, size, "fuzz", &err) < 0) {
        if (cluster || !err.text[0])
            abort();
        return 0;
    }
    if (cluster->node_count < 1 || cluster->node_count > CLUSTER_MAX_NODES ||
        cluster->device_count > CLUSTER_MAX_DEVICES)
        abort();
    for (int n = 0; n < cluster->node_count; n++)
        if (!is_sane(&cluster->nodes[n]))
            abort();
    for (int d = 0; d < cluster->device_count; d++)
        if (cluster->devices[d].type < 0 ||
            cluster->devices[d].type >= cluster->type_count)
            abort();
    cluster_destroy(cluster);
    return 0;
}
