/* place.c - a round that ends (round.c) has its plan checked and applied here, and gives
 * the actions to its caller */
#include "loop/place/place.h"

#include "base/mem.h"
#include "loop/cluster.h"
#include "loop/host_room.h"
#include "loop/node_access.h"
#include "loop/requirement.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool sits_on(const struct job_status *status, int device)
{
    for (int k = 0; k < status->device_count; k++)
        if (status->devices[k] == device)
            return true;
    return false;
}

bool place_stays(const struct job_status *status, const int *devices, int count)
{
    if (status->device_count != count)
        return false;
    for (int i = 0; i < count; i++)
        if (!sits_on(status, devices[i]))
            return false;
    return true;
}

/* ---- the rules ---- */

/* A running job keeps its devices unless it, and the settings, allow a move; it is never
 * put back into the queue. */
static int check_stay(const struct optimize_input *in, const struct plan *plan, size_t i,
                      struct err *err)
{
    const struct job_status *status = in->jobs[i];
    const struct seat *seat = &plan->seats[i];
    unsigned long long id = status->job.id;

    if (status->state != JOB_RUNNING)
        return 0;
    if (status->job.may_move && in->settings->moves)
        return 0; /* stopped or moved: both cost it the same restart */
    if (seat->device_count == 0)
        return err_set(err, ERR_INVALID, "job %llu runs and has no seat", id);
    for (int k = 0; k < seat->device_count; k++) {
        if (!sits_on(status, plan->devices[seat->first + k]))
            return err_set(err, ERR_INVALID, "job %llu is moved and may not", id);
    }
    return 0;
}

static int check_seat(const struct optimize_input *in, const struct plan *plan, size_t i,
                      int *load, struct err *err)
{
    const struct job_status *status = in->jobs[i];
    const struct seat *seat = &plan->seats[i];
    unsigned long long id = status->job.id;

    if (seat->job != status->job.id)
        return err_set(err, ERR_INVALID, "seat %zu is not for job %llu", i, id);
    if (seat->device_count == 0)
        return 0;
    if (seat->device_count != status->job.devices || seat->first < 0 ||
        (size_t)seat->first + (size_t)seat->device_count > plan->used)
        return err_set(err, ERR_INVALID, "job %llu asked for %d devices and got %d", id,
                       status->job.devices, seat->device_count);
    for (int k = 0; k < seat->device_count; k++) {
        int d = plan->devices[seat->first + k];

        if (d < 0 || d >= in->cluster->device_count)
            return err_set(err, ERR_INVALID, "job %llu got device %d of %d", id, d,
                           in->cluster->device_count);
        for (int m = 0; m < k; m++)
            if (plan->devices[seat->first + m] == d)
                return err_set(err, ERR_INVALID, "job %llu got device %d twice", id, d);
        if (!sits_on(status, d) && !cluster_device_usable(in->cluster, d))
            return err_set(err, ERR_INVALID, "job %llu got unusable device %d", id, d);
        if (!requirement_allows_type(&status->job, in->cluster->devices[d].type) ||
            (!sits_on(status, d) &&
             !node_access_allows(in->cluster, &status->job, in->cluster->devices[d].node,
                                 in->now_s)))
            return err_set(err, ERR_INVALID, "job %llu may not run on device %d", id, d);
        if (!plan->awake[in->cluster->devices[d].node])
            return err_set(err, ERR_INVALID, "job %llu sits on a node that shall sleep",
                           id);
        load[d]++;
    }
    return 0;
}

static int check_sharing(const struct optimize_input *in, const struct plan *plan,
                         const int *load, struct err *err)
{
    for (size_t i = 0; i < plan->seat_count; i++) {
        const struct seat *seat = &plan->seats[i];

        for (int k = 0; k < seat->device_count; k++) {
            int d = plan->devices[seat->first + k];

            int most = cluster_share_most(in->cluster, d, in->settings->share_max);

            /* Where fewer may share than before, those who do already go on. */
            if (load[d] > most && !sits_on(in->jobs[i], d))
                return err_set(err, ERR_INVALID, "device %d has %d jobs, %d are allowed",
                               d, load[d], most);
            if (load[d] > 1 && !in->jobs[i]->job.may_share)
                return err_set(err, ERR_INVALID, "job %llu shares device %d and may not",
                               (unsigned long long)seat->job, d);
        }
    }
    return 0;
}

/* What the plan leaves of each node's processors and memory; the caller frees. */
static struct host_room *rooms_left(const struct optimize_input *in,
                                    const struct plan *plan)
{
    const struct cluster *c = in->cluster;
    struct host_room *left = mem_array(struct host_room, (size_t)c->node_count + 1);

    for (int n = 0; n < c->node_count; n++)
        left[n] = host_room_of_node(c, n);
    for (size_t i = 0; i < plan->seat_count; i++)
        for (int k = 0; k < plan->seats[i].device_count; k++)
            host_room_take(
                &left[c->devices[plan->devices[plan->seats[i].first + k]].node],
                host_room_each(&in->jobs[i]->job), 1);
    return left;
}

