/* reference_place.c - loop_submit() calls it for each job that comes; the daemon's books
 * and the simulator's ask for the energy of what was done so far */
#include "loop/record/reference_place.h"

#include "base/vec.h"
#include "loop/cluster.h"
#include "loop/estimate/predict.h"
#include "loop/requirement.h"

#include <math.h>
#include <stdlib.h>

/* Of a service that nobody asks: 0 would mean that it works all the time. */
#define DEMAND_LEAST 1e-9
/* With more jobs than this what is believed of their ends holds for so long. */
#define JOBS_EACH   512
#define ENDS_HOLD_S 900.0
/* And so many of those that are older are asked for again when a job comes. */
#define ENDS_A_JOB 64

struct leave { /* of the reference placement */
    double at_s;
    int devices;
};

/* As few nodes as the devices of a job can be on. */
static int nodes_needed(const struct cluster *c, int type, int devices)
{
    int most = 1;

    for (int n = 0; n < c->node_count && most < devices; n++)
        if (c->devices[c->nodes[n].first_device].type == type)
            most = c->nodes[n].device_count > most ? c->nodes[n].device_count : most;
    return (devices + most - 1) / most;
}

static struct prediction predict_there(const struct cluster *c, const struct model *model,
                                       const struct job_status *status, int type,
                                       double demand)
{
    const struct combination where = {
        .type = type,
        .count = 1,
        .members = {{.job = &status->job,
                     .nodes = nodes_needed(c, type, status->job.devices),
                     .demand = demand}}};
    struct prediction p;

    predict(model, &where, &p);
    return p;
}

static double rate_there(const struct cluster *c, const struct model *model,
                         const struct job_status *status, int type)
{
    return predict_there(c, model, status, type, requirement_demand(status))
        .rate[0]
        .value;
}

/* What is believed of all others in the reference placement. */
struct reference_ground {
    const struct cluster *cluster;
    const struct model *model;
    const struct lengths *lengths;
    struct jobs *jobs;
    double now_s;
};

/* When the job is through there: it does the same, or is wanted for as long. */
static double ends_s(const struct reference_ground *g, const struct job_status *status)
{
    double rate, left, passed_s = 0;

    if (!lengths_known(g->lengths, &status->job))
        return INFINITY;
    rate = rate_there(g->cluster, g->model, status, status->reference_type);
    left = lengths_left(g->lengths, status,
                        status->pace.rate > 0 ? status->pace.rate : rate, 0.5, g->now_s);
    if (status->job.kind == JOB_TRAINING)
        return status->reference_s + (status->steps_done + left) / rate;
    if (isfinite(status->started_s))
        passed_s = g->now_s - status->started_s;
    return status->reference_s + passed_s + left;
}

static void note_end(const struct reference_ground *g, struct job_status *kept)
{
    kept->reference_end_s = ends_s(g, kept);
    kept->reference_seen_s = g->now_s;
}

/* The same, a little old; *left: how many may be asked for again. */
static double recent_end_s(const struct reference_ground *g, struct job_status *kept,
                           int *left)
{
    if (isnan(kept->reference_seen_s) ||
        (!(g->now_s - kept->reference_seen_s < ENDS_HOLD_S) && (*left)-- > 0))
        note_end(g, kept);
    return kept->reference_end_s;
}

static int by_time(const void *a, const void *b)
{
    const struct leave *x = a, *y = b;

    return (x->at_s > y->at_s) - (x->at_s < y->at_s);
}

/* Would there be so many even if nobody had left by now?  Most often, and it saves asking
 * for everybody's end. */
static bool free_at_once(const struct reference_ground *g, int type, int wanted)
{
    return wanted + jobs_reference_devices(g->jobs, type) <=
           cluster_devices_of_type(g->cluster, type, false);
}

