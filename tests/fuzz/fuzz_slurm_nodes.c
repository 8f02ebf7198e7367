/* fuzz_slurm_nodes.c - nodes that are taken can be found and make a cluster file */
#include "fuzz/fuzz.h"

#include "fixture/text_file.h"
#include "base/str.h"
#include "engine/sim/cluster_file.h"
#include "lab/traces/slurm_guess.h"

#include <stdlib.h>

static void check_node(const struct slurm_nodes *nodes, const struct slurm_node *node)
{
    if (!node->name[0] || slurm_nodes_find(nodes, node->name) != node)
        abort();
    for (int k = 0; k < node->kinds; k++)
        if (!node->card[k] || node->gpus[k] < 1 || node->gpus[k] > SLURM_NODE_GPUS)
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slurm_nodes nodes = {0};
    struct cluster *cluster = NULL;
    struct str yaml = {0};
    struct err err = {0};

    if (slurm_nodes_load(&nodes, text_file_of("fuzz", data, size), "gpu=l4", &err) < 0) {
        if (nodes.nodes || !err.text[0])
            abort();
        return 0;
    }
    for (size_t i = 0; i < nodes.count; i++)
        check_node(&nodes, &nodes.nodes[i]);
    slurm_guess_from_nodes(&yaml, &nodes);
    /* Too many of them is the one thing a text of nodes may be refused for. */
    if (cluster_file_parse(&cluster, str_text(&yaml), yaml.length, "fuzz", &err) < 0 &&
        err.code != ERR_LIMIT && nodes.count < 5000)
        abort();
    cluster_destroy(cluster);
    str_fini(&yaml);
    slurm_nodes_fini(&nodes);
    return 0;
}
