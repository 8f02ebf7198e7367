/* loop_admin.h - what people and a restart do to a loop, beside submitting and measuring
 *
 * Like the calls of round.h: pure, on the loop's thread, 0 or -1 with nothing changed. */
#ifndef CORGI_LOOP_LOOP_ADMIN_H
#define CORGI_LOOP_LOOP_ADMIN_H

#include "loop/loop.h"

/* A held job gets no seat.  One that runs is put back into the queue first, which is the
 * caller's business (loop_requeue). */
int loop_hold(struct loop *loop, uint64_t job, bool held, struct err *err);

/* Another requirement from now on; checked like that of a new request. */
int loop_set_need(struct loop *loop, uint64_t job, const struct requirement *need,
                  struct err *err);
int loop_set_priority(struct loop *loop, uint64_t job, int priority, struct err *err);

/* Nothing new starts on a drained device; what runs there stays. */
int loop_drain(struct loop *loop, int device, bool drained, struct err *err);

/* A device is gone: its jobs wait again.  Or it is back. */
void loop_device_failed(struct loop *loop, int device, double now_s);
void loop_device_repaired(struct loop *loop, int device, double now_s);

/* No power cap on this device until then: it was what broke a promise. */
void loop_uncap(struct loop *loop, int device, double until_s);

/* The power limit in force, as an operator or an engine set it. */
int loop_set_cap(struct loop *loop, int device, double watts, double now_s,
                 struct err *err);

/* An operator's word on the limit of a device: plans keep to it.  0 watts: no limit at
 * all; NaN: the planner decides again.  Errors as loop_set_cap(). */
int loop_fix_cap(struct loop *loop, int device, double watts, double now_s,
                 struct err *err);

/* Whether a node may be put to sleep. */
void loop_allow_sleep(struct loop *loop, int node, bool allowed);

void loop_set_settings(struct loop *loop, const struct optimize_settings *settings);
const struct optimize_settings *loop_settings(const struct loop *loop);

/* A job as it was before a restart: it waits, or runs on its devices.  ERR_INVALID when
 * the cluster has no such seats (any more): nothing has changed. */
int loop_restore(struct loop *loop, const struct job_status *was, struct err *err);

/* A node as it was before a restart. */
void loop_restore_node(struct loop *loop, int node, enum node_state state, double now_s);

/* The observation a measurement makes, for a second model that learns the same.  Pointers
 * are borrowed from the loop.  Errors as loop_measure(). */
int loop_observe(struct loop *loop, const struct measurement *m, struct observation *seen,
                 struct err *err);

/* Exchange the model for another that has learned the same and more; the old one is the
 * caller's. */
struct model loop_swap_model(struct loop *loop, struct model model);

#endif
