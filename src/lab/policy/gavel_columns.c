/* gavel_columns.c - jobs and pairs of jobs on types, as believed; see gavel_policy.h */
#include "lab/policy/gavel_policy.h"

#include "base/rng.h"
#include "loop/estimate/lengths.h"
#include "loop/estimate/predict.h"
#include "loop/requirement.h"

#include <math.h>

/* Pairs a job takes into the program, the most promising: more change little. */
#define PAIRS_A_JOB 4
/* Beliefs on pairs are asked again after this long. */
#define PAIRS_FRESH_S 1800.0
/* A pair must do this much more than one of its jobs alone. */
#define PAIR_GAIN_LEAST 1.05
/* A job that has just come is left alone: measurements need time. */
#define SETTLE_S 600.0
/* Dollars an hour a move is worth when it pays back over this long. */
#define STAY_HORIZON_S 7200.0
#define STAY_TRAINING  0.25
#define STAY_SERVICE   0.6
#define STAY_NEW       2.5
/* Energy is judged by estimates that jitter, dollars are not: staying is worth so many
 * times as much there.  With 1 it kept 94 % of the jobs at 1.3 moves each. */
#define STAY_ENERGY 2.5
/* A new pair has to be surer than what runs already: parting costs two moves. */
#define PAIR_CONFIDENCE 0.95
/* Demand may grow this much before a new pair has to part again. */
#define PAIR_HEADROOM 1.3
#define CAP_MARGIN    1.02
/* Whoever has moved often is harder to move again, and needs a larger margin in a new
 * pair, by this share a move: estimates that failed before may fail again. */
#define MOVES_CAUTION 0.25

static double shortfall_of(const struct optimize_input *in, const struct job_status *job,
                           double headroom, double sure)
{
    double needed = requirement_rate_now(job, in->now_s);

    if (job->job.need.kind == NEED_SERVICE)
        needed = fmin(job->job.need.rate, headroom * needed);
    return sure < needed ? (needed - sure) / needed : 0;
}

/* Where energy is the price all is as with Corgi's planner, its confidence too. */
static double confidence_of(const struct gavel *g, const struct optimize_input *in,
                            const struct job_status *job)
{
    if (g->objective == GAVEL_ENERGY)
        return requirement_confidence(in->settings, &job->job);
    return fmax(in->settings->confidence, job->job.need.confidence);
}

static double host_share(const struct optimize_input *in, int type)
{
    for (int d = 0; d < in->cluster->device_count; d++)
        if (in->cluster->devices[d].type == type) {
            const struct node *n = &in->cluster->nodes[in->cluster->devices[d].node];

            return n->host_watts / n->device_count;
        }
    return 0;
}

/* Where power limits are set, a column is what it is under its best one. */
static void take_cap(const struct gavel *g, const struct optimize_input *in,
                     struct gavel_column *c, const double *sure)
{
    const struct job_status *jobs[] = {in->jobs[c->job],
                                       c->other < 0 ? NULL : in->jobs[c->other]};
    double slowest = 0, host = host_share(in, c->type);
    bool progress = false;
    struct device_cap cap;

    if (g->objective == GAVEL_ENERGY && in->settings->caps && !(c->shortfall > 0)) {
        for (int e = 0; e < 2 && jobs[e]; e++) {
            slowest = fmax(
                slowest, CAP_MARGIN * requirement_rate_now(jobs[e], in->now_s) / sure[e]);
            progress = progress || jobs[e]->job.kind == JOB_TRAINING;
        }
        cap = device_cap_best(&in->cluster->types[c->type], c->watts, slowest, host,
                              progress);
        c->watts = cap.watts;
        for (int e = 0; e < 2; e++)
            c->rate[e] *= cap.speed;
    }
    c->watts += host;
}

static bool allowed(const struct job *job, int type)
{
    return !job->types_allowed || job->types_allowed >> type & 1;
}

static void ask_alone(struct gavel *g, const struct optimize_input *in, int i)
{
    const struct job_status *job = in->jobs[i];
    double best = 0;

    for (int t = 0; t < g->type_count; t++) {
        struct prediction p = predict_alone_now(in->model, job, t);
        double sure = estimate_at_confidence(&p.rate[0], confidence_of(g, in, job));
        struct gavel_alone *a = gavel_alone(g, i, t);

        *a = (struct gavel_alone){.rate = p.rate[0].value,
                                  .watts = p.watts.value,
                                  .sure = sure,
                                  .shortfall = shortfall_of(in, job, 1, sure),
                                  .fits = p.fits >= PREDICT_FITS_LEAST &&
                                          allowed(&job->job, t)};
        if (a->fits)
            best = fmax(best, a->rate);
    }
    g->best_rate.items[i] = best;
    for (int t = 0; t < g->type_count && best > 0; t++)
        gavel_alone(g, i, t)->rate /= best;
}

