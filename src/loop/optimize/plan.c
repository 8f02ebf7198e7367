/* plan.c - the planners build their plans with it, and round.c the plan of the present */
#include "loop/optimize/plan.h"

#include "base/mem.h"
#include "loop/cluster.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of the card's peak: with steps of 15 % limits fell short more often, or were not set.
 */
#define CAP_STEP 0.05

static void *with_room(void *items, size_t *capacity, size_t needed, size_t size)
{
    if (needed > *capacity) {
        items = mem_resize(items, *capacity, 2 * needed, size);
        *capacity = 2 * needed;
    }
    return items;
}

void plan_reset(struct plan *plan, const struct optimize_input *in)
{
    size_t devices = (size_t)in->cluster->device_count;
    size_t nodes = (size_t)in->cluster->node_count;

    plan->seats =
        with_room(plan->seats, &plan->seat_capacity, in->job_count, sizeof(*plan->seats));
    plan->cap_watts = mem_resize(plan->cap_watts, 0, devices, sizeof(*plan->cap_watts));
    plan->awake = mem_resize(plan->awake, 0, nodes, sizeof(*plan->awake));
    plan->seat_count = in->job_count;
    plan->used = 0;
    for (size_t i = 0; i < in->job_count; i++)
        plan->seats[i] =
            (struct seat){.job = in->stamps ? in->stamps[i].id : in->jobs[i]->job.id,
                          .reason = UNPLACED_CAPACITY};
    for (size_t d = 0; d < devices; d++)
        plan->cap_watts[d] = in->cluster->devices[d].cap_watts;
    for (size_t n = 0; n < nodes; n++)
        plan->awake[n] = in->cluster->nodes[n].state != NODE_ASLEEP &&
                         in->cluster->nodes[n].state != NODE_FALLING;
    plan->again_s = INFINITY;
    plan->improved = plan->queue_cut = false;
    plan->mend_count = 0;
}

void plan_fini(struct plan *plan)
{
    free(plan->seats);
    free(plan->devices);
    free(plan->cap_watts);
    free(plan->awake);
    free(plan->mends);
    *plan = (struct plan){0};
}

void plan_seat(struct plan *plan, size_t seat, const int *devices, int count)
{
    size_t needed = plan->used + (size_t)count;

    assert(seat < plan->seat_count && count > 0 && count <= LOOP_MAX_GANG);
    plan->devices =
        with_room(plan->devices, &plan->capacity, needed, sizeof(*plan->devices));
    memcpy(plan->devices + plan->used, devices, (size_t)count * sizeof(*devices));
    plan->seats[seat].first = (int)plan->used;
    plan->seats[seat].device_count = count;
    plan->seats[seat].reason = UNPLACED_NONE;
    plan->used = needed;
}

void plan_take_seat(struct plan *plan, size_t seat, const struct plan *from, size_t at)
{
    const struct seat *given = &from->seats[at];

    if (given->device_count > 0)
        plan_seat(plan, seat, from->devices + given->first, given->device_count);
    plan->seats[seat].reason = given->reason;
    plan->seats[seat].by = given->by;
    plan->seats[seat].rate = given->rate;
    plan->seats[seat].watts = given->watts;
}

void plan_note_mend(struct plan *plan, const struct plan_mend *mend)
{
    plan->mends = with_room(plan->mends, &plan->mend_capacity, plan->mend_count + 1,
                            sizeof(*plan->mends));
    plan->mends[plan->mend_count++] = *mend;
}

void plan_keep(struct plan *plan, const struct optimize_input *in, size_t seat)
{
    const struct job_status *status = in->jobs[seat];

    assert(status->state == JOB_RUNNING);
    plan_seat(plan, seat, status->devices, status->device_count);
}

int plan_cap_levels(const struct gpu_sheet *gpu, double watts[PLAN_CAPS_MOST])
{
    int count = 1;

    watts[0] = 0;
    for (int c = 1; c < PLAN_CAPS_MOST; c++) {
        double cap = gpu->tdp_watts * (1 - CAP_STEP * c);

        if (gpu->cap_min_watts > 0 && cap >= gpu->cap_min_watts)
            watts[count++] = cap;
    }
    return count;
}

/* Nodes that get somebody are awake: a seat may have been given up. */
static void wake_seated(struct plan *plan, const struct cluster *c)
{
    bool *asleep = mem_array(bool, (size_t)c->device_count + 1);

    for (int n = 0; n < c->node_count; n++)
        if (!plan->awake[n])
            memset(asleep + c->nodes[n].first_device, 1,
                   (size_t)c->nodes[n].device_count * sizeof(*asleep));
    for (size_t i = 0; i < plan->seat_count; i++) {
        const struct seat *seat = &plan->seats[i];

        for (int k = 0; k < seat->device_count; k++)
            if (asleep[plan->devices[seat->first + k]])
                plan->awake[c->devices[plan->devices[seat->first + k]].node] = true;
    }
    free(asleep);
}

void plan_sleep_idle(struct plan *plan, const struct optimize_input *in, double idle_s)
{
    const struct cluster *c = in->cluster;

    for (int n = 0; n < c->node_count; n++) {
        const struct node *node = &c->nodes[n];

        if (!in->settings->sleep)
            plan->awake[n] = true;
        else if (node->state == NODE_AWAKE && node->may_sleep &&
                 in->now_s - node->idle_since_s >= idle_s && cluster_node_is_unused(c, n))
            plan->awake[n] = false;
    }
    wake_seated(plan, c);
}
