/* slurm_found.h - a row of Slurm's jobs as the daemon hears of it */
#pragma once

#include "engine/engine.h"
#include "engine/slurm/slurm_answers.h"

struct slurm_node_table;

/* Devices it asks for, at least one. */
int slurm_job_wanted(const struct slurm_job_row *row);

/* What it belongs to, and that as a hash (NULL: nothing). */
struct job_groups slurm_job_groups(const struct slurm_job_row *row);
uint64_t slurm_groups_hash(const struct job_groups *groups);

/* The daemon hears what its job belongs to, unless that is what it was told last. */
void slurm_job_tell_groups(const struct engine_sink *sink,
                           const struct slurm_job_row *row, uint64_t job, double now_s,
                           uint64_t *told);

/* Texts are borrowed from the row. */
struct engine_found slurm_job_found(const struct slurm_node_table *nodes,
                                    const struct slurm_job_row *row, const char *ref);

/* The devices it really has, as numbers; returns how many, 0: Slurm does not tell. */
int slurm_job_devices(const struct slurm_node_table *nodes,
                      const struct slurm_job_row *row, int devices[LOOP_MAX_GANG]);
