/* slurm_nodes.h - the machines of a Slurm cluster and their GPUs
 *
 * From `sinfo -N -o "%N %G"` (further columns are passed over; without a header the first
 * two are these) or from `scontrol show node`, with or without -o: told apart by the
 * first word.  A node that is in several partitions is there once. */
#pragma once

#include "base/map.h"
#include "loop/cluster.h"
#include "lab/traces/slurm_text.h"
#include "world/gpu_sheet.h"

/* ---- GPUs in Slurm's lists of generic and trackable resources ---------------------- */

/* What sites call their GPUs is free text; it is looked up in the catalogue, after a list
 * of names the operator may give: "tesla=v100,g0=k80,gpu=l4", where `gpu` stands for GPUs
 * whose type Slurm does not tell. */

#define SLURM_MAX_KINDS 4
#define SLURM_TYPE_SIZE 64

struct slurm_gres {
    int kinds;
    struct slurm_kind {
        char type[SLURM_TYPE_SIZE];
        int count;
    } kind[SLURM_MAX_KINDS]; /* GPUs of a named type, each name once */
    int untyped;             /* of a node: others; of a job: all of them */
    int shards;              /* parts of GPUs */
};

/* Of a node: "gpu:v100:2(S:0-1),shard:4", "(null)". */
int slurm_gres_read(struct slurm_gres *gres, const char *text, struct err *err);

/* Of a job: "billing=8,cpu=8,gres/gpu:v100=2,gres/gpu=2". */
int slurm_gres_read_tres(struct slurm_gres *gres, const char *text, struct err *err);

/* The card of the catalogue; names may be NULL, type "": not told.  NULL and an error
 * when nobody knows it; NULL and none for a type that is not told. */
const struct gpu_sheet *slurm_gres_card(const char *names, const char *type,
                                        struct err *err);

/* Refuses a list of names that is none. */
int slurm_gres_check_names(const char *names, struct err *err);

/* ---- machines ---------------------------------------------------------------------- */

#define SLURM_NODE_GPUS 64 /* most on one node */

struct slurm_node {
    char name[SLURM_HOST_SIZE];
    int kinds; /* 0: no GPUs */
    const struct gpu_sheet *card[SLURM_MAX_KINDS];
    int gpus[SLURM_MAX_KINDS];
};

struct slurm_nodes {
    size_t count;
    struct slurm_node *nodes; /* in the order of the file */
    struct map *by_name;
};

/* *nodes is filled or untouched; names as in slurm_gres_card().  At least one has GPUs.
 */
int slurm_nodes_load(struct slurm_nodes *nodes, const char *path, const char *names,
                     struct err *err);
void slurm_nodes_fini(struct slurm_nodes *nodes);

const struct slurm_node *slurm_nodes_find(const struct slurm_nodes *nodes,
                                          const char *name); /* NULL: none */
