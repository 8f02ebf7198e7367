/* host_power.c - the table of what the next device of a type costs: solve.c builds it,
 * the search adds it to every move */
#include "lab/solver/host_power.h"

#include <stdlib.h>
#include <string.h>

struct ranked_node {
    double cost; /* a device */
    int node;
    int devices;
};

static int cheapest_first(const void *a, const void *b)
{
    const struct ranked_node *x = a, *y = b;

    if (x->cost != y->cost)
        return x->cost < y->cost ? -1 : 1;
    return x->node < y->node ? -1 : x->node > y->node;
}

/* Watts that keeping the node awake for this type adds over letting it sleep, all its
 * devices of the type idle; the type's part of it where it has several. */
static double node_watts(const struct problem *p, int n, int type, int devices)
{
    const struct problem_node *node = &p->nodes[n];
    double part = node->device_count ? (double)devices / node->device_count : 1;

    if (!p->sleep || !node->may_sleep)
        return 0;
    return (node->host_watts - node->sleep_watts + (node->awake ? 0 : node->wake_watts)) *
               part +
           devices * p->types[type].idle_watts;
}

static int rank_nodes(const struct problem *p, int type, struct ranked_node *ranked)
{
    int count = 0;

    for (int n = 0; n < p->node_count; n++) {
        const struct problem_node *node = &p->nodes[n];
        int devices = 0;

        for (int d = node->first_device; d < node->first_device + node->device_count; d++)
            devices += p->devices[d].type == type && !p->devices[d].closed;
        if (devices == 0)
            continue;
        ranked[count++] =
            (struct ranked_node){node_watts(p, n, type, devices) / devices, n, devices};
    }
    qsort(ranked, (size_t)count, sizeof(*ranked), cheapest_first);
    return count;
}

static void build_type(double *extra, const struct work *w, int type,
                       const struct ranked_node *ranked, int count)
{
    const struct problem *p = w->p;
    double idle = p->types[type].idle_watts;
    double total = 0;
    int used = 0;

    extra[0] = 0;
    for (int x = 0; x < count; x++) {
        double open = node_watts(p, ranked[x].node, type, ranked[x].devices);

        total += open;
        for (int d = 0; d < ranked[x].devices; d++) {
            total -= idle;
            used++;
            extra[used] = total - w->open[type] * used;
        }
    }
}

void stairs_build(struct stairs *s, const struct work *w)
{
    const struct problem *p = w->p;
    struct ranked_node *ranked;
    size_t mark;

    memset(s, 0, sizeof(*s));
    if (p->node_count == 0)
        return;
    for (int t = 0; t < w->types; t++)
        s->extra[t] = arena_array(w->arena, double, w->devices[t] + 1);
    mark = arena_mark(w->arena);
    ranked = arena_array(w->arena, struct ranked_node, p->node_count);
    for (int t = 0; t < w->types; t++) {
        int count = rank_nodes(p, t, ranked);

        build_type(s->extra[t], w, t, ranked, count);
    }
    arena_release(w->arena, mark);
}
