/* slurm_access.h - which nodes Slurm lets a job use: partitions, accounts, reservations
 *
 * Jobs that may use the same nodes are a group of loop/node_access.h: those of the same
 * partitions (of these the ones that take the job's account and QOS) and the same
 * reservation.  A job in a reservation may use its nodes while it lasts; all others must
 * be gone when it begins, which Slurm shows in the state of nodes only then. */
#pragma once

#include "engine/engine.h"
#include "engine/slurm/slurm_answers.h"

struct slurm_access;
struct slurm_node_table;

struct slurm_access *slurm_access_create(struct slurm_node_table *nodes,
                                         struct engine_sink sink);
void slurm_access_destroy(struct slurm_access *access); /* NULL is fine */

/* Answers of the helper to `partitions` and to `reservations`. */
void slurm_access_take_partitions(struct slurm_access *access,
                                  const struct json_value *answer, double now_s);
void slurm_access_take_reservations(struct slurm_access *access,
                                    const struct json_value *answer, double now_s);
/* Have the partitions been told? */
bool slurm_access_known(const struct slurm_access *access);

/* Nodes have changed, or time has passed: the sink hears what follows. */
void slurm_access_tell(struct slurm_access *access, double now_s);

/* With access NULL nothing is bound.  The group of a job, and after how long it is ended
 * (0: never): by its own limit, else by its partitions'. */
int slurm_access_group(struct slurm_access *access, const struct slurm_job_row *row);
double slurm_access_limit_s(const struct slurm_access *access,
                            const struct slurm_job_row *row);
