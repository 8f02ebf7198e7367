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

/* How many jobs come to be on each device, and whether one of them is new there. */
struct device_load {
    int jobs;
    bool entered;
};

/* Of a job that does not stay as it is. */
static int check_seat(const struct optimize_input *in, const struct plan *plan, size_t i,
                      struct device_load *load, struct err *err)
{
    const struct job_status *status = in->jobs[i];
    const struct seat *seat = &plan->seats[i];
    unsigned long long id = status->job.id;

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
        load[d].jobs++;
        load[d].entered = true;
    }
    return 0;
}

/* Most jobs stay, and what held for them before holds. */
static int check_seats(const struct optimize_input *in, const struct plan *plan,
                       struct device_load *load, place_changes *changes, struct err *err)
{
    for (size_t i = 0; i < plan->seat_count; i++) {
        const struct seat *seat = &plan->seats[i];
        const int *devices = plan->devices + seat->first;
        uint64_t id = in->stamps ? in->stamps[i].id : in->jobs[i]->job.id;

        if (seat->job != id)
            return err_set(err, ERR_INVALID, "seat %zu is not for job %llu", i,
                           (unsigned long long)id);
        if (seat->first >= 0 &&
            (size_t)(seat->first + seat->device_count) <= plan->used &&
            place_stays(in->jobs[i], devices, seat->device_count)) {
            for (int k = 0; k < seat->device_count; k++)
                load[devices[k]].jobs++;
            continue;
        }
        vec_push(changes, i);
        if (check_seat(in, plan, i, load, err) < 0 || check_stay(in, plan, i, err) < 0)
            return -1;
    }
    return 0;
}

static int check_awake(const struct optimize_input *in, const struct plan *plan,
                       const struct device_load *load, struct err *err)
{
    for (int n = 0; n < in->cluster->node_count; n++) {
        const struct node *node = &in->cluster->nodes[n];

        for (int d = node->first_device;
             !plan->awake[n] && d < node->first_device + node->device_count; d++)
            if (load[d].jobs > 0)
                return err_set(err, ERR_INVALID,
                               "a job sits on %s, a node that shall sleep", node->name);
    }
    return 0;
}

static int check_sharing(const struct optimize_input *in, const struct plan *plan,
                         const struct device_load *load, struct err *err)
{
    for (size_t i = 0; i < plan->seat_count; i++) {
        const struct seat *seat = &plan->seats[i];

        for (int k = 0; k < seat->device_count; k++) {
            int d = plan->devices[seat->first + k], most;

            if (!load[d].entered) /* those who share already go on */
                continue;
            most = cluster_share_most(in->cluster, d, in->settings->share_max);
            if (load[d].jobs > most && !sits_on(in->jobs[i], d))
                return err_set(err, ERR_INVALID, "device %d has %d jobs, %d are allowed",
                               d, load[d].jobs, most);
            if (load[d].jobs > 1 && !in->jobs[i]->job.may_share)
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
static bool rooms_matter(const struct optimize_input *in, const place_changes *changes)
{
    vec_each (const size_t, i, changes)
        if (host_room_wanted(host_room_each(&in->jobs[*i]->job)))
            return true;
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
                       const place_changes *changes, struct err *err)
{
    struct host_room *left;
    int rc = 0;

    if (!rooms_matter(in, changes))
        return 0;
    left = rooms_left(in, plan);
    for (size_t c = 0; c < changes->count && rc == 0; c++) {
        size_t i = changes->items[c];
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

int place_check(const struct optimize_input *in, const struct plan *plan,
                place_changes *changes, struct err *err)
{
    struct device_load *load;
    int rc = -1;

    vec_clear(changes);
    if (plan->seat_count != in->job_count)
        return err_set(err, ERR_INVALID, "the plan has %zu seats for %zu jobs",
                       plan->seat_count, in->job_count);
    load = mem_array(struct device_load, (size_t)in->cluster->device_count);
    if (check_seats(in, plan, load, changes, err) == 0 &&
        check_awake(in, plan, load, err) == 0 &&
        check_sharing(in, plan, load, err) == 0 &&
        check_rooms(in, plan, changes, err) == 0 && check_caps(in, plan, err) == 0)
        rc = 0;
    free(load);
    return rc;
}

/* ---- what is to be done ---- */

static void leave_all(struct job_status *status, struct jobs *jobs,
                      struct cluster *cluster, double now_s)
{
    for (int i = 0; i < status->device_count; i++) {
        cluster_leave(cluster, status->devices[i], status->job.id, now_s);
        jobs_touch(jobs, &cluster->devices[status->devices[i]]);
    }
    status->device_count = 0;
}

/* First everyone who goes leaves, so that the seats of those who come are free. */
static void vacate(const struct optimize_input *in, const struct plan *plan,
                   const place_changes *changes, struct jobs *jobs,
                   struct cluster *cluster, place_actions *actions)
{
    vec_each (const size_t, i, changes) {
        const struct seat *seat = &plan->seats[*i];
        struct job_status *status = jobs_change(jobs, seat->job);

        if (status->state != JOB_RUNNING)
            continue;
        leave_all(status, jobs, cluster, in->now_s);
        if (seat->device_count == 0) {
            status->state = JOB_WAITING;
            vec_push(actions, (struct action){
                                  .kind = ACTION_STOP, .job = seat->job, .by = seat->by});
        }
    }
}

static void seat_one(const struct optimize_input *in, const struct plan *plan,
                     const struct seat *seat, struct jobs *jobs, struct cluster *cluster,
                     place_actions *actions)
{
    struct job_status *status = jobs_change(jobs, seat->job);
    struct action action = {.job = seat->job, .device_count = seat->device_count};

    action.kind = status->state == JOB_RUNNING ? ACTION_MOVE : ACTION_START;
    memcpy(action.devices, plan->devices + seat->first,
           (size_t)seat->device_count * sizeof(int));
    memcpy(status->devices, action.devices, sizeof(action.devices));
    status->device_count = seat->device_count;
    for (int k = 0; k < seat->device_count; k++) {
        jobs_touch(jobs, &cluster->devices[action.devices[k]]);
        cluster_seat(cluster, action.devices[k], seat->job);
    }
    status->moves += action.kind == ACTION_MOVE;
    if (isnan(status->started_s))
        status->started_s = in->now_s;
    status->placed_s = in->now_s;
    status->state = JOB_RUNNING;
    vec_push(actions, action);
}

/* Moves before starts: a start may need the seat a move leaves. */
static void seat_all(const struct optimize_input *in, const struct plan *plan,
                     const place_changes *changes, enum job_state from, struct jobs *jobs,
                     struct cluster *cluster, place_actions *actions)
{
    vec_each (const size_t, i, changes) {
        const struct seat *seat = &plan->seats[*i];
        const struct job_status *status = jobs_get(jobs, seat->job);

        if (status->state == from && seat->device_count > 0 && status->device_count == 0)
            seat_one(in, plan, seat, jobs, cluster, actions);
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
                 const place_changes *changes, struct jobs *jobs, struct cluster *cluster,
                 place_actions *actions)
{
    set_nodes(in, plan, cluster, true, actions);
    set_caps(plan, cluster, actions);
    vacate(in, plan, changes, jobs, cluster, actions);
    seat_all(in, plan, changes, JOB_RUNNING, jobs, cluster, actions);
    seat_all(in, plan, changes, JOB_WAITING, jobs, cluster, actions);
    set_nodes(in, plan, cluster, false, actions);
}
