/* host_room.c - admit_check.c, the planner and place.c count with it; see host_room.h */
#include "loop/host_room.h"

#include "loop/requirement.h"

#include <math.h>

/* Sums of parts of gangs are not exact. */
#define SLACK 1e-6

struct host_room host_room_each(const struct job *job)
{
    return (struct host_room){.cpus = job->cpus / job->devices,
                              .memory_gb = job->host_memory_gb / job->devices};
}

struct host_room host_room_told(struct host_room told)
{
    return (struct host_room){.cpus = told.cpus > 0 ? told.cpus : INFINITY,
                              .memory_gb =
                                  told.memory_gb > 0 ? told.memory_gb : INFINITY};
}

bool host_room_wanted(struct host_room each)
{
    return each.cpus > 0 || each.memory_gb > 0;
}

/* What nobody asks for may be overdrawn: a node may have lost room since. */
static bool holds(double left, double each, int devices)
{
    return each <= 0 || each * devices <= left + SLACK;
}

bool host_room_holds(struct host_room left, struct host_room each, int devices)
{
    return holds(left.cpus, each.cpus, devices) &&
           holds(left.memory_gb, each.memory_gb, devices);
}

int host_room_devices(struct host_room left, struct host_room each, int most)
{
    while (most > 0 && !host_room_holds(left, each, most))
        most--;
    return most;
}

void host_room_take(struct host_room *left, struct host_room each, int devices)
{
    left->cpus -= each.cpus * devices;
    left->memory_gb -= each.memory_gb * devices;
}

struct host_room host_room_of_node(const struct cluster *c, int node)
{
    const struct node *n = &c->nodes[node];
    struct host_room left = n->room;

    host_room_take(&left, n->taken, 1);
    for (int i = 0; i < c->leaving_count; i++)
        if (c->devices[c->leaving[i].device].node == node)
            host_room_take(&left, c->leaving[i].room, 1);
    return left;
}

bool host_room_possible(const struct cluster *c, const struct job *job)
{
    struct host_room each = host_room_each(job);
    int found = 0;

    if (!host_room_wanted(each))
        return true;
    for (int n = 0; n < c->node_count && found < job->devices; n++) {
        const struct node *node = &c->nodes[n];
        int devices = 0;

        for (int d = node->first_device; d < node->first_device + node->device_count; d++)
            devices += requirement_allows_type(job, c->devices[d].type);
        found += host_room_devices(node->room, each, devices);
    }
    return found >= job->devices;
}
