/* occupancy.c - who is on which device in a round: in_order.c and the Gavel policies
 * keep it up to date while they seat */
#include "lab/policy/occupancy.h"

#include "base/mem.h"
#include "loop/cluster.h"
#include "loop/node_access.h"
#include "loop/requirement.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void clear(struct occupancy *o, const struct optimize_input *in)
{
    const struct cluster *c = in->cluster;
    size_t devices = (size_t)c->device_count, nodes = (size_t)c->node_count;

    if (o->device_count != c->device_count || o->node_count != c->node_count) {
        occupancy_fini(o);
        o->device_count = c->device_count;
        o->node_count = c->node_count;
        o->counts = mem_array(int, devices);
        o->jobs = mem_array(const struct job_status *, devices *LOOP_MAX_SHARE);
        o->node_jobs = mem_array(int, nodes);
    }
    memset(o->counts, 0, devices * sizeof(*o->counts));
    memset(o->node_jobs, 0, nodes * sizeof(*o->node_jobs));
}

void occupancy_load(struct occupancy *o, const struct optimize_input *in)
{
    clear(o, in);
    for (size_t i = 0; i < in->job_count; i++)
        for (int k = 0; k < in->jobs[i]->device_count; k++)
            occupancy_add(o, in->cluster, in->jobs[i]->devices[k], in->jobs[i]);
}

void occupancy_load_plan(struct occupancy *o, const struct optimize_input *in,
                         const struct plan *plan)
{
    clear(o, in);
    for (size_t i = 0; i < in->job_count; i++)
        for (int k = 0; k < plan->seats[i].device_count; k++)
            occupancy_add(o, in->cluster, plan->devices[plan->seats[i].first + k],
                          in->jobs[i]);
}

void occupancy_fini(struct occupancy *o)
{
    free(o->counts);
    free(o->jobs);
    free(o->node_jobs);
    *o = (struct occupancy){0};
}

void occupancy_add(struct occupancy *o, const struct cluster *cluster, int device,
                   const struct job_status *job)
{
    assert(o->counts[device] < LOOP_MAX_SHARE);
    o->jobs[(long)device * LOOP_MAX_SHARE + o->counts[device]++] = job;
    o->node_jobs[cluster->devices[device].node]++;
}

void occupancy_remove(struct occupancy *o, const struct cluster *cluster, int device,
                      const struct job_status *job)
{
    const struct job_status **jobs = &o->jobs[(long)device * LOOP_MAX_SHARE];
    int i = 0;

    while (i < o->counts[device] && jobs[i] != job)
        i++;
    assert(i < o->counts[device]);
    for (; i + 1 < o->counts[device]; i++)
        jobs[i] = jobs[i + 1];
    o->counts[device]--;
    o->node_jobs[cluster->devices[device].node]--;
}

bool occupancy_admits(const struct occupancy *o, const struct optimize_input *in,
                      int device, const struct job *job)
{
    const struct job_status *const *there = occupancy_of(o, device);
    int count = o->counts[device];
    uint64_t type_bit = (uint64_t)1 << in->cluster->devices[device].type;

    if (!cluster_device_usable(in->cluster, device))
        return false;
    if (job->types_allowed && !(job->types_allowed & type_bit))
        return false;
    if (!node_access_allows(in->cluster, job, in->cluster->devices[device].node,
                            in->now_s))
        return false;
    if (count == 0)
        return true;
    if (count >= in->settings->share_max || !job->may_share)
        return false;
    for (int i = 0; i < count; i++)
        if (!there[i]->job.may_share || there[i]->job.id == job->id)
            return false;
    return true;
}

void occupancy_combination(const struct occupancy *o, const struct optimize_input *in,
                           int device, double cap_watts, const struct job_status *more,
                           struct combination *out)
{
    const struct job_status *const *there = occupancy_of(o, device);

    out->type = in->cluster->devices[device].type;
    out->cap_watts = cap_watts;
    out->count = 0;
    for (int i = 0; i < o->counts[device]; i++) {
        int nodes = 1;

        if (there[i]->job.devices > 1 && there[i]->device_count > 1)
            nodes = cluster_nodes_spanned(in->cluster, there[i]->devices,
                                          there[i]->device_count);
        out->members[out->count++] =
            (struct member){&there[i]->job, nodes, requirement_demand(there[i])};
    }
    if (more)
        out->members[out->count++] =
            (struct member){&more->job, 1, requirement_demand(more)};
}
