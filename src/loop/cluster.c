/* cluster.c - the loop, the planners, the engines and the simulator read it; only the
 * loop changes it */
#include "loop/cluster.h"

#include "base/mem.h"
#include "base/str.h"
#include "loop/host_room.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cluster *cluster_create(const struct gpu_sheet *types, int type_count)
{
    struct cluster *c = mem_new(struct cluster);

    assert(type_count > 0 && type_count <= CLUSTER_MAX_TYPES);
    c->type_count = type_count;
    c->types = mem_dup(types, (size_t)type_count, sizeof(*types));
    return c;
}

void cluster_destroy(struct cluster *c)
{
    if (!c)
        return;
    free(c->types);
    free(c->nodes);
    free(c->devices);
    free(c->leaving);
    free(c);
}

/* Twice as large when it is full: a cluster of thousands of nodes is made one by one. */
static void *make_room(void *array, size_t *room, size_t needed, size_t size)
{
    size_t old = *room;

    if (needed <= old)
        return array;
    *room = needed > 2 * old ? needed : 2 * old;
    return mem_resize(array, old, *room, size);
}

static void copy_leaving(struct cluster *copy, const struct cluster *from)
{
    size_t count = (size_t)from->leaving_count;

    copy->leaving =
        make_room(copy->leaving, &copy->leaving_room, count, sizeof(*copy->leaving));
    if (count > 0)
        memcpy(copy->leaving, from->leaving, count * sizeof(*copy->leaving));
    copy->leaving_count = from->leaving_count;
}

struct cluster *cluster_dup(const struct cluster *from)
{
    struct cluster *c = mem_dup(from, 1, sizeof(*from));

    c->types = mem_dup(from->types, (size_t)from->type_count, sizeof(*from->types));
    c->nodes = mem_dup(from->nodes, (size_t)from->node_count, sizeof(*from->nodes));
    c->devices =
        mem_dup(from->devices, (size_t)from->device_count, sizeof(*from->devices));
    c->node_room = (size_t)from->node_count;
    c->device_room = (size_t)from->device_count;
    c->leaving = NULL;
    c->leaving_room = 0;
    copy_leaving(c, from);
    return c;
}

int cluster_copy(struct cluster *copy, const struct cluster *from)
{
    if (copy->node_count != from->node_count ||
        copy->device_count != from->device_count || copy->type_count != from->type_count)
        return -1;
    memcpy(copy->types, from->types, (size_t)from->type_count * sizeof(*from->types));
    memcpy(copy->nodes, from->nodes, (size_t)from->node_count * sizeof(*from->nodes));
    memcpy(copy->devices, from->devices,
           (size_t)from->device_count * sizeof(*from->devices));
    memcpy(copy->group_ends_s, from->group_ends_s, sizeof(from->group_ends_s));
    copy_leaving(copy, from);
    return 0;
}

void cluster_add_node(struct cluster *c, const struct node_spec *spec)
{
    size_t nodes = (size_t)c->node_count, devices = (size_t)c->device_count;
    size_t more = (size_t)spec->device_count;
    struct node *node;

    assert(spec->type >= 0 && spec->type < c->type_count && spec->device_count > 0);
    assert(c->node_count < CLUSTER_MAX_NODES);
    c->nodes = make_room(c->nodes, &c->node_room, nodes + 1, sizeof(*c->nodes));
    c->devices =
        make_room(c->devices, &c->device_room, devices + more, sizeof(*c->devices));
    node = &c->nodes[c->node_count];
    if (spec->name && *spec->name)
        str_copy(node->name, sizeof(node->name), spec->name);
    else
        snprintf(node->name, sizeof(node->name), "node-%d", c->node_count + 1);
    node->state = NODE_AWAKE;
    node->host_watts = spec->host_watts;
    node->sleep_watts = spec->sleep_watts;
    node->wake_s = spec->wake_s;
    node->first_device = c->device_count;
    node->device_count = spec->device_count;
    node->may_sleep = spec->may_sleep;
    node->room = host_room_told(spec->room);
    for (int i = 0; i < spec->device_count; i++)
        c->devices[c->device_count + i] =
            (struct device){.type = spec->types ? spec->types[i] : spec->type,
                            .node = c->node_count,
                            .share_most = spec->share_most};
    c->device_count += spec->device_count;
    c->node_count++;
}

void cluster_seat(struct cluster *c, int device, uint64_t job)
{
    struct device *d = &c->devices[device];

    assert(d->job_count < LOOP_MAX_SHARE && !d->failed);
    d->jobs[d->job_count++] = job;
}

