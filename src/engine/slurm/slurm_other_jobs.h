/* slurm_other_jobs.h - Slurm's jobs that ask for no GPU, as far as they take room
 *
 * Nobody follows them, but they take processors and memory of nodes with GPUs: the table
 * of nodes hears how much. */
#pragma once

#include "engine/slurm/slurm_answers.h"

struct slurm_node_table;
struct slurm_other_jobs;

/* The nodes are borrowed. */
struct slurm_other_jobs *slurm_other_jobs_create(struct slurm_node_table *nodes);
void slurm_other_jobs_destroy(struct slurm_other_jobs *others); /* NULL is fine */

/* A row of such a job; one that is gone; and all of them: they are told anew. */
void slurm_other_jobs_take(struct slurm_other_jobs *others,
                           const struct slurm_job_row *row);
void slurm_other_jobs_gone(struct slurm_other_jobs *others, const char *id);
void slurm_other_jobs_forget(struct slurm_other_jobs *others);
