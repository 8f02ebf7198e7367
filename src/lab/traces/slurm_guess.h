/* slurm_guess.h - a cluster from Slurm's nodes, or from its jobs alone
 *
 * As a text for cluster_file.h, so that a node draws what a node of a file draws by
 * default. */
#ifndef CORGI_LAB_TRACES_SLURM_GUESS_H
#define CORGI_LAB_TRACES_SLURM_GUESS_H

#include "base/str.h"
#include "lab/traces/slurm_jobs.h"

/* Nodes with several types of GPU become one a type, which share the machine's draw;
 * returns how many there were. */
size_t slurm_guess_from_nodes(struct str *yaml, const struct slurm_nodes *nodes);

/* As many GPUs of each type as were in use at once, on nodes that hold the largest part
 * of a job that ran on one.  Every job must have its type. */
void slurm_guess_from_jobs(struct str *yaml, const struct slurm_jobs *jobs);

#endif
