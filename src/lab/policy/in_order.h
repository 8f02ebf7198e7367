/* in_order.h - what conventional policies have in common
 *
 * They keep what runs and serve the queue in order; a policy adds what one device is
 * worth to one job.  Beliefs come from the loop's model, the same for all of them. */
#pragma once

#include "base/rng.h"
#include "lab/policy/choose.h"
#include "lab/policy/device_caps.h"

/* Added to the score of a place that breaks a promise: only when there is no other. */
#define IN_ORDER_BROKEN 1e9

struct in_order;

struct in_order_rules {
    choose_score *score;
    void *ctx;     /* of score; NULL: the struct in_order */
    bool backfill; /* a job that finds no place does not hold up those behind it */
    bool mend;     /* a running job measured to fall short moves to where it would not */
    const struct device_cap_rule *caps; /* NULL: sets no power limits */
};

void *in_order_create(uint64_t seed);
void in_order_destroy(void *self);
void in_order_plan(void *self, const struct optimize_input *in, struct plan *plan,
                   const struct in_order_rules *rules);

/* For score functions: what is believed of the job at hand alone on this device's type,
 * asked once a type. */
const struct prediction *in_order_alone(struct in_order *o,
                                        const struct optimize_input *in,
                                        const struct job_status *job, int device);
double in_order_rate(struct in_order *o, const struct optimize_input *in,
                     const struct job_status *job, int device);
bool in_order_fits(struct in_order *o, const struct optimize_input *in,
                   const struct job_status *job, int device);

/* The rate a job needs for as long as it runs: a policy that does not follow demand has
 * to reserve a service's peak. */
double in_order_needed(const struct optimize_input *in, const struct job_status *job);

/* By how much the job alone would miss that on the device's type, as a share of it; 0:
 * the requirement holds at the confidence asked for. */
double in_order_shortfall(struct in_order *o, const struct optimize_input *in,
                          const struct job_status *job, int device);

/* True: a place that breaks the promise may be taken, because the grace time is nearly
 * over or because no type is believed to keep it. */
bool in_order_may_break(struct in_order *o, const struct optimize_input *in,
                        const struct job_status *job);

/* Nodes awake and in use first when nodes may sleep, then in a fixed order. */
double in_order_preference(const struct occupancy *occupancy,
                           const struct optimize_input *in, int device);

struct rng *in_order_rng(struct in_order *o);
int in_order_last_node(const struct in_order *o); /* a job was placed on; -1: none yet */
