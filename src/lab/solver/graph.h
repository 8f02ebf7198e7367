/* graph.h - the sparse graph of candidate pairs and the matching on it
 *
 * Shared by candidates, matching and cycles: for each task its cheapest way to be alone
 * and a few partners, all at the present prices; then each task's mate. */
#pragma once

#include "lab/solver/work.h"

struct graph_edge {
    float cost; /* of the pair on its best type, the type's price included */
    int to;
};

struct graph {
    struct work *w;
    int tasks;
    int width;                /* most candidates a task */
    float *alone;             /* (tasks) cost alone with price, or the penalty */
    int *alone_type;          /* (tasks) -1: unserved */
    int *count;               /* (tasks) candidates */
    struct graph_edge *edges; /* (tasks, width) */
    int *mate;                /* (tasks) -1: alone */
    float *cost;              /* (tasks) of the device it is on */
};

/* In w's arena; no candidates yet, all alone. */
void graph_init(struct graph *g, struct work *w, int width);

/* Cheapest type for a pair at the present prices; WORK_NEVER and -1 when there is none.
 */
float graph_pair(const struct graph *g, int i, int j, int *type);

/* After prices changed: alone costs and all edges again. */
void graph_refresh(struct graph *g);

/* Devices of each type that the matching wants. */
void graph_demand(const struct graph *g, int *demand);
