/* node_access.h - which nodes a job may use, and for how long
 *
 * Machines that belong to somebody else, as Slurm's, have groups of nodes (partitions,
 * reservations): a job of a group is allowed on these alone.  A node that is reserved
 * from some time on takes only jobs whose time limit ends before. */
#pragma once

#include "loop/types.h"

/* May the job begin on the node at this time? */
bool node_access_allows(const struct cluster *cluster, const struct job *job, int node,
                        double now_s);

/* Is a node reserved?  If not, jobs without a group may begin everywhere. */
bool node_access_reserved(const struct cluster *cluster);
