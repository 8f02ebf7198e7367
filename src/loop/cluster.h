/* cluster.h - nodes and devices, and which job sits on which device
 *
 * Devices hold job ids; seating and leaving keep node idle times right.  The loop owns
 * its cluster; engines and planners only read it. */
#pragma once

#include "loop/types.h"

#define CLUSTER_MAX_TYPES   64
#define CLUSTER_MAX_NODES   20000
#define CLUSTER_MAX_DEVICES 100000

struct node_spec {
    const char *name; /* "" or NULL: node-<n> */
    int type;         /* of its devices, unless types says so of each */
    const int *types; /* (device_count) or NULL */
    int device_count;
    double host_watts;
    double sleep_watts;
    double wake_s;
    bool may_sleep;
    struct host_room room; /* 0: not told, so that it bounds nothing */
    int share_most;        /* jobs a device takes at once; 0: as the settings say */
};

/* Types are copied.  Nodes start awake and empty. */
struct cluster *cluster_create(const struct gpu_sheet *types, int type_count);
void cluster_destroy(struct cluster *cluster); /* NULL is fine */
struct cluster *cluster_dup(const struct cluster *cluster);
/* The same into an old copy; -1: it had other nodes, and is as before. */
int cluster_copy(struct cluster *copy, const struct cluster *cluster);

void cluster_add_node(struct cluster *cluster, const struct node_spec *spec);

/* Put a job on a device or take it off; both assert that this is possible. */
void cluster_seat(struct cluster *cluster, int device, uint64_t job);
void cluster_leave(struct cluster *cluster, int device, uint64_t job, double now_s);

/* A job that has no seat there any more is still on the device, with its part of the
 * host, until then at the latest; and it has gone.  Nobody may start there in between.
 * Both take what they know already. */
void cluster_begin_leaving(struct cluster *cluster, int device,
                           const struct device_leaving *who);
void cluster_end_leaving(struct cluster *cluster, int device, uint64_t job, double now_s);
/* The first of those who are leaving it, or the next after one; NULL: no more. */
const struct device_leaving *cluster_leaving(const struct cluster *cluster, int device,
                                             const struct device_leaving *after);

bool cluster_device_usable(const struct cluster *c, int device); /* may start a job */
int cluster_node_jobs(const struct cluster *c,
                      int node); /* seats taken on a node, and who leaves it */
bool cluster_node_is_empty(const struct cluster *cluster, int node);
/* Has it none of others either, of whom the loop knows only what they take? */
bool cluster_node_is_unused(const struct cluster *c, int node);
/* Devices of a type that have not failed, or that are free for a new job. */
int cluster_devices_of_type(const struct cluster *cluster, int type, bool free);
double cluster_idle_watts(const struct cluster *cluster, int node); /* of its devices */

/* Jobs the device takes at once where the settings allow so many. */
int cluster_share_most(const struct cluster *cluster, int device, int share_max);

/* How many nodes these devices span. */
int cluster_nodes_spanned(const struct cluster *cluster, const int *devices, int count);
