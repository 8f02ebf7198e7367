/* pairs.c - see pairs.h */
#include "loop/refine/pairs.h"

#include "base/mem.h"
#include "base/normal.h"
#include "loop/refine/conformal.h"
#include "loop/refine/pairs_state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct pairs *pairs_create(void)
{
    struct pairs *p = mem_new(struct pairs);

    kernel_default(&p->start);
    p->core = core_create(&p->start, true);
    p->stats = stats_create();
    p->initial = statnet_shipped("p1");
    p->refined = statnet_shipped("p2");
    p->index = map_create();
    p->memory = mem_array(struct pairs_memory, PAIRS_MAX);
    p->limit = PAIRS_MAX;
    p->weights = blend_weights_default();
    p->width = NORMAL_90_SHORT;
    return p;
}

void pairs_destroy(struct pairs *p)
{
    if (!p)
        return;
    core_destroy(p->core);
    stats_destroy(p->stats);
    statnet_destroy(p->initial);
    statnet_destroy(p->refined);
    gbt_destroy(p->trees);
    map_destroy(p->index);
    vec_free(&p->idle);
    free(p->memory);
    free(p);
}

int pairs_add_job(struct pairs *p, const struct job_trait *job)
{
    stats_add_job(p->stats, job);
    vec_push(&p->idle, false);
    return core_add_job(p->core, job);
}

int pairs_add_gpu(struct pairs *p, const struct gpu_trait *gpu)
{
    stats_add_gpu(p->stats);
    return core_add_gpu(p->core, gpu);
}

void pairs_set_limit(struct pairs *p, size_t limit)
{
    p->limit = limit < PAIRS_MAX ? limit : PAIRS_MAX;
}

void pairs_set_idle(struct pairs *p, int job, bool idle)
{
    p->idle.items[job] = idle;
}

void pairs_set_initial(struct pairs *p, bool alone)
{
    p->initial_only = alone;
}

const struct core *pairs_core(struct pairs *p)
{
    pairs_settle(p);
    return p->core;
}

size_t pairs_count(const struct pairs *p)
{
    return core_count(p->core);
}

struct blend_weights pairs_weights(const struct pairs *p)
{
    return p->weights;
}

uint64_t pairs_key(struct cell cell)
{
    return (uint64_t)cell.job << 40 | (uint64_t)cell.gpu << 32 | (uint64_t)cell.other;
}

static size_t append(struct pairs *p, struct cell cell, double value, double extra_var)
{
    size_t at;

    if (core_count(p->core) >= p->limit)
        pairs_make_room(p);
    at = core_observe(p->core, cell, value, extra_var);
    p->memory[at] = (struct pairs_memory){.extra_var = extra_var};
    drift_push(&p->memory[at].drift, value);
    map_put(p->index, pairs_key(cell), at);
    return at;
}

bool pairs_observe(struct pairs *p, struct cell cell, double value, double extra_var)
{
    bool changed = false;
    size_t at;

    p->version++;
    if (map_get(p->index, pairs_key(cell), &at)) {
        changed = drift_push(&p->memory[at].drift, value);
        p->stale = true;
    } else {
        at = append(p, cell, value, extra_var);
    }
    p->memory[at].stamp = ++p->stamp;
    return changed;
}

void pairs_put(struct pairs *p, struct cell cell, double value, double extra_var)
{
    size_t at;

    p->version++;
    if (map_get(p->index, pairs_key(cell), &at)) {
        p->memory[at].drift.mean = value;
        p->memory[at].drift.times++;
        p->memory[at].extra_var = extra_var;
        p->stale = true;
    } else {
        at = append(p, cell, value, extra_var);
    }
    p->memory[at].stamp = ++p->stamp;
}

void pairs_settle(struct pairs *p)
{
    size_t n = core_count(p->core);
    double *values;

    if (!p->stale)
        return;
    values = mem_array(double, n + 1);
    for (size_t i = 0; i < n; i++)
        values[i] = p->memory[i].drift.mean;
    core_revise_all(p->core, values, NULL);
    free(values);
    p->stale = false;
}

const struct stats *pairs_stats(struct pairs *p)
{
    if (p->stats_version == p->version)
        return p->stats;
    pairs_settle(p);
    stats_rewind(p->stats, 0);
    for (size_t i = 0; i < core_count(p->core); i++)
        stats_observe(p->stats, core_cell(p->core, i), core_observed(p->core, i));
    p->stats_version = p->version;
    return p->stats;
}

