/* greedy.h - the simple planner: one job after the other to where it costs least
 *
 * Cost of a place = the watts it adds (device, and host when it wakes a node) less the
 * price of the progress made there.  A place counts only if everyone on the device is
 * believed to keep its requirement.  A running job that is seen to miss its requirement
 * is moved when somewhere else it would not. */
#ifndef CORGI_LOOP_OPTIMIZE_GREEDY_H
#define CORGI_LOOP_OPTIMIZE_GREEDY_H

#include "loop/planner.h"

extern const struct planner_ops greedy_planner_ops;

#endif
