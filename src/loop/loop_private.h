/* loop_private.h - the inside of struct loop, for round.c, control.c and draft.c only */
#ifndef CORGI_LOOP_LOOP_PRIVATE_H
#define CORGI_LOOP_LOOP_PRIVATE_H

#include "loop/job_table.h"
#include "loop/place/place.h"
#include "loop/loop.h"

struct loop {
    struct optimize_settings settings;
    struct cluster *cluster;
    struct model model;
    struct planner planner;
    struct jobs *jobs;
    struct plan plan;
    place_actions actions;
    vec_of(const struct job_status *) ready; /* what the planner is shown */
    struct refine_score score;
    double *device_changed_s; /* (devices) when jobs or cap of a device last changed */
    double *fixed_cap_watts;  /* (devices) an operator's word; NaN: none */
    double *uncapped_until_s; /* (devices) no cap is set before this */
};

int loop_find(struct loop *loop, uint64_t id, struct job_status **status,
              struct err *err);
void loop_leave_devices(struct loop *loop, struct job_status *status, double now_s);

/* The present as a planner sees it: jobs that are held and wait are left out.  Borrowed
 * until the next call or change. */
struct optimize_input loop_input(struct loop *loop, double now_s);
/* Likewise, of the jobs loop->ready has. */
struct optimize_input loop_input_of_ready(struct loop *loop, double now_s);

/* Check loop->plan against the input and turn it into actions. */
int loop_carry_out(struct loop *loop, const struct optimize_input *in,
                   const struct action **actions, size_t *count, struct err *err);

#endif
