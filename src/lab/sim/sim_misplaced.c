/* sim_misplaced.c - who stays in a place that costs far more than one that is free
 *
 * sim_run.c asks after rounds, ten minutes apart at least; run_score.c tells the longest
 * time of any job.  By the truth: what the cluster would draw less for each step if the
 * job were not where it is, against what it would draw more if the job ran alone, without
 * a power limit, on free devices of a type that give it what it needs.  A node that
 * nobody else uses could sleep.  Only from its first window in a place on is it held
 * against anybody. */
#include "lab/sim/sim_private.h"

#include "loop/cluster.h"

#include <math.h>
#include <stdlib.h>

#define LOOK_EVERY_S 600
/* So many times what the best free place would cost is far more. */
#define FAR_MORE 1.5

/* Free devices of one type. */
struct free_places {
    int all;
    int beside;        /* the most on one node that has jobs, */
    int alone;         /* and on one that has none */
    int node_devices;  /* of the largest node, */
    double node_watts; /* and what that draws by being awake */
};

static double awake_watts(const struct cluster *c, const struct node *node)
{
    double idle = c->types[c->devices[node->first_device].type].idle_watts;

    return node->host_watts + node->device_count * idle - node->sleep_watts;
}

static int free_on(const struct cluster *c, const struct node *node)
{
    int count = 0;

    for (int d = node->first_device; d < node->first_device + node->device_count; d++)
        count += c->devices[d].job_count == 0 && cluster_device_usable(c, d);
    return count;
}

static struct free_places *find_free(const struct cluster *c)
{
    struct free_places *types = mem_array(struct free_places, (size_t)c->type_count);

    for (int n = 0; n < c->node_count; n++) {
        const struct node *node = &c->nodes[n];
        struct free_places *f = &types[c->devices[node->first_device].type];
        int count = free_on(c, node),
            *most = cluster_node_jobs(c, n) ? &f->beside : &f->alone;

        f->all += count;
        *most = count > *most ? count : *most;
        if (node->device_count > f->node_devices) {
            f->node_devices = node->device_count;
            f->node_watts = awake_watts(c, node);
        }
    }
    return types;
}

/* With its jobs but this one; none: idle. */
static double device_watts(const struct sim *sim, const struct cluster *c,
                           const struct device *d, uint64_t without)
{
    struct truth_member members[LOOP_MAX_SHARE];
    struct truth_outcome out;
    int count = 0;

    for (int k = 0; k < d->job_count; k++) {
        struct sim_inspect_job seen;

        if (d->jobs[k] != without &&
            sim_inspect_job(&sim->engine, d->jobs[k], sim->now_s, &seen) && seen.active)
            members[count++] = (struct truth_member){
                .request = seen.request, .nodes = 1, .demand = seen.demand};
    }
    if (count == 0)
        return c->types[d->type].idle_watts;
    truth_outcome(sim_inspect_truth(&sim->engine), d->type, d->cap_watts, members, count,
                  &out);
    return out.watts;
}

/* Watts that its being where it is costs. */
static double watts_here(const struct sim *sim, const struct cluster *c,
                         const struct job_status *job)
{
    double watts = 0;
    int on_node = 0;

    for (int k = 0; k < job->device_count; k++) {
        const struct device *d = &c->devices[job->devices[k]];
        bool last =
            k + 1 == job->device_count || c->devices[job->devices[k + 1]].node != d->node;

        watts += device_watts(sim, c, d, 0) - device_watts(sim, c, d, job->job.id);
        on_node++;
        if (!last)
            continue;
        if (cluster_node_jobs(c, d->node) == on_node)
            watts += awake_watts(c, &c->nodes[d->node]);
        on_node = 0;
    }
    return watts;
}

/* Joules a step; INFINITY: no free place gives what it needs. */
static double joules_elsewhere(const struct sim *sim, const struct cluster *c,
                               const struct job_status *job,
                               const struct sim_inspect_job *seen,
                               const struct free_places *types)
{
    int devices = job->device_count;
    double least = INFINITY;

    for (int t = 0; t < c->type_count; t++) {
        const struct free_places *f = &types[t];
        int nodes = f->node_devices ? (devices - 1) / f->node_devices + 1 : 0;
        bool beside = f->beside >= devices;
        struct truth_member member = {.request = seen->request, .nodes = nodes};
        struct truth_outcome out;
        double watts;

        if (nodes == 0 || (nodes > 1 ? f->all < devices : !beside && f->alone < devices))
            continue;
        truth_outcome(sim_inspect_truth(&sim->engine), t, 0, &member, 1, &out);
        if (!out.fits || !(out.rate[0] >= job->required_rate))
            continue;
        watts = devices * (out.watts - c->types[t].idle_watts) +
                (beside ? 0 : nodes * f->node_watts);
        least = fmin(least, watts / out.rate[0]);
    }
    return least;
}

static bool is_misplaced(const struct sim *sim, const struct cluster *c,
                         const struct job_status *job, const struct free_places *types)
{
    struct sim_inspect_job seen;

    return job->job.kind == JOB_TRAINING &&
           sim_inspect_job(&sim->engine, job->job.id, sim->now_s, &seen) && seen.active &&
           watts_here(sim, c, job) / seen.rate >
               FAR_MORE * joules_elsewhere(sim, c, job, &seen, types);
}

static void look_at(struct sim *sim, const struct cluster *c,
                    const struct job_status *status, const struct free_places *types)
{
    struct sim_job *job = sim_job_of(sim, status->job.id);
    bool was = job->misplaced;

    job->misplaced = job->measured && is_misplaced(sim, c, status, types);
    if (!job->misplaced)
        return;
    if (!was)
        job->misplaced_since_s = sim->now_s;
    job->result.misplaced_s =
        fmax(job->result.misplaced_s, sim->now_s - job->misplaced_since_s);
}

void sim_misplaced_look(struct sim *sim)
{
    const struct cluster *c = sim_inspect_cluster(&sim->engine);
    struct free_places *types;

    if (sim->now_s < sim->misplaced_looked_s + LOOK_EVERY_S || sim->setup->told)
        return;
    sim->misplaced_looked_s = sim->now_s;
    types = find_free(c);
    for (int d = 0; d < c->device_count; d++)
        for (int k = 0; k < c->devices[d].job_count; k++) {
            const struct job_status *job = loop_job(sim->loop, c->devices[d].jobs[k]);

            if (job && job->devices[0] == d)
                look_at(sim, c, job, types);
        }
    free(types);
}