static const struct gavel_pair *ask_pair(struct gavel *g, const struct optimize_input *in,
                                         int i, int k, int type)
{
    const struct job_status *a = in->jobs[i], *b = in->jobs[k];
    uint64_t key = rng_mix(rng_mix(a->job.id, b->job.id), (uint64_t)type);
    const struct combination where = {.type = type,
                                      .count = 2,
                                      .members = {{&a->job, 1, requirement_demand(a)},
                                                  {&b->job, 1, requirement_demand(b)}}};
    bool now = a->device_count && b->device_count && a->devices[0] == b->devices[0];
    double least = now || g->objective == GAVEL_ENERGY ? 0 : PAIR_CONFIDENCE;
    struct prediction p;
    size_t at;

    if (!map_get(g->pair_index, key, &at)) {
        at = g->pairs.count;
        map_put(g->pair_index, key, at);
        vec_push(&g->pairs, (struct gavel_pair){0});
    } else if (!now) { /* what runs together is being measured: ask again */
        return &g->pairs.items[at];
    }
    predict(in->model, &where, &p);
    g->pairs.items[at] = (struct gavel_pair){
        .rate = {p.rate[0].value, p.rate[1].value},
        .sure = {estimate_at_confidence(&p.rate[0], fmax(least, confidence_of(g, in, a))),
                 estimate_at_confidence(&p.rate[1],
                                        fmax(least, confidence_of(g, in, b)))},
        .watts = p.watts.value,
        .fits = p.fits};
    return &g->pairs.items[at];
}

static int type_now(const struct optimize_input *in, int i)
{
    const struct job_status *job = in->jobs[i];

    return job->device_count ? in->cluster->devices[job->devices[0]].type : -1;
}

/* What it is worth, in dollars an hour of the program, not to move the job: the pause
 * weighs the more the less time is left to earn it back. */
static double stay_worth(const struct gavel *g, const struct optimize_input *in, int i)
{
    const struct job_status *job = in->jobs[i];
    double base = job->job.kind == JOB_TRAINING ? STAY_TRAINING : STAY_SERVICE;
    double rate = 2 * fmax(requirement_rate_now(job, in->now_s), 1e-9);
    double left_s = lengths_left_s(in->lengths, job, rate, 0.5, in->now_s);

    if (in->now_s - job->placed_s < SETTLE_S)
        base = fmax(base, STAY_NEW);
    base *= (g->objective == GAVEL_ENERGY ? STAY_ENERGY : 1) *
            (1 + MOVES_CAUTION * job->moves);
    return base * STAY_HORIZON_S / fmax(600, fmin(STAY_HORIZON_S, left_s));
}

static void note_present(const struct gavel *g, const struct optimize_input *in,
                         struct gavel_column *c)
{
    bool here = type_now(in, c->job) == c->type;
    double mine = here ? stay_worth(g, in, c->job) : 0;

    if (c->other < 0) {
        bool alone =
            here && in->cluster->devices[in->jobs[c->job]->devices[0]].job_count == 1;

        c->now = alone;
        c->stay = alone ? mine : mine / 2; /* of two that part, one moves */
        return;
    }
    double theirs = type_now(in, c->other) == c->type ? stay_worth(g, in, c->other) : 0;

    c->now = here && theirs > 0 &&
             in->jobs[c->other]->devices[0] == in->jobs[c->job]->devices[0];
    c->stay = c->now ? mine + theirs : fmax(mine, theirs);
}

static void add_singles(struct gavel *g, const struct optimize_input *in, int i)
{
    for (int t = 0; t < g->type_count; t++) {
        const struct gavel_alone *a = gavel_alone(g, i, t);
        struct gavel_column c = {.job = i,
                                 .other = -1,
                                 .type = t,
                                 .rate = {a->rate, 0},
                                 .watts = a->watts,
                                 .shortfall = a->shortfall};

        if (!a->fits || g->devices[t] < in->jobs[i]->job.devices)
            continue;
        take_cap(g, in, &c, &a->sure);
        note_present(g, in, &c);
        vec_push(&g->columns, c);
    }
}

