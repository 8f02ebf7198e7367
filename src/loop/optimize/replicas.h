/* replicas.h - how many replicas a service gets
 *
 * A service that one device cannot carry runs as several replicas whose rates add up.
 * How many is settled before the problem is posed: a class with that many devices and
 * adds set, each replica with an equal part of the need. */
#ifndef CORGI_LOOP_OPTIMIZE_REPLICAS_H
#define CORGI_LOOP_OPTIMIZE_REPLICAS_H

#include "loop/optimize/problem.h"

/* The number of replicas, 1 to most, that would carry job j's need at the least cost,
 * each alone on its device; 0: most are not enough.  Reads the tables of j's class,
 * whatever its devices are now. */
int replicas_wanted(const struct problem *p, int j, int most);

#endif
