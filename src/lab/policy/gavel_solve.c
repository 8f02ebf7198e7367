/* gavel_solve.c - the linear programs of the Gavel policies; see gavel_policy.h */
#include "lab/policy/gavel_policy.h"

#include <math.h>
#include <string.h>

/* Dollars an hour in the program below: what a job left waiting costs, and one that
 * misses all of its requirement.  Both far above what any device costs. */
#define WAITING_PRICE   400.0
#define SHORTFALL_PRICE 100.0
/* Throughput per cost as a price: what an hour on a job's best type is worth.  Lower ones
 * send training to slow cheap devices, where it takes more energy. */
#define PROGRESS_PRICE 4.0
/* Weight of the sum of throughputs beside the least of them: fills what fairness leaves.
 */
#define SUM_WEIGHT 1e-3

double gavel_price(const struct gpu_sheet *gpu)
{
    /* List prices of cloud machines, dollars an hour; the first three are Gavel's. */
    static const struct {
        const char *name;
        double price;
    } prices[] = {{"k80", 0.45}, {"p100", 1.46}, {"v100", 2.48},
                  {"t4", 0.35},  {"l4", 0.56},   {"a100", 2.93}};

    for (size_t i = 0; i < sizeof(prices) / sizeof(prices[0]); i++)
        if (gpu_named(gpu, prices[i].name))
            return prices[i].price;
    /* Others by how much card there is, in units of a V100. */
    return 2.48 * sqrt(gpu->fp32_tflops / 14 * gpu->bandwidth_gbs / 900);
}

static int devices_of(const struct optimize_input *in, const struct gavel_column *c)
{
    return in->jobs[c->job]->job.devices;
}

static double worth(const struct optimize_input *in, int job, double rate)
{
    return in->jobs[job]->job.kind == JOB_TRAINING ? rate : 0;
}

/* What a column adds to throughput: services serve what is asked for, no more. */
static double progress(const struct optimize_input *in, const struct gavel_column *c)
{
    double sum = devices_of(in, c) * worth(in, c->job, c->rate[0]);

    return c->other < 0 ? sum : sum + worth(in, c->other, c->rate[1]);
}

/* A kilowatt as dollars an hour in the program: about what the three cards of its authors
 * cost beside what they draw, so that its other prices keep their weight. */
#define KILOWATT_PRICE 10.0

static double column_cost(const struct gavel *g, const struct optimize_input *in,
                          const struct gavel_column *c)
{
    double price = g->objective == GAVEL_ENERGY
                       ? KILOWATT_PRICE * c->watts / 1000
                       : gavel_price(&in->cluster->types[c->type]);
    double cost = price * devices_of(in, c) - c->stay;

    if (c->shortfall > 0)
        cost += SHORTFALL_PRICE * (0.2 + c->shortfall);
    return cost - PROGRESS_PRICE * progress(in, c);
}

/* Rows 0 .. jobs-1: each job's time; then the devices of each type. */
static void add_rows(struct gavel *g, double least)
{
    lp_clear(g->lp);
    for (int i = 0; i < g->job_count; i++)
        lp_row(g->lp, least, 1);
    for (int t = 0; t < g->type_count; t++)
        lp_row(g->lp, -LP_INFINITY, g->devices[t]);
}

static bool solve_cost(struct gavel *g, const struct optimize_input *in)
{
    const double one = 1;

    add_rows(g, 1);
    vec_each (struct gavel_column, c, &g->columns) {
        const int rows[] = {c->job, g->job_count + c->type, c->other};
        const double values[] = {1, devices_of(in, c), 1};

        lp_column(g->lp, column_cost(g, in, c), 0, 1, c->other < 0 ? 2 : 3, rows, values);
    }
    for (int i = 0; i < g->job_count; i++)
        lp_column(g->lp, WAITING_PRICE, 0, 1, 1, &i, &one);
    return lp_solve(g->lp);
}

/* Rate of an equal share of all devices. */
static double equal_share(struct gavel *g, int job)
{
    double sum = 0, devices = 0;

    for (int t = 0; t < g->type_count; t++) {
        if (gavel_alone(g, job, t)->fits)
            sum += g->devices[t] * gavel_alone(g, job, t)->rate;
        devices += g->devices[t];
    }
    return fmax(1e-6, sum / fmax(1, devices));
}

/* Behind the rows of add_rows: throughput of each job less the least of all. */
static bool solve_maxmin(struct gavel *g, const struct optimize_input *in)
{
    vec_of(int) all = {0};
    vec_of(double) minus = {0};
    int first = g->job_count + g->type_count;
    bool solved;

    add_rows(g, -LP_INFINITY);
    for (int i = 0; i < g->job_count; i++) {
        vec_push(&all, lp_row(g->lp, 0, LP_INFINITY));
        vec_push(&minus, -1);
    }
    vec_each (struct gavel_column, c, &g->columns) {
        double a = c->rate[0] / equal_share(g, c->job);
        double b = c->other < 0 ? 0 : c->rate[1] / equal_share(g, c->other);
        const int rows[] = {c->job, g->job_count + c->type, first + c->job, c->other,
                            first + c->other};
        const double values[] = {1, devices_of(in, c), a, 1, b};
        double bonus = 1 + 0.1 * c->stay;

        lp_column(g->lp, -SUM_WEIGHT * (a + b) * bonus, 0, 1, c->other < 0 ? 3 : 5, rows,
                  values);
    }
    lp_column(g->lp, -1, 0, LP_INFINITY, g->job_count, all.items, minus.items);
    solved = lp_solve(g->lp);
    vec_free(&all);
    vec_free(&minus);
    return solved;
}

void gavel_solve(struct gavel *g, const struct optimize_input *in)
{
    bool solved;

    if (g->job_count == 0 || g->columns.count == 0)
        return;
    solved = g->objective == GAVEL_MAXMIN ? solve_maxmin(g, in) : solve_cost(g, in);
    for (size_t c = 0; c < g->columns.count; c++)
        g->columns.items[c].share = solved ? fmax(0, lp_values(g->lp)[c]) : 0;
}
