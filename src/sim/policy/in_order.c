/* in_order.c - see in_order.h */
#include "sim/policy/in_order.h"

#include "base/mem.h"
#include "loop/cluster.h"
#include "loop/belief.h"
#include "loop/optimize/plan.h"

#include <stdlib.h>
#include <string.h>

#define IDLE_BEFORE_SLEEP_S 300.0
#define FITS_LEAST          0.5

struct in_order {
    struct occupancy occupancy;
    struct choose choose;
    uint64_t job; /* the beliefs below are of this one */
    bool asked[CLUSTER_MAX_TYPES];
    struct prediction alone[CLUSTER_MAX_TYPES];
};

void *in_order_create(uint64_t seed)
{
    (void)seed;
    return mem_new(struct in_order);
}

void in_order_destroy(void *self)
{
    struct in_order *o = self;

    occupancy_fini(&o->occupancy);
    choose_fini(&o->choose);
    free(o);
}

static const struct prediction *believed(struct in_order *o,
                                         const struct optimize_input *in,
                                         const struct job_status *job, int device)
{
    int type = in->cluster->devices[device].type;

    if (o->job != job->job.id) {
        o->job = job->job.id;
        memset(o->asked, 0, sizeof(o->asked));
    }
    if (!o->asked[type]) {
        o->alone[type] = belief_alone(in->model, &job->job, type);
        o->asked[type] = true;
    }
    return &o->alone[type];
}

double in_order_rate(struct in_order *o, const struct optimize_input *in,
                     const struct job_status *job, int device)
{
    return believed(o, in, job, device)->rate[0].value;
}

bool in_order_fits(struct in_order *o, const struct optimize_input *in,
                   const struct job_status *job, int device)
{
    struct combination where;
    struct prediction together;

    if (believed(o, in, job, device)->fits < FITS_LEAST)
        return false;
    if (o->occupancy.counts[device] == 0)
        return true;
    occupancy_combination(&o->occupancy, in, device, 0, job, &where);
    belief_predict(in->model, &where, &together);
    return together.fits >= FITS_LEAST;
}

double in_order_preference(const struct occupancy *occupancy,
                           const struct optimize_input *in, int device)
{
    int node = in->cluster->devices[device].node;
    double preference = device;

    if (in->settings->sleep) {
        if (in->cluster->nodes[node].state == NODE_ASLEEP)
            preference += 2e6;
        if (occupancy->node_jobs[node] == 0)
            preference += 1e6;
    }
    return preference;
}

void in_order_plan(void *self, const struct optimize_input *in, struct plan *plan,
                   choose_score *score)
{
    struct in_order *o = self;
    bool blocked = false;

    plan_reset(plan, in);
    occupancy_load(&o->occupancy, in);
    o->job = 0; /* beliefs change between rounds */
    for (size_t i = 0; i < in->job_count; i++) {
        const struct job_status *job = in->jobs[i];
        int devices[LOOP_MAX_GANG];
        double total;

        if (job->state == JOB_RUNNING) {
            plan_keep(plan, in, i);
            continue;
        }
        blocked = blocked || !choose_devices(&o->choose, &o->occupancy, in, job, score, o,
                                             devices, &total);
        if (blocked) {
            plan->seats[i].reason = UNPLACED_POLICY;
            continue;
        }
        for (int k = 0; k < job->job.devices; k++)
            occupancy_add(&o->occupancy, in->cluster, devices[k], job);
        plan_seat(plan, i, devices, job->job.devices);
    }
    plan_sleep_idle(plan, in, IDLE_BEFORE_SLEEP_S);
}
