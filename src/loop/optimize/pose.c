/* pose.c - see pose.h */
#include "loop/optimize/pose.h"

#include "loop/belief.h"
#include "loop/cluster.h"
#include "loop/need.h"
#include "world/power.h"

#include <math.h>

#define CAP_STEPS   3    /* power limits tried beside none */
#define NEARLY_BEST 0.95 /* of the best rate, for jobs that no device satisfies */

/* Moving and waking are paid once, the rest by the second: spread over this long. */
#define PERIOD_S 240.0
/* A job that was placed so lately is left where it is while it meets its need. */
#define REST_S 300.0
/* Stopping a running job is out of the question. */
#define RUNNING_WEIGHT 50.0

struct pose {
    struct problem *p;
    const struct optimize_input *in;
    struct kinds *kinds;
    const enum pose_mode *mode;
    double penalty; /* of one device's worth of job that waits */
};

static void cap_steps(const struct pose *x, int type, double *caps, int *count)
{
    const struct gpu_sheet *gpu = &x->in->cluster->types[type];

    caps[0] = 0;
    *count = 1;
    if (!x->in->settings->caps || gpu->cap_min_watts <= 0)
        return;
    for (int c = 1; c <= CAP_STEPS; c++) {
        double cap = gpu->tdp_watts * (1 - 0.15 * c);

        if (cap > gpu->cap_min_watts)
            caps[(*count)++] = cap;
    }
    if (*count > 1 && gpu->cap_min_watts < caps[*count - 1] * 0.95)
        caps[*count - 1] = gpu->cap_min_watts;
}

static int pose_types(struct pose *x)
{
    const struct cluster *c = x->in->cluster;
    int variants = 0;

    for (int t = 0; t < c->type_count; t++) {
        double caps[CAP_STEPS + 1];
        int count;

        cap_steps(x, t, caps, &count);
        x->p->types[t] = (struct problem_type){.first_variant = variants,
                                               .variant_count = count,
                                               .idle_watts = c->types[t].idle_watts};
        for (int v = 0; v < count; v++)
            x->p->variants[variants++] = (struct problem_variant){t, caps[v]};
    }
    return variants;
}

static double best_rate(const struct optimize_input *in, const struct kinds *kinds,
                        size_t job)
{
    uint64_t allowed = in->jobs[job]->job.types_allowed;
    double best = 0;

    for (int t = 0; t < in->cluster->type_count; t++) {
        const struct kinds_alone *a = kinds_alone_on(kinds, kinds_of(kinds, job), t);

        if (a->fits >= BELIEF_FITS_LEAST && (allowed == 0 || allowed >> t & 1))
            best = fmax(best, a->rate);
    }
    return best;
}

bool pose_rate_possible(const struct optimize_input *in, const struct kinds *kinds,
                        size_t job)
{
    return best_rate(in, kinds, job) >= need_rate_now(in->jobs[job], in->now_s);
}

bool pose_memory_possible(const struct optimize_input *in, const struct kinds *kinds,
                          size_t job)
{
    return best_rate(in, kinds, job) > 0;
}

/* Progress is priced in units of the best rate the kind is believed to reach. */
static void pose_classes(struct pose *x)
{
    for (int k = 0; k < kinds_count(x->kinds); k++) {
        const struct job *job = &kinds_job(x->kinds, k)->job;
        double worth = job->kind == JOB_TRAINING ? x->in->settings->progress_watts : 0;
        double unit = 0;

        for (int t = 0; t < x->in->cluster->type_count; t++)
            unit = fmax(unit, kinds_alone_on(x->kinds, k, t)->rate);
        x->p->classes[k] =
            (struct problem_class){.devices = job->devices,
                                   .progress = unit > 0 ? worth * job->devices / unit : 0,
                                   .spread = kinds_spread(x->kinds, k)};
    }
}

static void pose_alone(struct pose *x, int v, int k)
{
    struct problem *p = x->p;
    int t = p->variants[v].type;
    const struct gpu_sheet *gpu = &x->in->cluster->types[t];
    const struct kinds_alone *a = kinds_alone_on(x->kinds, k, t);
    struct power_capped run =
        power_under_cap(gpu, power_busy(gpu, a->watts), p->variants[v].cap_watts);
    size_t at = (size_t)v * (size_t)p->class_count + (size_t)k;
    bool capped = p->variants[v].cap_watts > 0;

    p->alone_rate[at] =
        a->fits >= BELIEF_FITS_LEAST ? (float)(a->rate * (capped ? run.speed : 1)) : 0;
    p->alone_watts[at] = (float)(capped ? fmin(run.watts, a->watts) : a->watts);
}