/* When so many devices of the type are free there: now, or when enough have left. */
static double free_s(const struct reference_ground *g, int type, int wanted)
{
    vec_of(struct leave) leaves = {0};
    int missing = wanted - cluster_devices_of_type(g->cluster, type, false);
    double at_s = g->now_s;
    int left = ENDS_A_JOB;
    size_t count;
    struct job_status *const *all = jobs_each(g->jobs, &count);

    for (size_t i = 0; i < count; i++) {
        struct leave leave;

        if (all[i]->reference_type != type || !isfinite(all[i]->reference_s))
            continue;
        leave = (struct leave){count > JOBS_EACH ? recent_end_s(g, all[i], &left)
                                                 : ends_s(g, all[i]),
                               all[i]->job.devices};
        if (leave.at_s <= g->now_s)
            continue;
        missing += leave.devices;
        vec_push(&leaves, leave);
    }
    if (leaves.count > 0)
        qsort(leaves.items, leaves.count, sizeof(*leaves.items), by_time);
    for (size_t i = 0; missing > 0; i++) {
        if (i == leaves.count) {
            at_s = INFINITY;
            break;
        }
        at_s = leaves.items[i].at_s;
        missing -= leaves.items[i].devices;
    }
    vec_free(&leaves);
    return at_s;
}

struct reference_type {
    int type;
    double rate;
};

static int by_rate(const void *a, const void *b)
{
    const struct reference_type *x = a, *y = b;

    if (x->rate < y->rate || x->rate > y->rate)
        return x->rate > y->rate ? -1 : 1;
    return x->type - y->type;
}

/* Where it is free the soonest; where it is the fastest among these: so the first of
 * them that is free at once is the one. */
void reference_place(const struct cluster *c, const struct model *model,
                     const struct lengths *lengths, struct jobs *jobs,
                     struct job_status *status, double now_s)
{
    const struct reference_ground ground = {c, model, lengths, jobs, now_s};
    struct reference_type types[CLUSTER_MAX_TYPES];
    double best_s = INFINITY;
    int count = 0;

    status->reference_type = -1;
    status->reference_s = NAN;
    for (int t = 0; t < c->type_count; t++) {
        struct prediction p;

        if (!requirement_allows_type(&status->job, t))
            continue;
        p = predict_there(c, model, status, t, requirement_demand(status));
        if (p.fits >= PREDICT_FITS_LEAST)
            types[count++] = (struct reference_type){t, p.rate[0].value};
    }
    if (count > 1)
        qsort(types, (size_t)count, sizeof(*types), by_rate);
    for (int i = 0; i < count && best_s > now_s; i++) {
        double at_s = free_at_once(&ground, types[i].type, status->job.devices)
                          ? now_s
                          : free_s(&ground, types[i].type, status->job.devices);

        if (at_s >= best_s)
            continue;
        best_s = at_s;
        status->reference_type = types[i].type;
        status->reference_s = at_s;
    }
    if (status->reference_type >= 0)
        note_end(&ground, status);
    jobs_change(jobs, status->job.id);
}

/* Half the logarithm of a 90 % interval. */
static double half_width(const struct estimate *e)
{
    return log(e->high / e->low) / 2;
}

struct reference_energy reference_energy(const struct cluster *c,
                                         const struct model *model,
                                         const struct job_status *status,
                                         const struct reference_work *work)
{
    const struct reference_energy unknown = {NAN, NAN};
    bool training = status->job.kind == JOB_TRAINING;
    struct prediction p;
    double joules, error, factor;

    if (status->reference_type < 0)
        return unknown;
    p = predict_there(c, model, status, status->reference_type,
                      training ? 0 : fmax(work->demand, DEMAND_LEAST));
    if (p.rate[0].source == ESTIMATE_INITIAL || p.watts.source == ESTIMATE_INITIAL)
        return unknown;
    joules = p.watts.value * status->job.devices *
             (training ? work->steps / p.rate[0].value : work->seconds);
    /* The watts of a service rest on how busy it is, so on its rate too. */
    factor = exp(hypot(half_width(&p.watts), half_width(&p.rate[0])));
    error = joules * (factor - 1 / factor) / 2;
    return error <= joules ? (struct reference_energy){joules, error} : unknown;
}
