/* replicas.c - see replicas.h */
#include "loop/optimize/replicas.h"

#include <math.h>

/* Watts a device of this type adds beside its own: its part of its node's, at most. */
static double host_part(const struct problem *p, int type)
{
    double most = 0;

    for (int d = 0; d < p->device_count; d++) {
        const struct problem_node *node = &p->nodes[p->devices[d].node];

        if (p->devices[d].type == type && !p->devices[d].closed)
            most = fmax(most, (node->host_watts - node->sleep_watts) /
                                  fmax(node->device_count, 1));
    }
    return p->sleep ? most : 0;
}

/* Cheapest device that carries this rate; INFINITY: none does. */
static double cost_of_one(const struct problem *p, int j, double rate, int count)
{
    const struct problem_job *job = &p->jobs[j];
    double best = INFINITY;

    for (int v = 0; v < p->variant_count; v++) {
        size_t at = (size_t)v * (size_t)p->class_count + (size_t)job->class_id;
        int type = p->variants[v].type;
        double table = p->alone_rate[at];
        double own =
            table * (double)p->speed[(size_t)j * (size_t)p->type_count + (size_t)type];

        if (!(job->types >> type & 1) || !(own > 0) || own < rate ||
            p->types[type].devices < count)
            continue;
        best = fmin(best, (double)p->alone_watts[at] + host_part(p, type) -
                              p->classes[job->class_id].progress * table);
    }
    return best;
}

int replicas_wanted(const struct problem *p, int j, int most)
{
    double best = INFINITY;
    int wanted = 0;

    for (int count = 1; count <= most; count++) {
        double cost = count * cost_of_one(p, j, p->jobs[j].need / count, count);

        if (cost < best) {
            best = cost;
            wanted = count;
        }
    }
    return wanted;
}