static void pose_pair(struct pose *x, int v, int k, int l)
{
    struct problem *p = x->p;
    int t = p->variants[v].type;
    const struct gpu_sheet *gpu = &x->in->cluster->types[t];
    struct kinds_pair pair = kinds_pair_on(x->kinds, k, l, t);
    bool capped = p->variants[v].cap_watts > 0;
    struct power_capped run = {.watts = (double)pair.watts, .speed = 1};

    if (capped)
        run = power_under_cap(gpu, power_busy(gpu, (double)pair.watts),
                              p->variants[v].cap_watts);
    p->pair_rate[problem_cell(p, v, k, l)] = (float)((double)pair.rate[0] * run.speed);
    p->pair_rate[problem_cell(p, v, l, k)] = (float)((double)pair.rate[1] * run.speed);
    p->pair_watts[problem_cell(p, v, k, l)] = p->pair_watts[problem_cell(p, v, l, k)] =
        (float)fmin(run.watts, (double)pair.watts);
}

static void pose_tables(struct pose *x)
{
    const struct optimize_settings *settings = x->in->settings;
    int kinds = kinds_count(x->kinds);

    for (int v = 0; v < x->p->variant_count; v++)
        for (int k = 0; k < kinds; k++) {
            pose_alone(x, v, k);
            for (int l = k; l < kinds && settings->share_max > 1; l++)
                if (kinds_job(x->kinds, k)->job.may_share &&
                    kinds_job(x->kinds, l)->job.may_share)
                    pose_pair(x, v, k, l);
        }
}

static void pose_cluster(struct pose *x)
{
    const struct cluster *c = x->in->cluster;
    struct problem *p = x->p;
    double host = 0, tdp = 0;

    for (int n = 0; n < c->node_count; n++) {
        const struct node *node = &c->nodes[n];

        p->nodes[n] = (struct problem_node){
            .first_device = node->first_device,
            .device_count = node->device_count,
            .host_watts = node->host_watts,
            .sleep_watts = fmin(node->sleep_watts, node->host_watts),
            .wake_watts = node->wake_s * node->host_watts / PERIOD_S,
            .awake = node->state != NODE_ASLEEP,
            .may_sleep = node->may_sleep};
        host = fmax(host, node->host_watts);
    }
    for (int d = 0; d < c->device_count; d++) {
        const struct device *dev = &c->devices[d];
        bool keeps = dev->drained && !dev->failed && dev->job_count > 0;

        p->devices[d] = (struct problem_device){dev->type, dev->node,
                                                !cluster_device_usable(c, d) && !keeps};
        p->types[dev->type].devices += !p->devices[d].closed;
        tdp = fmax(tdp, c->types[dev->type].tdp_watts);
    }
    x->penalty = 4 * tdp + host + 2 * x->in->settings->progress_watts;
    p->sleep = x->in->settings->sleep;
    p->limit_watts = x->in->settings->power_limit_watts;
    p->move_watts =
        x->in->settings->move_s / PERIOD_S * (tdp + x->in->settings->progress_watts);
}

/* Is it believed to meet its need where it is? */
static bool content(const struct pose *x, size_t j)
{
    const struct job_status *s = x->in->jobs[j];
    const struct device *dev = &x->in->cluster->devices[s->devices[0]];
    double rate = kinds_alone_on(x->kinds, kinds_of(x->kinds, j), dev->type)->rate;

    for (size_t i = 0; i < x->in->job_count && dev->job_count > 1; i++)
        if (i != j && x->in->jobs[i]->device_count > 0 &&
            x->in->jobs[i]->devices[0] == s->devices[0])
            rate = (double)kinds_pair_on(x->kinds, kinds_of(x->kinds, j),
                                         kinds_of(x->kinds, i), dev->type)
                       .rate[0];
    return rate >= need_rate_now(s, x->in->now_s);
}

