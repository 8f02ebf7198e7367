/* slurm_gres.h - GPUs in Slurm's lists of generic and trackable resources
 *
 * engine/slurm reads them of what the helper tells, lab/traces of what sacct and sinfo
 * print.
 *
 * What sites call their GPUs is free text; it is looked up in the catalogue, after a list
 * of names the operator may give: "tesla=v100,g0=k80,gpu=l4", where `gpu` stands for GPUs
 * whose type Slurm does not tell. */
#pragma once

#include "base/err.h"
#include "world/gpu_sheet.h"

#include <stdint.h>

#define SLURM_MAX_KINDS 16 /* of a node whose GPUs are g0, g1... all have one */
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

/* Of a node: "gpu:v100:2(S:0-1),shard:4", "(null)"; or what a job asks for of each:
 * "gres:gpu:2". */
int slurm_gres_read(struct slurm_gres *gres, const char *text, struct err *err);

/* Of a job: "billing=8,cpu=8,gres/gpu:v100=2,gres/gpu=2". */
int slurm_gres_read_tres(struct slurm_gres *gres, const char *text, struct err *err);

/* The card of the catalogue; names may be NULL, type "": not told.  NULL and an error
 * when nobody knows it; NULL and none for a type that is not told. */
const struct gpu_sheet *slurm_gres_card(const char *names, const char *type,
                                        struct err *err);

/* Refuses a list of names that is none. */
int slurm_gres_check_names(const char *names, struct err *err);

/* Which GPUs of a node a job has, "gpu:v100:2(IDX:0-1),shard:1(IDX:3)", as bits; 0 when
 * that is not told. */
uint64_t slurm_gres_indices(const char *text);

/* Which GPUs of a node slurmctld counts as used, whole or in parts, as bits:
 * "gpu:v100:1(IDX:0),shard:v100:2(0/2,2/2)". */
uint64_t slurm_gres_used(const char *text);