void cluster_leave(struct cluster *c, int device, uint64_t job, double now_s)
{
    struct device *d = &c->devices[device];
    int i = 0;

    while (i < d->job_count && d->jobs[i] != job)
        i++;
    assert(i < d->job_count);
    for (; i + 1 < d->job_count; i++)
        d->jobs[i] = d->jobs[i + 1];
    d->job_count--;
    if (cluster_node_is_empty(c, d->node))
        c->nodes[d->node].idle_since_s = now_s;
}

const struct device_leaving *cluster_leaving(const struct cluster *c, int device,
                                             const struct device_leaving *after)
{
    const struct device_leaving *end = c->leaving + c->leaving_count;

    if (c->devices[device].leaving_count == 0)
        return NULL;
    for (const struct device_leaving *l = after ? after + 1 : c->leaving; l < end; l++)
        if (l->device == device)
            return l;
    return NULL;
}

static int leaving_at(const struct cluster *c, int device, uint64_t job)
{
    int i = 0;

    while (i < c->leaving_count &&
           (c->leaving[i].device != device || c->leaving[i].job != job))
        i++;
    return i;
}

void cluster_begin_leaving(struct cluster *c, int device,
                           const struct device_leaving *who)
{
    int at = leaving_at(c, device, who->job);

    if (at == c->leaving_count) {
        c->leaving =
            make_room(c->leaving, &c->leaving_room, (size_t)at + 1, sizeof(*c->leaving));
        c->leaving_count++;
        c->devices[device].leaving_count++;
    }
    c->leaving[at] = *who;
    c->leaving[at].device = device;
}

void cluster_end_leaving(struct cluster *c, int device, uint64_t job, double now_s)
{
    struct device *d = &c->devices[device];
    int at = leaving_at(c, device, job);

    if (at == c->leaving_count)
        return;
    d->leaving_count--;
    c->leaving_count--;
    for (; at < c->leaving_count; at++)
        c->leaving[at] = c->leaving[at + 1];
    if (cluster_node_is_empty(c, d->node))
        c->nodes[d->node].idle_since_s = now_s;
}

bool cluster_device_usable(const struct cluster *c, int device)
{
    const struct device *d = &c->devices[device];

    return !d->failed && !d->drained && !d->taken && d->leaving_count == 0 &&
           c->nodes[d->node].state != NODE_DOWN &&
           c->nodes[d->node].state != NODE_FALLING;
}

int cluster_node_jobs(const struct cluster *c, int node)
{
    const struct node *n = &c->nodes[node];
    int jobs = 0;

    for (int i = 0; i < n->device_count; i++)
        jobs += c->devices[n->first_device + i].job_count +
                c->devices[n->first_device + i].leaving_count;
    return jobs;
}

bool cluster_node_is_empty(const struct cluster *c, int node)
{
    const struct node *n = &c->nodes[node];

    for (int i = 0; i < n->device_count; i++)
        if (c->devices[n->first_device + i].job_count +
                c->devices[n->first_device + i].leaving_count >
            0)
            return false;
    return true;
}

/* Shares of processors are added and taken off again. */
#define ROOM_SLACK 0.01

bool cluster_node_is_unused(const struct cluster *c, int node)
{
    const struct node *n = &c->nodes[node];

    for (int i = 0; i < n->device_count; i++)
        if (c->devices[n->first_device + i].taken)
            return false;
    return !(n->taken.cpus > ROOM_SLACK || n->taken.memory_gb > ROOM_SLACK) &&
           cluster_node_is_empty(c, node);
}

int cluster_devices_of_type(const struct cluster *c, int type, bool free)
{
    int count = 0;

    for (int d = 0; d < c->device_count; d++)
        count += c->devices[d].type == type && !c->devices[d].failed &&
                 (!free || (c->devices[d].job_count == 0 && cluster_device_usable(c, d)));
    return count;
}

double cluster_idle_watts(const struct cluster *c, int node)
{
    const struct node *n = &c->nodes[node];
    double watts = 0;

    for (int i = 0; i < n->device_count; i++)
        watts += c->types[c->devices[n->first_device + i].type].idle_watts;
    return watts;
}

int cluster_share_most(const struct cluster *c, int device, int share_max)
{
    int most = c->devices[device].share_most;

    return most > 0 && most < share_max ? most : share_max;
}

int cluster_nodes_spanned(const struct cluster *c, const int *devices, int count)
{
    int spanned = 0;

    for (int i = 0; i < count; i++) {
        bool seen = false;

        for (int k = 0; k < i && !seen; k++)
            seen = c->devices[devices[k]].node == c->devices[devices[i]].node;
        spanned += !seen;
    }
    return spanned;
}