static double penalty_of(const struct pose *x, const struct job_status *s)
{
    double priority = fmax(-3, fmin(3, s->job.priority));
    double waited = fmax(0, x->in->now_s - s->job.submitted_s);
    double grace = fmax(x->in->settings->grace_s, 1);
    double penalty = x->penalty * s->job.devices * pow(4, priority);

    if (s->state == JOB_RUNNING)
        return penalty * RUNNING_WEIGHT;
    return penalty * (1 + fmin(waited / grace, 4));
}

static void pose_job(struct pose *x, size_t j)
{
    const struct job_status *s = x->in->jobs[j];
    struct problem *p = x->p;
    struct problem_job *job = &p->jobs[j];
    double need = need_rate_now(s, x->in->now_s);
    bool running = s->state == JOB_RUNNING && s->device_count > 0;
    bool drained = false, resting;

    *job = (struct problem_job){
        .class_id = kinds_of(x->kinds, j),
        .types = s->job.types_allowed ? s->job.types_allowed : PROBLEM_ANY_TYPE,
        .may_share = s->job.may_share && x->in->settings->share_max > 1,
        .penalty = penalty_of(x, s),
        .owner = -1};
    for (int e = 0; e < s->device_count; e++)
        drained = drained || x->in->cluster->devices[s->devices[e]].drained;
    resting = running && x->in->now_s - s->placed_s < REST_S && content(x, j);
    job->pinned = running && (drained || resting || x->mode[j] == POSE_PINNED ||
                              !x->in->settings->moves || !s->job.may_move);
    if (drained && x->in->cluster->devices[s->devices[0]].job_count < 2)
        job->may_share = false; /* nothing new is started beside it */
    job->need = fmin(need, NEARLY_BEST * best_rate(x->in, x->kinds, j));
    if (job->pinned || x->mode[j] == POSE_RELAXED)
        job->need = 0;
}

static void pose_jobs(struct pose *x)
{
    struct problem *p = x->p;

    for (size_t j = 0; j < x->in->job_count; j++)
        pose_job(x, j);
    problem_number_tasks(p);
    for (size_t j = 0; j < x->in->job_count; j++) {
        const struct job_status *s = x->in->jobs[j];

        for (int e = 0; e < s->device_count; e++)
            if (!p->devices[s->devices[e]].closed)
                p->now[p->jobs[j].first_task + e] = s->devices[e];
        if (s->device_count > 0 && p->now[p->jobs[j].first_task] < 0)
            p->jobs[j].pinned = false; /* its device is gone */
    }
}

void pose_problem(struct problem *p, const struct optimize_input *in, struct kinds *kinds,
                  const enum pose_mode *mode)
{
    struct pose x = {.p = p, .in = in, .kinds = kinds, .mode = mode};
    const struct cluster *c = in->cluster;
    struct problem_size size = {.types = c->type_count,
                                .variants = c->type_count * (CAP_STEPS + 1),
                                .classes = kinds_count(kinds),
                                .jobs = (int)in->job_count,
                                .nodes = c->node_count,
                                .devices = c->device_count};

    for (size_t j = 0; j < in->job_count; j++)
        size.tasks += in->jobs[j]->job.devices;
    problem_reset(p, &size);
    p->variant_count = pose_types(&x);
    pose_classes(&x);
    pose_cluster(&x);
    pose_tables(&x);
    pose_jobs(&x);
}

static bool rates_of_group(const struct problem *p, void *ctx, int variant,
                           const int *classes, int count, float *rate, float *watts)
{
    const struct pose_groups *groups = ctx;
    int type = p->variants[variant].type;
    double cap = p->variants[variant].cap_watts;
    const struct gpu_sheet *gpu = &groups->in->cluster->types[type];
    struct power_capped run;

    if (!kinds_group_on(groups->kinds, classes, count, type, rate, watts))
        return false;
    if (cap <= 0)
        return true;
    run = power_under_cap(gpu, power_busy(gpu, (double)*watts), cap);
    for (int e = 0; e < count; e++)
        rate[e] *= (float)run.speed;
    *watts = (float)fmin(run.watts, (double)*watts);
    return true;
}

void pose_groups(struct problem *p, struct pose_groups *groups)
{
    p->share_max = groups->in->settings->share_max;
    p->group = rates_of_group;
    p->group_ctx = groups;
}
