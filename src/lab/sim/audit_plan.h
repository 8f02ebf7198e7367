/* audit_plan.h - what a plan of whatever planner amounts to, reckoned afresh
 *
 * place_check() refuses plans that cannot be carried out.  The audit goes on from there:
 * it asks the model once more about every device of the plan, adds up watts and needs by
 * its own arithmetic and says what the planner should not have done.  It shares no code
 * with any planner, takes a question to the model a device, and is meant for tests and
 * for the simulator's debug mode. */
#pragma once

#include "base/err.h"
#include "loop/planner.h"

struct audit {
    double device_watts; /* of devices with jobs, as predicted, caps in force */
    double idle_watts;   /* of devices without, on nodes that are awake */
    double host_watts;   /* of nodes, asleep or awake */
    int served;          /* jobs with devices */
    int waiting;
    int needs_missed;    /* served, and believed to be slower than required */
    uint64_t missed;     /* id of the first of these */
    int unlikely_to_fit; /* served where memory is more likely too small than not */
    bool over_limit;     /* more watts than the cluster may draw */
};

/* -1 and a sentence for what is wrong under any circumstances: figures that are not
 * finite or contradict each other, a cap or a sleeping node that the settings forbid, a
 * node asleep under its jobs, a job that waits without a reason.  *audit is filled then,
 * too, as far as it got. */
int audit_plan(const struct optimize_input *in, const struct plan *plan,
               struct audit *audit, struct err *err);
