/* place.c - see place.h */
#include "loop/place/place.h"

#include "loop/cluster.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static bool same_devices(const struct job_status *status, const int *devices, int count)
{
    if (status->device_count != count)
        return false;
    for (int i = 0; i < count; i++) {
        bool found = false;

        for (int k = 0; k < count && !found; k++)
            found = status->devices[k] == devices[i];
        if (!found)
            return false;
    }
    return true;
}

static void leave_all(struct job_status *status, struct cluster *cluster, double now_s)
{
    for (int i = 0; i < status->device_count; i++)
        cluster_leave(cluster, status->devices[i], status->job.id, now_s);
    status->device_count = 0;
}

/* First everyone who goes leaves, so that the seats of those who come are free. */
static void vacate(const struct optimize_input *in, const struct plan *plan,
                   struct jobs *jobs, struct cluster *cluster, place_actions *actions)
{
    for (size_t i = 0; i < plan->seat_count; i++) {
        const struct seat *seat = &plan->seats[i];
        struct job_status *status = jobs_get(jobs, seat->job);

        if (status->state != JOB_RUNNING ||
            same_devices(status, plan->devices + seat->first, seat->device_count))
            continue;
        leave_all(status, cluster, in->now_s);
        if (seat->device_count == 0) {
            status->state = JOB_WAITING;
            vec_push(actions, (struct action){.kind = ACTION_STOP, .job = seat->job});
        }
    }
}

static void seat_one(const struct optimize_input *in, const struct plan *plan,
                     const struct seat *seat, struct job_status *status,
                     struct cluster *cluster, place_actions *actions)
{
    struct action action = {.job = seat->job, .device_count = seat->device_count};

    action.kind = status->state == JOB_RUNNING ? ACTION_MOVE : ACTION_START;
    memcpy(action.devices, plan->devices + seat->first,
           (size_t)seat->device_count * sizeof(int));
    memcpy(status->devices, action.devices, sizeof(action.devices));
    status->device_count = seat->device_count;
    for (int k = 0; k < seat->device_count; k++)
        cluster_seat(cluster, action.devices[k], seat->job);
    status->moves += action.kind == ACTION_MOVE;
    if (isnan(status->started_s))
        status->started_s = in->now_s;
    status->placed_s = in->now_s;
    status->state = JOB_RUNNING;
    vec_push(actions, action);
}

/* Moves before starts: a start may need the seat a move leaves. */
static void seat_all(const struct optimize_input *in, const struct plan *plan,
                     enum job_state from, struct jobs *jobs, struct cluster *cluster,
                     place_actions *actions)
{
    for (size_t i = 0; i < plan->seat_count; i++) {
        const struct seat *seat = &plan->seats[i];
        struct job_status *status = jobs_get(jobs, seat->job);

        if (status->state == from && seat->device_count > 0 && status->device_count == 0)
            seat_one(in, plan, seat, status, cluster, actions);
    }
}

static void set_nodes(const struct optimize_input *in, const struct plan *plan,
                      struct cluster *cluster, bool awake, place_actions *actions)
{
    for (int n = 0; n < cluster->node_count; n++) {
        struct node *node = &cluster->nodes[n];

        if (plan->awake[n] != awake)
            continue;
        if (awake && node->state == NODE_ASLEEP) {
            node->state = NODE_WAKING;
            node->since_s = in->now_s;
            vec_push(actions, (struct action){.kind = ACTION_WAKE, .node = n});
        } else if (!awake && node->state == NODE_AWAKE &&
                   cluster_node_jobs(cluster, n) == 0) {
            node->state = NODE_ASLEEP;
            node->since_s = in->now_s;
            vec_push(actions, (struct action){.kind = ACTION_SLEEP, .node = n});
        }
    }
}

static void set_caps(const struct plan *plan, struct cluster *cluster,
                     place_actions *actions)
{
    for (int d = 0; d < cluster->device_count; d++) {
        if (cluster->devices[d].cap_watts == plan->cap_watts[d])
            continue;
        cluster->devices[d].cap_watts = plan->cap_watts[d];
        vec_push(actions, (struct action){.kind = ACTION_CAP,
                                          .device = d,
                                          .cap_watts = plan->cap_watts[d]});
    }
}

void place_apply(const struct optimize_input *in, const struct plan *plan,
                 struct jobs *jobs, struct cluster *cluster, place_actions *actions)
{
    set_nodes(in, plan, cluster, true, actions);
    set_caps(plan, cluster, actions);
    vacate(in, plan, jobs, cluster, actions);
    seat_all(in, plan, JOB_RUNNING, jobs, cluster, actions);
    seat_all(in, plan, JOB_WAITING, jobs, cluster, actions);
    set_nodes(in, plan, cluster, false, actions);
}
