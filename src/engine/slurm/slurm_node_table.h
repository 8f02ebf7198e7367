/* slurm_node_table.h - Slurm's nodes as nodes and devices of a cluster
 *
 * A node with GPUs the catalogue knows becomes a node of the cluster and keeps its number
 * for good: one that Slurm takes out is down, one that comes is added behind all others.
 * What was known is kept in a file, so that a daemon can start while Slurm is away. */
#pragma once

#include "engine/engine.h"
#include "engine/slurm/slurm_answers.h"

struct slurm_access;
struct slurm_node_table;

struct slurm_node_options {
    const char *path;  /* of the file; borrowed for the call */
    const char *names; /* of GPU types, as in slurm_gres.h; NULL: none */
    bool kept_awake;   /* whatever Slurm can: nobody is to put nodes to sleep */
};

/* With what the file knows, if it is there. */
struct slurm_node_table *slurm_node_table_create(const struct slurm_node_options *options,
                                                 struct engine_sink sink);
void slurm_node_table_destroy(struct slurm_node_table *table); /* NULL is fine */

int slurm_node_table_count(const struct slurm_node_table *table); /* nodes with GPUs */

/* The cluster as it is known; the caller ends it.  From then on changes are told to the
 * sink.  ERR_NOT_FOUND: no node with a GPU is known. */
int slurm_node_table_cluster(struct slurm_node_table *table, struct cluster **cluster,
                             struct err *err);

/* An answer of the helper to `nodes`; complete: all nodes have been told. */
void slurm_node_table_take(struct slurm_node_table *table,
                           const struct json_value *answer, double now_s);

/* Slurm did not start a job on these devices, though nobody the daemon knows has them.
 * From the second time in a row on they are taken for a while. */
void slurm_node_table_no_room(struct slurm_node_table *table, const int *devices,
                              int count, double now_s);

/* Whether nodes can be put to sleep by Slurm, for those that come. */
void slurm_node_table_allow_sleep(struct slurm_node_table *table, bool allowed);

/* The number of a node; -1: it has no GPUs that are known. */
int slurm_node_table_find(const struct slurm_node_table *table, const char *name);
/* Jobs without GPUs take so much more of a node, or less; and the sink hears what is left
 * of nodes of which that has changed. */
void slurm_node_table_use(struct slurm_node_table *table, int node,
                          struct host_room more);
void slurm_node_table_tell_rooms(struct slurm_node_table *table, double now_s);

/* The node of a device, and its first one. */
int slurm_node_table_of(const struct slurm_node_table *table, int device, int *first);

/* Can it take jobs now, or does it sleep, wake or fall asleep? */
enum slurm_node_stands { SLURM_NODE_UP, SLURM_NODE_SLEEPS, SLURM_NODE_DOWN };
enum slurm_node_stands slurm_node_table_stands(const struct slurm_node_table *table,
                                               int node);

/* The node is to be told to wake: false, it was a moment ago.  A second word, and a node
 * boots twice.  And it is to be put to sleep: then the next word counts. */
bool slurm_node_table_wake(struct slurm_node_table *table, int node, double now_s);
void slurm_node_table_sleep(struct slurm_node_table *table, int node);

/* How many devices a node has, and from which on; what it is called, and its address;
 * what Slurm itself meters of it (NaN: nothing). */
int slurm_node_table_span(const struct slurm_node_table *table, int node, int *first);
void slurm_node_table_name(const struct slurm_node_table *table, int node,
                           const char **name, const char **address);
double slurm_node_table_watts(const struct slurm_node_table *table, int node);

/* Does Slurm say that a reservation has the node now? */
bool slurm_node_table_reserved(const struct slurm_node_table *table, int node);

/* Was the cluster given?  Then changes are told. */
bool slurm_node_table_live(const struct slurm_node_table *table);

/* Who knows which of them jobs may use, for whoever asks; borrowed, NULL: nobody. */
void slurm_node_table_set_access(struct slurm_node_table *table,
                                 struct slurm_access *access);
struct slurm_access *slurm_node_table_access(const struct slurm_node_table *table);

/* Are its GPUs of the types g0, g1..., so that jobs can ask for one of them?  And how
 * many jobs each takes at once. */
bool slurm_node_table_pins(const struct slurm_node_table *table, int node);
int slurm_node_table_shares(const struct slurm_node_table *table, int node);

/* Is a GPU of Slurm's shared by several jobs? */
bool slurm_node_table_shared(const struct slurm_node_table *table);

/* The type of this name, as a bit; 0: the cluster has none such. */
uint64_t slurm_node_table_type(const struct slurm_node_table *table, const char *name);

/* Numbers of devices of these GPUs (bits) of a node; gpus 0: the first so many of them.
 * Appends to devices, which has room for LOOP_MAX_GANG, and returns how many it has. */
int slurm_node_table_devices(const struct slurm_node_table *table, const char *node,
                             uint64_t gpus, int wanted, int *devices, int count);
