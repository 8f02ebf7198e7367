/* choose.c - the devices of one job: in_order.c and gavel_seats.c call it with a
 * policy's score */
#include "lab/policy/choose.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void choose_fini(struct choose *c)
{
    free(c->scores);
    free(c->order);
    *c = (struct choose){0};
}

static void make_room(struct choose *c, int devices)
{
    if (devices <= c->capacity)
        return;
    choose_fini(c);
    c->scores = mem_array(double, (size_t)devices);
    c->order = mem_array(int, (size_t)devices);
    c->capacity = devices;
}

/* The `wanted` cheapest of a run of devices with one type; their sum, or infinity. */
static double cheapest(struct choose *c, const struct cluster *cluster, int first,
                       int count, int type, int wanted, int *out)
{
    double sum = 0;
    int found = 0;

    for (int d = first; d < first + count; d++) {
        int at;

        if (isnan(c->scores[d]) || cluster->devices[d].type != type)
            continue;
        if (found == wanted && c->scores[d] >= c->scores[c->order[found - 1]])
            continue;
        if (found < wanted)
            found++;
        for (at = found - 1; at > 0 && c->scores[c->order[at - 1]] > c->scores[d]; at--)
            c->order[at] = c->order[at - 1];
        c->order[at] = d;
    }
    if (found < wanted)
        return INFINITY;
    for (int i = 0; i < wanted; i++) {
        sum += c->scores[c->order[i]];
        out[i] = c->order[i];
    }
    return sum;
}

/* Within one type a set on one node is always preferred: spreading costs rate that scores
 * of single devices do not show. */
static double choose_gang(struct choose *c, const struct cluster *cluster, int type,
                          int wanted, int *devices)
{
    double best = INFINITY;
    int found[LOOP_MAX_GANG];

    for (int n = 0; n < cluster->node_count; n++) {
        const struct node *node = &cluster->nodes[n];
        double sum;

        if (node->device_count < wanted)
            continue;
        sum = cheapest(c, cluster, node->first_device, node->device_count, type, wanted,
                       found);
        if (sum < best) {
            best = sum;
            memcpy(devices, found, (size_t)wanted * sizeof(*devices));
        }
    }
    if (isfinite(best))
        return best;
    return cheapest(c, cluster, 0, cluster->device_count, type, wanted, devices);
}

bool choose_devices(struct choose *c, const struct occupancy *o,
                    const struct optimize_input *in, const struct job_status *job,
                    choose_score *score, void *ctx, int *devices, double *total)
{
    const struct cluster *cluster = in->cluster;
    int wanted = job->job.devices, found[LOOP_MAX_GANG], best_device = -1;
    double best = INFINITY;

    make_room(c, cluster->device_count);
    for (int d = 0; d < cluster->device_count; d++) {
        double s;

        c->scores[d] = NAN;
        if (!occupancy_admits(o, in, d, &job->job) || !score(ctx, o, in, job, d, &s))
            continue;
        c->scores[d] = s;
        if (s < best) {
            best = s;
            best_device = d;
        }
    }
    if (best_device < 0)
        return false;
    devices[0] = best_device;
    *total = best;
    if (wanted == 1)
        return true;
    best = INFINITY;
    for (int type = 0; type < cluster->type_count; type++) {
        double sum = choose_gang(c, cluster, type, wanted, found);

        if (sum < best) {
            best = sum;
            memcpy(devices, found, (size_t)wanted * sizeof(*devices));
        }
    }
    *total = best;
    return isfinite(best);
}