/* What network and trees say of cells: P1 while nothing of their job was measured. */
static void ask_network(struct pairs *p, const struct cell *cells, size_t count,
                        const struct gbt *trees, struct blend_said *out)
{
    const struct stats *stats = pairs_stats(p);
    struct statnet_row *rows = mem_array(struct statnet_row, count + 1);
    struct statnet_guess *net = mem_array(struct statnet_guess, count + 1);
    struct stats_row *row = NULL;
    int job = -1;
    bool measured = false;

    for (size_t i = 0; i < count; i++) {
        if (cells[i].job != job) {
            stats_row_destroy(row);
            job = cells[i].job;
            row = stats_row_create(stats, job);
        }
        rows[i].base =
            (float)stats_features(row, cells[i].gpu, cells[i].other, true, rows[i].x)
                .base;
        if (p->initial_only)
            rows[i].base = stats_blind(rows[i].x, rows[i].base);
        measured = measured || rows[i].x[5] > 0;
    }
    statnet_predict(measured ? p->refined : p->initial, rows, count, net);
    for (size_t i = 0; i < count; i++) {
        out[i].net = (struct blend_belief){net[i].mean, net[i].sd};
        out[i].trees =
            trees ? (double)rows[i].base + gbt_predict(trees, rows[i].x) : net[i].mean;
    }
    stats_row_destroy(row);
    free(rows);
    free(net);
}

/* The core knows what was measured; P1 alone keeps to the very measurement. */
static struct blend_belief mix(const struct pairs *p, const struct blend_said *said,
                               const struct pairs_memory *seen)
{
    static const struct blend_weights core_alone = {0, 0};

    if (!p->initial_only)
        return blend_mix(said, seen ? &core_alone : &p->weights);
    if (seen)
        return (struct blend_belief){seen->drift.mean,
                                     sqrt(seen->extra_var + core_kernel(p->core)->noise)};
    return said->net;
}

static struct pairs_guess guess_of(const struct pairs *p, struct cell cell,
                                   const struct blend_said *said)
{
    size_t at;
    bool seen = map_get(p->index, pairs_key(cell), &at);
    struct blend_belief b = mix(p, said, seen ? &p->memory[at] : NULL);
    double half = (seen ? NORMAL_90_SHORT : p->width) * b.sd;

    return (struct pairs_guess){
        .mean = fmin(b.mean, 0),
        .low = b.mean - half,
        .high = fmin(b.mean + half, 0),
        .sd = half / NORMAL_90_SHORT,
        .times = seen ? (int)p->memory[at].drift.times : 0,
    };
}

static void answer(struct pairs *p, const struct cell *cells, size_t count,
                   const double *core_mean, const double *core_sd,
                   struct pairs_guess *out)
{
    struct blend_said *said = mem_array(struct blend_said, count + 1);

    ask_network(p, cells, count, p->trees, said);
    for (size_t i = 0; i < count; i++) {
        said[i].core = (struct blend_belief){core_mean[i], core_sd[i]};
        out[i] = guess_of(p, cells[i], &said[i]);
    }
    free(said);
}

void pairs_predict(struct pairs *p, const struct cell *cells, size_t count,
                   struct pairs_guess *out)
{
    double *mean = mem_array(double, count + 1), *sd = mem_array(double, count + 1);

    pairs_settle(p);
    core_predict(p->core, cells, count, mean, sd);
    for (size_t i = 0; i < count; i++)
        sd[i] = sqrt(sd[i]);
    answer(p, cells, count, mean, sd, out);
    free(mean);
    free(sd);
}

static struct cell *cells_of_row(const struct pairs *p, int job, const int *others,
                                 size_t count)
{
    size_t gpus = (size_t)core_gpu_count(p->core);
    struct cell *cells = mem_array(struct cell, gpus * count + 1);

    for (size_t g = 0; g < gpus; g++)
        for (size_t k = 0; k < count; k++)
            cells[g * count + k] = (struct cell){job, (int)g, others[k]};
    return cells;
}

void pairs_predict_row(struct pairs *p, int job, const int *others, size_t count,
                       double *out)
{
    size_t total = (size_t)core_gpu_count(p->core) * count;
    struct cell *cells = cells_of_row(p, job, others, count);
    struct blend_said *said = mem_array(struct blend_said, total + 1);

    pairs_settle(p);
    core_predict_row(p->core, job, others, count, out);
    ask_network(p, cells, total, NULL, said);
    for (size_t i = 0; i < total; i++) {
        said[i].core.mean = out[i];
        out[i] = fmin(blend_mix(&said[i], &p->weights).mean, 0);
    }
    free(cells);
    free(said);
}

void pairs_renew_row(struct pairs *p, int job, const int *others, size_t count,
                     bool widths, double *core_sd, struct pairs_guess *out)
{
    size_t total = (size_t)core_gpu_count(p->core) * count;
    struct cell *cells = cells_of_row(p, job, others, count);
    double *mean = mem_array(double, total + 1);

    pairs_settle(p);
    if (widths) {
        core_predict(p->core, cells, total, mean, core_sd);
        for (size_t i = 0; i < total; i++)
            core_sd[i] = sqrt(core_sd[i]);
    } else {
        core_predict_row(p->core, job, others, count, mean);
    }
    answer(p, cells, total, mean, core_sd, out);
    free(cells);
    free(mean);
}
