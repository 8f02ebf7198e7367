/* host_room.h - processors and memory of hosts, which jobs take besides GPUs
 *
 * A job asks for so much in all; its devices bring even parts of it to their nodes.  What
 * a job did not tell takes nothing, what a node did not tell bounds nothing. */
#pragma once

#include "loop/types.h"

/* What a job takes of the node of each of its devices. */
struct host_room host_room_each(const struct job *job);

/* A node's room as it was told: 0 becomes infinite. */
struct host_room host_room_told(struct host_room told);

/* Does the job ask for anything? */
bool host_room_wanted(struct host_room each);

/* Is there room for so many devices of a job? */
bool host_room_holds(struct host_room left, struct host_room each, int devices);

/* For how many of at most so many devices? */
int host_room_devices(struct host_room left, struct host_room each, int most);

/* Devices of a job come; a negative number: they go. */
void host_room_take(struct host_room *left, struct host_room each, int devices);

/* What the node has for jobs of ours, but for what those on their way out still take. */
struct host_room host_room_of_node(const struct cluster *cluster, int node);

/* Could the job have all its devices if nobody else was there? */
bool host_room_possible(const struct cluster *cluster, const struct job *job);
