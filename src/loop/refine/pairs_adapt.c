/* pairs_adapt.c - the slower part of learning from pairs, see pairs_adapt() in pairs.h */
#include "loop/refine/pairs.h"

#include "base/mem.h"
#include "base/rng.h"
#include "loop/refine/conformal.h"
#include "loop/refine/fit.h"
#include "loop/refine/pairs_state.h"

#include <math.h>
#include <stdlib.h>

/* Parameters are adapted from so many observations on; before, the shipped ones stay. */
#define FIT_FROM  80
#define FIT_STEPS 40
#define FIT_ROWS  400
#define FIT_PULL  0.5 /* the pull to the shipped values counts as so many observations */

/* The network learns online from so many on: earlier its intervals collapse. */
#define TRAIN_FROM  120
#define TRAIN_STEPS 100
#define TRAIN_RATE  7e-4
#define TRAIN_BATCH 128

/* Of the errors inside: a little more than 90 %, they were seen when fitting. */
#define CALIBRATE_SHARE 0.91

#define WEIGHT_DEFAULT  0.3
#define WEIGHT_COST     0.002
#define WEIGHT_FROM     40

struct held { /* what both parts say of observed cells without them */
    size_t count;
    double *core_mean, *core_sd, *truth; /* (count) */
    struct statnet_row *rows;            /* (count) */
    struct statnet_guess *net;           /* (count) */
};

static bool same_pair(struct cell a, struct cell b)
{
    return a.gpu == b.gpu && ((a.job == b.job && a.other == b.other) ||
                              (a.job == b.other && a.other == b.job));
}

static void leave_out_core(const struct core *core, struct held *h)
{
    size_t n = core_count(core);
    double *precision = mem_array(double, n *n + 1);

    core_precision(core, precision);
    for (size_t i = 0; i < n; i++) {
        size_t group[2] = {i, i}, size = 1;
        double mean[2], cov[4];

        for (size_t j = 0; j < n && size < 2; j++)
            if (j != i && same_pair(core_cell(core, i), core_cell(core, j)))
                group[size++] = j;
        h->truth[i] = core_observed(core, i);
        h->core_mean[i] = h->truth[i];
        h->core_sd[i] = 1;
        if (core_leave_out(core, precision, group, size, mean, cov) == 0) {
            h->core_mean[i] = mean[0];
            h->core_sd[i] = sqrt(cov[0]);
        }
    }
    free(precision);
}

static void leave_out_rows(struct pairs *p, struct held *h)
{
    const struct stats *stats = pairs_stats(p);

    for (size_t i = 0; i < h->count; i++) {
        struct cell cell = core_cell(p->core, i);
        struct stats_row *row = stats_row_create(stats, cell.job);

        h->rows[i].base =
            (float)stats_features(row, cell.gpu, cell.other, true, h->rows[i].x).base;
        h->rows[i].target = (float)h->truth[i];
        /* The other direction of the same pair is not there for a cell never tried. */
        h->rows[i].x[22] = h->rows[i].x[23] = 0;
        stats_row_destroy(row);
    }
}

static void held_init(struct pairs *p, struct held *h)
{
    size_t n = core_count(p->core);

    *h = (struct held){
        .count = n,
        .core_mean = mem_array(double, n + 1),
        .core_sd = mem_array(double, n + 1),
        .truth = mem_array(double, n + 1),
        .rows = mem_array(struct statnet_row, n + 1),
        .net = mem_array(struct statnet_guess, n + 1),
    };
    leave_out_core(p->core, h);
    leave_out_rows(p, h);
    statnet_predict(p->refined, h->rows, n, h->net);
}

static void held_fini(struct held *h)
{
    free(h->core_mean);
    free(h->core_sd);
    free(h->truth);
    free(h->rows);
    free(h->net);
}

/* Weight of the network with the least error on cells both had not seen. */
static double choose_weight(const struct held *h)
{
    double best = INFINITY, weight = WEIGHT_DEFAULT;

    if (h->count < WEIGHT_FROM)
        return weight;
    for (int step = 0; step <= 10; step++) {
        double w = step / 10.0, loss = 0;

        for (size_t i = 0; i < h->count; i++)
            loss += fabs((1 - w) * h->core_mean[i] + w * h->net[i].mean - h->truth[i]);
        loss = loss / (double)h->count + WEIGHT_COST * w;
        if (loss < best) {
            best = loss;
            weight = w;
        }
    }
    return weight;
}

static double choose_width(const struct held *h, double w)
{
    double *errors = mem_array(double, h->count + 1), width;

    for (size_t i = 0; i < h->count; i++)
        errors[i] = fabs((1 - w) * h->core_mean[i] + w * h->net[i].mean - h->truth[i]) /
                    ((1 - w) * h->core_sd[i] + w * h->net[i].sd);
    width = conformal_width(errors, h->count, CALIBRATE_SHARE);
    free(errors);
    return width;
}

/* Train a copy of P2 on what was measured.  Whether it is trusted is for choose_weight:
 * it is asked with the network as it was before it saw these cells. */
static void train_network(struct pairs *p, const struct held *h, uint64_t seed)
{
    struct statnet_trainer *trainer =
        statnet_trainer_create(p->refined, TRAIN_RATE, TRAIN_STEPS);
    struct statnet_row batch[TRAIN_BATCH];
    struct rng rng;

    rng_stream(&rng, seed, h->count);
    for (int t = 0; t < TRAIN_STEPS; t++) {
        for (int i = 0; i < TRAIN_BATCH; i++)
            batch[i] = h->rows[rng_below(&rng, h->count)];
        statnet_train_step(trainer, batch, NULL, TRAIN_BATCH);
    }
    statnet_trainer_destroy(trainer);
    statnet_repack(p->refined);
}

void pairs_adapt(struct pairs *p, uint64_t seed)
{
    size_t n = core_count(p->core);
    struct held h;

    if (n >= FIT_FROM) {
        struct fit_options how = {.steps = FIT_STEPS,
                                  .rate = 0.04,
                                  .pull = FIT_PULL / (double)n,
                                  .max_rows = FIT_ROWS};
        struct kernel_params params = fit_params(p->core, &p->start, &how);

        core_set_params(p->core, &params);
    }
    held_init(p, &h);
    p->weight = choose_weight(&h);
    p->width = choose_width(&h, p->weight);
    if (n >= TRAIN_FROM)
        train_network(p, &h, seed);
    held_fini(&h);
}