/* Could the two share a device of the type at all? */
static bool pairable(struct gavel *g, const struct optimize_input *in, int i, int k,
                     int type)
{
    const struct gavel_alone *a = gavel_alone(g, i, type), *b = gavel_alone(g, k, type);
    const struct job *x = &in->jobs[i]->job, *y = &in->jobs[k]->job;

    if (x->devices > 1 || y->devices > 1 || !x->may_share || !y->may_share ||
        x->group != y->group)
        return false;
    if (!a->fits || !b->fits || g->devices[type] == 0)
        return false;
    return g->objective == GAVEL_MAXMIN || (a->shortfall <= 0 && b->shortfall <= 0);
}

static bool make_pair(struct gavel *g, const struct optimize_input *in, int i, int k,
                      int type, struct gavel_column *c)
{
    const struct gavel_pair *p;
    double alone_i = gavel_alone(g, i, type)->rate, alone_k, headroom, caution;

    if (!pairable(g, in, i, k, type))
        return false;
    alone_k = gavel_alone(g, k, type)->rate;
    p = ask_pair(g, in, i, k, type);
    *c = (struct gavel_column){
        .job = i,
        .other = k,
        .type = type,
        .rate = {p->rate[0] / g->best_rate.items[i], p->rate[1] / g->best_rate.items[k]},
        .watts = p->watts,
    };
    note_present(g, in, c);
    headroom = c->now ? 1 : PAIR_HEADROOM;
    caution = c->now ? 0 : MOVES_CAUTION;
    c->shortfall = fmax(shortfall_of(in, in->jobs[i], headroom,
                                     p->sure[0] / (1 + caution * in->jobs[i]->moves)),
                        shortfall_of(in, in->jobs[k], headroom,
                                     p->sure[1] / (1 + caution * in->jobs[k]->moves)));
    if (p->fits < PREDICT_FITS_LEAST ||
        (g->objective != GAVEL_MAXMIN && c->shortfall > 0))
        return false;
    if (c->rate[0] / alone_i + c->rate[1] / alone_k < PAIR_GAIN_LEAST)
        return false;
    take_cap(g, in, c, p->sure);
    return true;
}

static int by_gain(const void *a, const void *b)
{
    const struct gavel_column *x = a, *y = b;
    double gain_x = x->rate[0] + x->rate[1] + x->now,
           gain_y = y->rate[0] + y->rate[1] + y->now;

    if (gain_x != gain_y)
        return gain_x > gain_y ? -1 : 1;
    if (x->job != y->job)
        return x->job < y->job ? -1 : 1;
    return x->other != y->other ? (x->other < y->other ? -1 : 1) : x->type - y->type;
}

/* All pairs on a type, then the best few of each job. */
static void add_pairs(struct gavel *g, const struct optimize_input *in, int type)
{
    vec_of(struct gavel_column) found = {0};
    int *taken = mem_array(int, (size_t)g->job_count + 1);

    for (int i = 0; i < g->job_count; i++)
        for (int k = i + 1; k < g->job_count; k++) {
            struct gavel_column c;

            if (make_pair(g, in, i, k, type, &c))
                vec_push(&found, c);
        }
    if (found.count > 1)
        qsort(found.items, found.count, sizeof(*found.items), by_gain);
    vec_each (struct gavel_column, c, &found) {
        if (taken[c->job] >= PAIRS_A_JOB && taken[c->other] >= PAIRS_A_JOB)
            continue;
        taken[c->job]++;
        taken[c->other]++;
        vec_push(&g->columns, *c);
    }
    vec_free(&found);
    free(taken);
}

static void count_devices(struct gavel *g, const struct optimize_input *in)
{
    for (int t = 0; t < g->type_count; t++)
        g->devices[t] = 0;
    for (int d = 0; d < in->cluster->device_count; d++)
        if (cluster_device_usable(in->cluster, d) || in->cluster->devices[d].job_count)
            g->devices[in->cluster->devices[d].type]++;
}

void gavel_collect(struct gavel *g, const struct optimize_input *in)
{
    g->job_count = (int)in->job_count;
    g->type_count = in->cluster->type_count;
    vec_reserve(&g->alone, in->job_count * (size_t)g->type_count);
    vec_reserve(&g->best_rate, in->job_count);
    vec_clear(&g->columns);
    count_devices(g, in);
    if (in->now_s - g->pairs_since_s > PAIRS_FRESH_S) {
        map_destroy(g->pair_index);
        g->pair_index = map_create();
        vec_clear(&g->pairs);
        g->pairs_since_s = in->now_s;
    }
    for (int i = 0; i < g->job_count; i++) {
        ask_alone(g, in, i);
        add_singles(g, in, i);
    }
    for (int t = 0; g->packed && in->settings->share_max > 1 && t < g->type_count; t++)
        add_pairs(g, in, t);
}
