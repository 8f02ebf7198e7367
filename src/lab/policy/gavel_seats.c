/* gavel_seats.c - shares of time become seats, round by round; see gavel_policy.h */
#include "lab/policy/gavel_policy.h"

#include "loop/optimize/plan.h"

#include <math.h>
#include <string.h>

/* Smaller shares are rounding of the solver. */
#define SHARE_LEAST 1e-3
/* Who sits has this many rounds of advantage: moves cost, and shares need not be realised
 * to the minute. */
#define STAY_ROUNDS 3.0
/* Nobody is owed more than this: a share that could not be had is forgotten. */
#define CREDIT_MAX_ROUNDS 20.0
/* Among seats nobody is owed, the best use goes first. */
#define FILL_URGENCY -1000.0

static struct gavel_credit *credit_of(struct gavel *g, uint64_t job)
{
    size_t at;

    if (!map_get(g->credit_index, job, &at)) {
        at = g->credits.count;
        vec_push(&g->credits, (struct gavel_credit){0});
        map_put(g->credit_index, job, at);
    }
    return &g->credits.items[at];
}

static double owed(struct gavel *g, const struct optimize_input *in,
                   const struct gavel_column *c)
{
    double rounds = credit_of(g, in->jobs[c->job]->job.id)->rounds[c->type];

    if (c->other >= 0)
        rounds = fmin(rounds, credit_of(g, in->jobs[c->other]->job.id)->rounds[c->type]);
    return rounds;
}

/* Each share earns as time goes by, each seat spends. */
static void settle_credits(struct gavel *g, const struct optimize_input *in,
                           double rounds)
{
    vec_each (struct gavel_column, c, &g->columns) {
        credit_of(g, in->jobs[c->job]->job.id)->rounds[c->type] += rounds * c->share;
        if (c->other >= 0)
            credit_of(g, in->jobs[c->other]->job.id)->rounds[c->type] +=
                rounds * c->share;
    }
    for (size_t i = 0; i < in->job_count; i++) {
        const struct job_status *job = in->jobs[i];
        struct gavel_credit *credit = credit_of(g, job->job.id);

        if (job->device_count)
            credit->rounds[in->cluster->devices[job->devices[0]].type] -= rounds;
        for (int t = 0; t < g->type_count; t++)
            credit->rounds[t] =
                fmax(-CREDIT_MAX_ROUNDS, fmin(CREDIT_MAX_ROUNDS, credit->rounds[t]));
    }
}

struct ranked_seat {
    int column;
    double urgency;
};

static int by_urgency(const void *a, const void *b)
{
    const struct ranked_seat *x = a, *y = b;

    if (x->urgency != y->urgency)
        return x->urgency > y->urgency ? -1 : 1;
    return x->column - y->column;
}

/* Columns with a share by what is owed; behind them single jobs that would else wait, on
 * the type that suits them best. */
static double urgency_of(struct gavel *g, const struct optimize_input *in,
                         const struct gavel_column *c)
{
    if (c->share > SHARE_LEAST)
        return c->share + owed(g, in, c) + STAY_ROUNDS * c->now;
    if (c->other >= 0)
        return -INFINITY;
    return FILL_URGENCY * (1 + c->shortfall) + c->rate[0] + c->now;
}

static void rank_columns(struct gavel *g, const struct optimize_input *in)
{
    vec_of(struct ranked_seat) ranked = {0};

    for (size_t c = 0; c < g->columns.count; c++) {
        double urgency = urgency_of(g, in, &g->columns.items[c]);

        if (urgency > -INFINITY)
            vec_push(&ranked, (struct ranked_seat){(int)c, urgency});
    }
    if (ranked.count > 1)
        qsort(ranked.items, ranked.count, sizeof(*ranked.items), by_urgency);
    vec_clear(&g->order);
    vec_each (struct ranked_seat, r, &ranked)
        vec_push(&g->order, r->column);
    vec_free(&ranked);
}

static bool movable(const struct optimize_input *in, const struct job_status *job)
{
    return job->device_count == 0 || (in->settings->moves && job->job.may_move);
}

/* Who may not be moved stays, and whoever shares a device with him. */
static void keep_unmovable(struct gavel *g, const struct optimize_input *in,
                           struct plan *plan, int *free_devices)
{
    bool *held = mem_array(bool, (size_t)in->cluster->device_count);

    for (size_t i = 0; i < in->job_count; i++)
        for (int k = 0; k < in->jobs[i]->device_count && !movable(in, in->jobs[i]); k++)
            held[in->jobs[i]->devices[k]] = true;
    for (size_t i = 0; i < in->job_count; i++) {
        const struct job_status *job = in->jobs[i];

        if (!job->device_count || !held[job->devices[0]])
            continue;
        g->seat_of.items[i] = (int)g->columns.count; /* none of the columns */
        plan_seat(plan, g->window.items[i], job->devices, job->device_count);
        for (int k = 0; k < job->device_count; k++) {
            if (g->occupancy.counts[job->devices[k]] == 0)
                free_devices[in->cluster->devices[job->devices[k]].type]--;
            occupancy_add(&g->occupancy, in->cluster, job->devices[k], job);
        }
    }
    free(held);
}

