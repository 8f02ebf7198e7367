/* fuzz_slurm_nodes.c - nodes that are taken can be found and make a cluster file */
#include "fuzz/fuzz.h"

#include "fixture/text_file.h"
#include "lab/traces/slurm.h"

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
    struct slurm_job job = {
        .arrival = {.devices = 1, .duration_s = 1, .ran_on = "l4", .nodes = 1}};
    struct slurm_jobs jobs = {.count = 1, .jobs = &job};
    const struct slurm_options options = {.jobs = "jobs", .nodes = "fuzz"};
    struct slurm_nodes nodes = {0};
    struct slurm slurm = {0};
    struct err err = {0};

    if (slurm_nodes_load(&nodes, text_file_of("fuzz", data, size), "gpu=l4", &err) < 0) {
        if (nodes.nodes || !err.text[0])
            abort();
        return 0;
    }
    for (size_t i = 0; i < nodes.count; i++)
        check_node(&nodes, &nodes.nodes[i]);
    /* Too many of them is the one thing a text of nodes may be refused for. */
    if (slurm_build(&slurm, &jobs, &nodes, &options, &err) < 0 && err.code != ERR_LIMIT &&
        nodes.count < 5000)
        abort();
    slurm_fini(&slurm);
    slurm_nodes_fini(&nodes);
    return 0;
}
