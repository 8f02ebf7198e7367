/* planner_price.c - what progress is worth: set by planner.c in each round, read by
 * planner_cost.c
 *
 * Work is given, energy is to be the least: the ratio of the two is what counts.  The
 * plan that minimises watts - price x progress also minimises watts / progress when the
 * price is that very ratio.  So the price is what a unit of training progress takes now,
 * smoothed: each round's plan lowers it until it no longer can
 * (docs/decisions/optimizer-price.md). */
#include "loop/optimize/planner_private.h"

#include <math.h>

/* The price follows the state of the cluster within this time. */
#define SMOOTH_S 3600.0
/* With less progress than this at once the ratio is that of a few jobs, not a price. */
#define UNITS_LEAST 1.0
/* What a job that has not been measured here is taken to make of its best rate. */
#define UNITS_UNKNOWN 0.5
/* On large clusters all of it is added up only this often, and a round looks at one of so
 * many parts of the nodes. */
#define PRICED_S 30.0
#define PARTS    16

static double device_watts(struct planner_state *s, int device)
{
    const struct device *dev = &s->in->cluster->devices[device];
    const int *m = planner_members(s, device);
    double watts = s->types[dev->type].idle_watts;

    if (m[1] >= 0)
        watts = (double)prediction_table_pair_on(s->table, s->jobs.items[m[0]].kind,
                                                 s->jobs.items[m[1]].kind, dev->type)
                    .watts;
    else if (m[0] >= 0)
        watts = s->jobs.items[m[0]].kind->alone[dev->type].watts;
    return dev->cap_watts > 0 ? fmin(watts, dev->cap_watts) : watts;
}

static double units_of(const struct planner_job *j)
{
    return j->paced ? j->status->pace.rate / j->unit : UNITS_UNKNOWN;
}

/* Services have no progress: of a node they share, training has its share of the jobs. */
static void add_node(struct planner_state *s, int node, struct planner_draws *sum)
{
    const struct node *n = &s->in->cluster->nodes[node];
    double watts = n->host_watts;
    int training = 0, jobs = 0;

    for (int d = n->first_device; d < n->first_device + n->device_count; d++) {
        const int *m = planner_members(s, d);

        watts += device_watts(s, d);
        for (int e = 0; e < 2 && m[e] >= 0; e++) {
            const struct planner_job *j = &s->jobs.items[m[e]];

            jobs++;
            if (j->status->job.kind == JOB_INFERENCE)
                continue;
            training++;
            sum->units += units_of(j) / j->status->job.devices;
        }
    }
    sum->watts += watts;
    if (jobs > 0)
        sum->training += watts * training / jobs;
}

/* On a large cluster: look at the next part of the nodes anew, at first at all. */
static void look_at_some(struct planner_state *s)
{
    int nodes = s->in->cluster->node_count, left = nodes / PARTS + 1;

    if (s->draws.count < (size_t)nodes)
        left = nodes;
    while (s->draws.count < (size_t)nodes)
        vec_push(&s->draws, (struct planner_draws){0});
    for (; left > 0; left--) {
        s->drawn = (s->drawn + 1) % nodes;
        s->draws.items[s->drawn] = (struct planner_draws){0};
        add_node(s, s->drawn, &s->draws.items[s->drawn]);
    }
}

static struct planner_draws add_up(struct planner_state *s, bool large)
{
    struct planner_draws sum = {0};

    for (int n = 0; n < s->in->cluster->node_count; n++) {
        if (s->node_jobs.items[n] == 0)
            continue;
        if (!large) {
            add_node(s, n, &sum);
            continue;
        }
        sum.watts += s->draws.items[n].watts;
        sum.training += s->draws.items[n].training;
        sum.units += s->draws.items[n].units;
    }
    return sum;
}

void planner_set_price(struct planner_state *s)
{
    double passed_s = s->in->now_s - s->priced_s;
    bool large = s->in->cluster->device_count > PLANNER_LARGE;
    struct planner_draws sum;

    if (large)
        look_at_some(s);
    if (large && passed_s < PRICED_S)
        return;
    sum = add_up(s, large);
    if (isinf(s->priced_s)) { /* the first round */
        s->price = s->settings.progress_watts;
        passed_s = 0;
    }
    s->used_joules += s->watts_now * passed_s;
    /* A price of nothing asks for the least power, whatever comes of it. */
    if (s->settings.progress_watts > 0 && sum.units >= UNITS_LEAST)
        s->price +=
            (1 - exp(-passed_s / SMOOTH_S)) * (sum.training / sum.units - s->price);
    s->watts_now = sum.watts;
    s->priced_s = s->in->now_s;
}

void planner_take_terms(struct planner_state *s)
{
    s->price = s->terms->known ? s->terms->price_watts : s->settings.progress_watts;
}
