/* place_check.c - the rules a plan must keep, see place.h */
#include "loop/place/place.h"

#include "base/mem.h"
#include "loop/cluster.h"
#include "loop/requirement.h"

#include <math.h>
#include <stdlib.h>

static bool sits_on(const struct job_status *status, int device)
{
    for (int k = 0; k < status->device_count; k++)
        if (status->devices[k] == device)
            return true;
    return false;
}

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
        if (!requirement_allows_type(&status->job, in->cluster->devices[d].type))
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

            /* Where fewer may share than before, those who do already go on. */
            if (load[d] > in->settings->share_max && !sits_on(in->jobs[i], d))
                return err_set(err, ERR_INVALID, "device %d has %d jobs, %d are allowed",
                               d, load[d], in->settings->share_max);
            if (load[d] > 1 && !in->jobs[i]->job.may_share)
                return err_set(err, ERR_INVALID, "job %llu shares device %d and may not",
                               (unsigned long long)seat->job, d);
        }
    }
    return 0;
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
    if (check_sharing(in, plan, load, err) < 0 || check_caps(in, plan, err) < 0)
        goto done;
    rc = 0;
done:
    free(load);
    return rc;
}
