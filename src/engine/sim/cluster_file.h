/* cluster_file.h - clusters for simulations: built in, or read from YAML
 *
 *     nodes:
 *       - gpu: v100      # a card of the catalogue
 *         gpus: 4        # on each node
 *         count: 9       # such nodes
 *         host: 120W     # the machine without its GPUs
 *         sleep: 10W
 *         wake: 60s
 */
#pragma once

#include "base/err.h"
#include "base/str.h"
#include "loop/types.h"

/* What a node of a file draws without its GPUs, unless it says otherwise. */
#define CLUSTER_HOST_WATTS 120

/* The caller owns *cluster.  err names file, line, column and what to do. */
int cluster_file_load(struct cluster **cluster, const char *path, struct err *err);
int cluster_file_parse(struct cluster **cluster, const char *text, size_t length,
                       const char *name, struct err *err);

/* A built-in cluster by name; NULL when there is none.  `alibaba` is the mix of the node
 * list that belongs to Alibaba's pods (1,213 nodes, 6,212 GPUs), `alibaba-small` a
 * twentieth of it; see lab/traces/arrivals.h for its two undisclosed types. */
struct cluster *cluster_builtin(const char *name);

/* Every key with its default and help, as a YAML file that can be loaded. */
void cluster_file_document(struct str *out);
