/* sim_meter.h - where the energy of a simulated cluster goes
 *
 * Every joule is booked once: devices that run jobs, hosts awake, idle (devices without a
 * job and nodes asleep), waking.  The total is integrated on its own from the cluster's
 * power, so that the sum can be checked against it. */
#pragma once

#include "loop/power_schedule.h"
#include "loop/types.h"

struct meter_totals {
    double device_j;    /* devices with at least one job */
    double host_j;      /* hosts awake */
    double idle_j;      /* devices without a job in awake nodes, and nodes asleep */
    double asleep_j;    /* the part of idle_j that nodes asleep draw */
    double wake_j;      /* nodes on their way from sleep: host and devices */
    double total_j;     /* integrated on its own */
    double allocated_s; /* device-seconds with at least one job */
    double powered_s;   /* device-seconds in nodes awake or waking */
    double peak_watts;  /* largest mean over any minute; as of meter_read() */
    double peak_share;  /* likewise, of the limit in force; 0: there was none */
};

struct meter;

/* The cluster is borrowed and read when something is noted. */
struct meter *meter_create(const struct cluster *cluster, double now_s);
/* What the cluster may draw, borrowed; nothing is compared without. */
void meter_limit(struct meter *meter, const struct power_schedule *limit);
void meter_destroy(struct meter *meter); /* NULL is fine */

/* Note the present: a device's draw while its jobs run (idle_watts when none are active),
 * or a change of a node's state or jobs.  Time never goes back. */
void meter_device(struct meter *meter, int device, double watts, double now_s);
void meter_node(struct meter *meter, int node, double now_s);

/* From now on nodes without jobs cost nothing: the workload is over for them. */
void meter_free_empty_nodes(struct meter *meter, double now_s);

struct meter_totals meter_read(struct meter *meter, double now_s);

/* The same without booking anything. */
struct meter_totals meter_peek(const struct meter *meter, double now_s);

/* The first node whose draw in the books is not what its state and jobs say now, because
 * nobody noted the change; -1: none. */
int meter_stale_node(const struct meter *meter);