/* Does somebody come to a device who asks for room on its host? */
static bool rooms_matter(const struct optimize_input *in, const struct plan *plan)
{
    for (size_t i = 0; i < plan->seat_count; i++) {
        const struct seat *seat = &plan->seats[i];

        if (host_room_wanted(host_room_each(&in->jobs[i]->job)) &&
            !place_stays(in->jobs[i], plan->devices + seat->first, seat->device_count))
            return true;
    }
    return false;
}

static bool sits_on_node(const struct cluster *c, const struct job_status *status,
                         int node)
{
    for (int k = 0; k < status->device_count; k++)
        if (c->devices[status->devices[k]].node == node)
            return true;
    return false;
}

/* Where less is left than before, those who are there already go on. */
static int check_rooms(const struct optimize_input *in, const struct plan *plan,
                       struct err *err)
{
    struct host_room *left;
    int rc = 0;

    if (!rooms_matter(in, plan))
        return 0;
    left = rooms_left(in, plan);
    for (size_t i = 0; i < plan->seat_count && rc == 0; i++) {
        const struct seat *seat = &plan->seats[i];
        struct host_room each = host_room_each(&in->jobs[i]->job);

        for (int k = 0; k < seat->device_count && rc == 0; k++) {
            int n = in->cluster->devices[plan->devices[seat->first + k]].node;

            /* All have come: of what this one asks for nothing may be missing. */
            if (!host_room_holds(left[n], each, 0) &&
                !sits_on_node(in->cluster, in->jobs[i], n))
                rc = err_set(err, ERR_INVALID,
                             "job %llu is put on %s, which has too few processors or too "
                             "little memory for it",
                             (unsigned long long)seat->job, in->cluster->nodes[n].name);
        }
    }
    free(left);
    return rc;
}

static int check_caps(const struct optimize_input *in, const struct plan *plan,
                      struct err *err)
{
    for (int d = 0; d < in->cluster->device_count; d++) {
        const struct gpu_sheet *type = &in->cluster->types[in->cluster->devices[d].type];
        double cap = plan->cap_watts[d];

        if (cap == 0)
            continue;
        if (!(cap >= type->cap_min_watts) || type->cap_min_watts <= 0 ||
            cap > type->tdp_watts)
            return err_set(err, ERR_INVALID, "device %d cannot be capped at %g W", d,
                           cap);
    }
    return 0;
}

int place_check(const struct optimize_input *in, const struct plan *plan, struct err *err)
{
    int *load = mem_array(int, (size_t)in->cluster->device_count);
    int rc = -1;

    if (plan->seat_count != in->job_count) {
        err_set(err, ERR_INVALID, "the plan has %zu seats for %zu jobs", plan->seat_count,
                in->job_count);
        goto done;
    }
    for (size_t i = 0; i < plan->seat_count; i++)
        if (check_seat(in, plan, i, load, err) < 0 || check_stay(in, plan, i, err) < 0)
            goto done;
    if (check_sharing(in, plan, load, err) < 0 || check_rooms(in, plan, err) < 0 ||
        check_caps(in, plan, err) < 0)
        goto done;
    rc = 0;
done:
    free(load);
    return rc;
}

/* ---- what is to be done ---- */

static void leave_all(struct job_status *status, struct cluster *cluster, double now_s)
{
    for (int i = 0; i < status->device_count; i++)
        cluster_leave(cluster, status->devices[i], status->job.id, now_s);
    status->device_count = 0;
}

/* First everyone who goes leaves, so that the seats of those who come are free; does
 * anybody? */
static bool vacate(const struct optimize_input *in, const struct plan *plan,
                   struct jobs *jobs, struct cluster *cluster, place_actions *actions)
{
    bool any = false;

    for (size_t i = 0; i < plan->seat_count; i++) {
        const struct seat *seat = &plan->seats[i];
        struct job_status *status;

        if (in->jobs[i]->state != JOB_RUNNING ||
            place_stays(in->jobs[i], plan->devices + seat->first, seat->device_count))
            continue;
        status = jobs_get(jobs, seat->job);
        leave_all(status, cluster, in->now_s);
        any = true;
        if (seat->device_count == 0) {
            status->state = JOB_WAITING;
            vec_push(actions, (struct action){
                                  .kind = ACTION_STOP, .job = seat->job, .by = seat->by});
        }
    }
    return any;
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

        if (in->jobs[i]->state == from && seat->device_count > 0 &&
            in->jobs[i]->device_count == 0)
            seat_one(in, plan, seat, jobs_get(jobs, seat->job), cluster, actions);
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
    if (vacate(in, plan, jobs, cluster, actions))
        seat_all(in, plan, JOB_RUNNING, jobs, cluster, actions);
    seat_all(in, plan, JOB_WAITING, jobs, cluster, actions);
    set_nodes(in, plan, cluster, false, actions);
}
