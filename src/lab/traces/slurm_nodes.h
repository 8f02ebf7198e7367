/* slurm_nodes.h - the machines of a Slurm cluster and their GPUs
 *
 * From `sinfo -N -o "%N %G %P"` (of further columns PARTITION is read, and HOST_WATTS,
 * which a daemon's record has; without a header the first two are these) or from
 * `scontrol show node`, with or without -o: told apart by the first word.  A node that is
 * in several partitions is there once. */
#pragma once

#include "base/intern.h"
#include "base/map.h"
#include "loop/cluster.h"
#include "engine/slurm/slurm_gres.h"
#include "engine/slurm/slurm_hosts.h"
#include "lab/traces/slurm_text.h"

/* ---- machines ---------------------------------------------------------------------- */

#define SLURM_NODE_GPUS 64 /* most on one node */

struct slurm_node {
    char name[SLURM_HOST_SIZE];
    int kinds; /* 0: no GPUs */
    const struct gpu_sheet *card[SLURM_MAX_KINDS];
    int gpus[SLURM_MAX_KINDS];
    double host_watts; /* it draws without its GPUs; 0: not told */
    uint64_t groups;   /* bit g: it is in that partition, see slurm_nodes_group() */
};

struct slurm_nodes {
    size_t count;
    struct slurm_node *nodes; /* in the order of the file */
    struct map *by_name;
    struct intern *partitions;
};

/* *nodes is filled or untouched; names as in slurm_gres_card().  At least one has GPUs.
 */
int slurm_nodes_load(struct slurm_nodes *nodes, const char *path, const char *names,
                     struct err *err);
void slurm_nodes_fini(struct slurm_nodes *nodes);

const struct slurm_node *slurm_nodes_find(const struct slurm_nodes *nodes,
                                          const char *name); /* NULL: none */

/* The number of a partition, as a group of loop/node_access.h; 0: no node is told to be
 * in it, or there are too many. */
int slurm_nodes_group(const struct slurm_nodes *nodes, const char *partition);
