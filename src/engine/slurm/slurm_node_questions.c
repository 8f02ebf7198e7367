/* slurm_node_questions.c - what the engine's other files ask of nodes: which there are,
 * what they are called, how they stand */
#include "engine/slurm/slurm_node_table_private.h"

#include <string.h>

struct node_entry *slurm_node_table_entry(const struct slurm_node_table *t,
                                          const char *name)
{
    for (size_t i = 0; i < t->nodes.count; i++)
        if (strcmp(t->nodes.items[i].name, name) == 0)
            return &t->nodes.items[i];
    return NULL;
}

int slurm_node_table_find(const struct slurm_node_table *t, const char *name)
{
    const struct node_entry *n = slurm_node_table_entry(t, name);

    return n ? (int)(n - t->nodes.items) : -1;
}

int slurm_node_table_span(const struct slurm_node_table *t, int node, int *first)
{
    *first = t->nodes.items[node].first_device;
    return t->nodes.items[node].device_count;
}

void slurm_node_table_name(const struct slurm_node_table *t, int node, const char **name,
                           const char **address)
{
    const struct node_entry *n = &t->nodes.items[node];

    *name = n->name;
    *address = n->address[0] ? n->address : n->name;
}

double slurm_node_table_watts(const struct slurm_node_table *t, int node)
{
    return t->nodes.items[node].watts;
}

int slurm_node_table_of(const struct slurm_node_table *t, int device, int *first)
{
    size_t n = 0;

    while (n + 1 < t->nodes.count && t->nodes.items[n + 1].first_device <= device)
        n++;
    *first = t->nodes.items[n].first_device;
    return (int)n;
}

enum slurm_node_stands slurm_node_table_stands(const struct slurm_node_table *t, int node)
{
    enum node_told told = t->nodes.items[node].told;

    return told == TOLD_UP     ? SLURM_NODE_UP
           : told == TOLD_DOWN ? SLURM_NODE_DOWN
                               : SLURM_NODE_SLEEPS;
}

bool slurm_node_table_reserved(const struct slurm_node_table *t, int node)
{
    return t->nodes.items[node].reserved;
}

bool slurm_node_table_live(const struct slurm_node_table *t)
{
    return t->live;
}

void slurm_node_table_set_access(struct slurm_node_table *t, struct slurm_access *access)
{
    t->access = access;
}

struct slurm_access *slurm_node_table_access(const struct slurm_node_table *t)
{
    return t->access;
}

bool slurm_node_table_pins(const struct slurm_node_table *t, int node)
{
    return t->nodes.items[node].pins;
}

int slurm_node_table_shares(const struct slurm_node_table *t, int node)
{
    return t->nodes.items[node].share_most;
}

bool slurm_node_table_shared(const struct slurm_node_table *t)
{
    return t->shared;
}

int slurm_node_table_devices(const struct slurm_node_table *t, const char *node,
                             uint64_t gpus, int wanted, int *devices, int count)
{
    const struct node_entry *n = slurm_node_table_entry(t, node);

    for (int i = 0; n && i < n->device_count && count < LOOP_MAX_GANG; i++)
        if (gpus ? gpus >> i & 1 : i < wanted)
            devices[count++] = n->first_device + i;
    return count;
}
