/* in_order.h - what conventional policies have in common
 *
 * They keep what runs, serve the queue strictly in order and stop at the first job that
 * finds no place.  A policy adds what one device is worth to one job. */
#ifndef CORGI_SIM_POLICY_IN_ORDER_H
#define CORGI_SIM_POLICY_IN_ORDER_H

#include "loop/optimize/choose.h"

struct in_order;

void *in_order_create(uint64_t seed);
void in_order_destroy(void *self);
void in_order_plan(void *self, const struct optimize_input *in, struct plan *plan,
                   choose_score *score);

/* For score functions, whose ctx is the struct in_order: what is believed of the job at
 * hand alone on this device's type, asked once a type. */
double in_order_rate(struct in_order *o, const struct optimize_input *in,
                     const struct job_status *job, int device);
bool in_order_fits(struct in_order *o, const struct optimize_input *in,
                   const struct job_status *job, int device);

/* Nodes awake and in use first when nodes may sleep, then the lower number. */
double in_order_preference(const struct occupancy *occupancy,
                           const struct optimize_input *in, int device);

#endif
