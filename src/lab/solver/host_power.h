/* host_power.h - host power as a function of how many devices of a type are in use
 *
 * Stages before the search charge every device an equal part of its node (work.open).
 * Really a node is awake or not: the next device is dear when it wakes a node and nearly
 * free while there is room on one that is awake.  The search adds the difference, a table
 * a type, so that it empties nodes and fills the ones it keeps. */
#pragma once

#include "lab/solver/work.h"

struct stairs {
    double *extra[PROBLEM_MAX_TYPES]; /* (devices + 1) true less charged; NULL: none */
};

/* In w's arena.  Nodes with several types count for each in proportion. */
void stairs_build(struct stairs *s, const struct work *w);
