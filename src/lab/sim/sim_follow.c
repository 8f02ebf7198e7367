/* sim_follow.c - a run that follows a schedule that was, instead of a planner
 *
 * sim_run.c asks here when the next job started and lets those start whose time has come.
 * Each goes to its nodes; Slurm tells no index of GPUs, so free ones are taken.  One that
 * had a part of a GPU joins another, and neither is slower for it: what that cost is in
 * the times of the record.  When a job before it takes longer here than it really did, it
 * waits for that one: what is reported afterwards says how far the two are apart. */
#include "lab/sim/sim_private.h"

#include "lab/traces/real_schedule.h"
#include "loop/cluster.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int by_start(const void *a, const void *b, void *ctx)
{
    const struct real_schedule *s = ctx;
    size_t x = *(const size_t *)a, y = *(const size_t *)b;

    if (s->stays[x].start_s != s->stays[y].start_s)
        return s->stays[x].start_s < s->stays[y].start_s ? -1 : 1;
    return (x > y) - (x < y);
}

void sim_follow_init(struct sim *sim)
{
    const struct real_schedule *s = sim->setup->schedule;

    if (!s)
        return;
    for (size_t i = 0; i < s->count; i++)
        vec_push(&sim->to_start, i);
    qsort_r(sim->to_start.items, s->count, sizeof(size_t), by_start,
            (void *)(uintptr_t)s);
}

double sim_follow_next_s(const struct sim *sim)
{
    const struct real_schedule *s = sim->setup->schedule;

    return sim->next_start < s->count
               ? s->stays[sim->to_start.items[sim->next_start]].start_s
               : INFINITY;
}

/* So many more free devices of a node, up to `most` of it. */
static void take_free(const struct cluster *c, int node, int most, struct action *a,
                      int wanted)
{
    const struct node *n = &c->nodes[node];
    int taken = 0;

    for (int d = n->first_device; d < n->first_device + n->device_count; d++) {
        bool have = c->devices[d].job_count > 0;

        for (int i = 0; i < a->device_count; i++)
            have = have || a->devices[i] == d;
        if (have || taken == most || a->device_count == wanted)
            continue;
        a->devices[a->device_count++] = d;
        taken++;
    }
}

/* It had a part of a GPU: the device of another that is alone there. */
static void take_part(const struct cluster *c, const struct node *n, struct action *a)
{
    for (int d = n->first_device; d < n->first_device + n->device_count; d++)
        if (a->device_count == 0 && c->devices[d].job_count == 1)
            a->devices[a->device_count++] = d;
}

/* Devices the job could ever have there. */
static int room(const struct cluster *c, const struct real_stay *stay)
{
    int devices = 0;

    for (int i = 0; i < stay->node_count; i++)
        devices += c->nodes[stay->nodes[i]].device_count;
    return devices;
}

static void choose_anywhere(const struct cluster *c, int type, struct action *a,
                            int wanted)
{
    for (int n = 0; n < c->node_count; n++)
        if (c->nodes[n].device_count > 0 &&
            (type < 0 || c->devices[c->nodes[n].first_device].type == type))
            take_free(c, n, wanted, a, wanted);
}

/* On its own nodes, the same number on each as far as possible; where the cluster does
 * not have these, on any with its type. */
static void choose(const struct cluster *c, const struct real_stay *stay,
                   struct action *a, int wanted)
{
    int each;

    if (room(c, stay) < wanted) {
        choose_anywhere(c, stay->type, a, wanted);
        return;
    }
    each = (wanted + stay->node_count - 1) / stay->node_count;
    for (int i = 0; i < stay->node_count; i++)
        take_free(c, stay->nodes[i], each, a, wanted);
    for (int i = 0; i < stay->node_count; i++)
        take_free(c, stay->nodes[i], wanted, a, wanted);
    if (stay->shares && a->device_count == 0)
        take_part(c, &c->nodes[stay->nodes[0]], a);
}

/* 1: it has started, 0: there is no room now, -1: it cannot run at all. */
static int start_one(struct sim *sim, size_t index)
{
    const struct job *job = &sim->setup->workload->requests[index].job;
    struct action a = {.kind = ACTION_START, .job = job->id};
    struct job_status status = {.job = *job,
                                .state = JOB_RUNNING,
                                .required_rate = job->need.rate,
                                .demand = NAN,
                                .started_s = sim->now_s,
                                .placed_s = sim->now_s,
                                .reference_type = -1,
                                .device_count = job->devices};

    if (job->devices > LOOP_MAX_GANG)
        return -1;
    choose(sim_inspect_cluster(&sim->engine), &sim->setup->schedule->stays[index], &a,
           job->devices);
    if (a.device_count < job->devices)
        return 0;
    memcpy(status.devices, a.devices, sizeof(status.devices));
    if (loop_restore(sim->loop, &status, NULL) < 0)
        return -1;
    sim_execute(sim, &a, 1);
    return 1;
}

/* Nothing runs and nothing will free a device. */
static bool is_empty(const struct sim *sim)
{
    size_t count;

    loop_jobs(sim->loop, &count);
    return count == 0;
}

void sim_follow_start(struct sim *sim)
{
    const struct real_schedule *s = sim->setup->schedule;
    size_t kept = 0;

    while (sim->next_start < s->count && sim_follow_next_s(sim) <= sim->now_s)
        vec_push(&sim->late, sim->to_start.items[sim->next_start++]);
    for (size_t i = 0; i < sim->late.count; i++) {
        size_t index = sim->late.items[i];
        int started = start_one(sim, index);

        if (started < 0 || (started == 0 && is_empty(sim))) {
            sim->jobs[index].end = SIM_REFUSED;
            sim->ended++;
        } else if (started == 0) {
            sim->late.items[kept++] = index;
        }
    }
    sim->late.count = kept;
}

void sim_follow_fini(struct sim *sim)
{
    vec_free(&sim->to_start);
    vec_free(&sim->late);
}