/* Go through the columns in order and give each the devices it asks for, while there are
 * some and none of its jobs has a seat. */
static void grant(struct gavel *g, const struct optimize_input *in, int *free_devices)
{
    vec_each (int, at, &g->order) {
        const struct gavel_column *c = &g->columns.items[*at];
        int wanted = in->jobs[c->job]->job.devices;

        if (g->seat_of.items[c->job] >= 0 || free_devices[c->type] < wanted ||
            (c->other >= 0 && g->seat_of.items[c->other] >= 0))
            continue;
        g->seat_of.items[c->job] = *at;
        if (c->other >= 0)
            g->seat_of.items[c->other] = *at;
        free_devices[c->type] -= wanted;
    }
}

static void sit(struct gavel *g, const struct optimize_input *in, struct plan *plan,
                int job, const int *devices)
{
    int count = in->jobs[job]->job.devices;

    for (int k = 0; k < count; k++)
        occupancy_add(&g->occupancy, in->cluster, devices[k], in->jobs[job]);
    plan_seat(plan, g->window.items[job], devices, count);
}

/* The devices a job of the column has already, if they are of the right type and free. */
static const int *present(struct gavel *g, const struct optimize_input *in, int job,
                          int type)
{
    const struct job_status *s = in->jobs[job];

    if (s->device_count != s->job.devices ||
        in->cluster->devices[s->devices[0]].type != type)
        return NULL;
    for (int k = 0; k < s->device_count; k++)
        if (g->occupancy.counts[s->devices[k]] > 0)
            return NULL;
    return s->devices;
}

static bool score(void *ctx, const struct occupancy *o, const struct optimize_input *in,
                  const struct job_status *job, int device, double *out)
{
    const struct gavel_column *c = ctx;
    const struct device *d = &in->cluster->devices[device];

    (void)job;
    if (d->type != c->type || o->counts[device] > 0)
        return false;
    *out = device;
    if (in->settings->sleep) /* nodes in use first, then those awake */
        *out += (o->node_jobs[d->node] == 0 ? 1e6 : 0) +
                (in->cluster->nodes[d->node].state == NODE_ASLEEP ? 2e6 : 0);
    return true;
}

static void seat_column(struct gavel *g, const struct optimize_input *in,
                        struct plan *plan, int at, bool newcomers)
{
    struct gavel_column *c = &g->columns.items[at];
    const int *devices = present(g, in, c->job, c->type);
    int found[LOOP_MAX_GANG];
    double total;

    if (c->other >= 0 && (!devices || in->jobs[c->other]->job.kind == JOB_INFERENCE)) {
        const int *theirs = present(g, in, c->other, c->type);

        devices = theirs ? theirs : devices; /* rather the service stays */
    }
    if (!devices && newcomers &&
        choose_devices(&g->choose, &g->occupancy, in, in->jobs[c->job], score, c, found,
                       &total))
        devices = found;
    if (!devices)
        return;
    sit(g, in, plan, c->job, devices);
    if (c->other >= 0)
        sit(g, in, plan, c->other, devices);
}

/* First those who can stay on a device they have, then the others. */
static void seat_all(struct gavel *g, const struct optimize_input *in, struct plan *plan)
{
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < g->job_count; i++) {
            int at = g->seat_of.items[i];

            if (at < 0 || (size_t)at >= g->columns.count ||
                g->columns.items[at].job != i ||
                plan->seats[g->window.items[i]].device_count > 0)
                continue;
            seat_column(g, in, plan, at, pass == 1);
        }
}

void gavel_seat(struct gavel *g, const struct optimize_input *in, struct plan *plan)
{
    struct optimize_input empty = *in;
    int free_devices[CLUSTER_MAX_TYPES];
    double since_s = isnan(g->solved_s) ? 0 : in->now_s - g->solved_s;
    /* A long round counts as one: credits are a matter of turns. */
    double rounds = fmin(1, since_s / GAVEL_ROUND_S);

    empty.job_count = 0;
    occupancy_load(&g->occupancy, &empty);
    memcpy(free_devices, g->devices, sizeof(free_devices));
    vec_clear(&g->seat_of);
    for (size_t i = 0; i < in->job_count; i++)
        vec_push(&g->seat_of, -1);
    settle_credits(g, in, rounds);
    keep_unmovable(g, in, plan, free_devices);
    rank_columns(g, in);
    grant(g, in, free_devices);
    seat_all(g, in, plan);
}
