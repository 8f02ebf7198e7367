/* pairs.c - see pairs.h */
#include "model/pairs.h"

#include "base/mem.h"
#include "base/normal.h"
#include "base/str.h"
#include "model/blend.h"
#include "model/pairs_private.h"
#include "nn/weights.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct pairs *pairs_create(void)
{
    struct pairs *p = mem_new(struct pairs);

    kernel_default(&p->start);
    p->core = gp_create(&p->start, true);
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
    gp_destroy(p->core);
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
    return gp_add_job(p->core, job);
}

int pairs_add_gpu(struct pairs *p, const struct gpu_trait *gpu)
{
    stats_add_gpu(p->stats);
    return gp_add_gpu(p->core, gpu);
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

const struct gp *pairs_core(const struct pairs *p)
{
    return p->core;
}

size_t pairs_count(const struct pairs *p)
{
    return gp_count(p->core);
}

uint64_t pairs_key(struct cell cell)
{
    return (uint64_t)cell.job << 40 | (uint64_t)cell.gpu << 32 | (uint64_t)cell.other;
}

static size_t append(struct pairs *p, struct cell cell, double value, double extra_var)
{
    size_t at;

    if (gp_count(p->core) >= p->limit)
        pairs_make_room(p);
    at = gp_observe(p->core, cell, value, extra_var);
    p->memory[at] = (struct pairs_memory){.extra_var = extra_var};
    drift_push(&p->memory[at].drift, value);
    map_put(p->index, pairs_key(cell), at);
    return at;
}

bool pairs_observe(struct pairs *p, struct cell cell, double value, double extra_var)
{
    bool changed = false;
    size_t at;

    p->stats_stale = true;
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

    p->stats_stale = true;
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
    size_t n = gp_count(p->core);
    double *values;

    if (!p->stale && !p->stats_stale)
        return;
    values = mem_array(double, n + 1);
    for (size_t i = 0; i < n; i++)
        values[i] = p->memory[i].drift.mean;
    if (p->stale)
        gp_revise_all(p->core, values, NULL);
    stats_rewind(p->stats, 0);
    for (size_t i = 0; i < n; i++)
        stats_observe(p->stats, gp_cell(p->core, i), values[i]);
    free(values);
    p->stale = p->stats_stale = false;
}

/* P1 answers for a job of which nothing was measured, P2 for the others: `count` rows of
 * one job. */
static void ask_network_of(const struct pairs *p, bool measured,
                           const struct statnet_row *rows, size_t count,
                           struct statnet_guess *net)
{
    statnet_predict(measured && !p->initial_only ? p->refined : p->initial, rows, count,
                    net);
}

/* What network and trees say of cells, those of one job beside each other. */
static void ask_network(const struct pairs *p, const struct gp_guests *guests,
                        const struct cell *cells, size_t count, const struct gbt *trees,
                        struct blend_said *out)
{
    struct statnet_row *rows = mem_array(struct statnet_row, count + 1);
    struct statnet_guess *net = mem_array(struct statnet_guess, count + 1);
    size_t first = 0, next;

    for (; first < count; first = next) {
        struct stats_row *row = stats_row_create(p->stats, cells[first].job, guests);

        for (next = first; next < count && cells[next].job == cells[first].job; next++) {
            struct statnet_row *r = &rows[next];

            r->base =
                (float)stats_features(row, cells[next].gpu, cells[next].other, true, r->x)
                    .base;
            if (p->initial_only)
                r->base = stats_blind(r->x, r->base);
        }
        ask_network_of(p, stats_row_measured(row), rows + first, next - first,
                       net + first);
        stats_row_destroy(row);
    }
    for (size_t i = 0; i < count; i++) {
        out[i].net = (struct blend_belief){net[i].mean, net[i].sd};
        out[i].trees =
            trees ? (double)rows[i].base + gbt_predict(trees, rows[i].x) : net[i].mean;
    }
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
                                     sqrt(seen->extra_var + gp_kernel(p->core)->noise)};
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

static void answer(const struct pairs *p, const struct gp_guests *guests,
                   const struct cell *cells, size_t count, const double *core_mean,
                   const double *core_sd, struct pairs_guess *out)
{
    struct blend_said *said = mem_array(struct blend_said, count + 1);

    assert(!p->stale && !p->stats_stale);
    ask_network(p, guests, cells, count, p->trees, said);
    for (size_t i = 0; i < count; i++) {
        said[i].core = (struct blend_belief){core_mean[i], core_sd[i]};
        out[i] = guess_of(p, cells[i], &said[i]);
    }
    free(said);
}

void pairs_predict(const struct pairs *p, const struct cell *cells, size_t count,
                   struct pairs_guess *out)
{
    double *mean = mem_array(double, count + 1), *sd = mem_array(double, count + 1);

    gp_predict(p->core, cells, count, mean, sd);
    for (size_t i = 0; i < count; i++)
        sd[i] = sqrt(sd[i]);
    answer(p, NULL, cells, count, mean, sd, out);
    free(mean);
    free(sd);
}

struct pairs_guess pairs_predict_guest(const struct pairs *p,
                                       const struct gp_guests *guests, struct cell cell)
{
    int known = gp_job_count(p->core);
    struct pairs_guess guess;
    double mean, var;

    if (cell.job < known && cell.other < known)
        gp_predict(p->core, &cell, 1, &mean, &var);
    else
        gp_predict_guest(p->core, guests, cell, &mean, &var);
    var = sqrt(var);
    answer(p, guests, &cell, 1, &mean, &var, &guess);
    return guess;
}

static struct cell *cells_of_row(const struct pairs *p, int job, const int *others,
                                 size_t count)
{
    size_t gpus = (size_t)gp_gpu_count(p->core);
    struct cell *cells = mem_array(struct cell, gpus * count + 1);

    for (size_t g = 0; g < gpus; g++)
        for (size_t k = 0; k < count; k++)
            cells[g * count + k] = (struct cell){job, (int)g, others[k]};
    return cells;
}

void pairs_predict_row(const struct pairs *p, int job, const int *others, size_t count,
                       double *out)
{
    size_t total = (size_t)gp_gpu_count(p->core) * count;
    struct cell *cells = cells_of_row(p, job, others, count);
    struct blend_said *said = mem_array(struct blend_said, total + 1);

    gp_predict_row(p->core, job, others, count, out);
    ask_network(p, NULL, cells, total, NULL, said);
    for (size_t i = 0; i < total; i++) {
        said[i].core.mean = out[i];
        out[i] = fmin(blend_mix(&said[i], &p->weights).mean, 0);
    }
    free(cells);
    free(said);
}

void pairs_renew_row(const struct pairs *p, int job, const int *others, size_t count,
                     bool widths, double *core_sd, struct pairs_guess *out)
{
    size_t total = (size_t)gp_gpu_count(p->core) * count;
    struct cell *cells = cells_of_row(p, job, others, count);
    double *mean = mem_array(double, total + 1);

    if (widths) {
        gp_predict(p->core, cells, total, mean, core_sd);
        for (size_t i = 0; i < total; i++)
            core_sd[i] = sqrt(core_sd[i]);
    } else {
        gp_predict_row(p->core, job, others, count, mean);
    }
    answer(p, NULL, cells, total, mean, core_sd, out);
    free(cells);
    free(mean);
}

/* ---- which observations are worth keeping ---------------------------------------------
 */

/* What is known of jobs that left counts for less. */
#define IDLE_WORTH 0.5

static int by_worth(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* What an observation tells beyond the others: how much wider its cell would be believed
 * without it than the noise it has. */
static void weigh(const struct pairs *p, double *worth)
{
    size_t n = gp_count(p->core);
    double *precision = mem_array(double, n *n + 1);

    gp_precision(p->core, precision);
    for (size_t i = 0; i < n; i++) {
        struct cell cell = gp_cell(p->core, i);
        double noise = kernel_noise(gp_kernel(p->core), cell) + gp_extra_var(p->core, i);
        double gain = -0.5 * log(fmax(precision[i * n + i] * noise, 1e-12));
        bool idle = p->idle.items[cell.job] || p->idle.items[cell.other];

        /* Of two that tell the same the older goes. */
        worth[i] = gain * (idle ? IDLE_WORTH : 1) *
                   (1 + 0.1 * (double)p->memory[i].stamp / (double)(p->stamp + 1));
    }
    free(precision);
}

void pairs_make_room(struct pairs *p)
{
    size_t n = gp_count(p->core), kept = 0;
    double *worth = mem_array(double, n + 1), *sorted = mem_array(double, n + 1), least;
    bool *keep = mem_array(bool, n + 1);

    weigh(p, worth);
    for (size_t i = 0; i < n; i++)
        sorted[i] = worth[i];
    qsort(sorted, n, sizeof(*sorted), by_worth);
    least = sorted[n / 4];
    map_destroy(p->index);
    p->index = map_create();
    for (size_t i = 0; i < n; i++) {
        /* Always make room, whatever is alike. */
        keep[i] = worth[i] >= least && kept < n - n / 4;
        if (!keep[i])
            continue;
        map_put(p->index, pairs_key(gp_cell(p->core, i)), kept);
        p->memory[kept++] = p->memory[i];
    }
    gp_retain(p->core, keep);
    p->stale = true;
    free(worth);
    free(sorted);
    free(keep);
}

/* ---- for checkpoints and lessons ------------------------------------------------------
 */

static void put_jobs(const struct pairs *p, struct bytes_out *out)
{
    struct kernel_space space = gp_space(p->core);
    int count = gp_job_count(p->core), kept = 0;

    for (int j = 0; j < count; j++)
        kept += bytes_class(out, j) >= 0;
    bytes_put_u64(out, (uint64_t)kept);
    for (int j = 0; j < count; j++)
        if (bytes_class(out, j) >= 0) {
            bytes_put_u64(out, (uint64_t)space.jobs[j].family);
            bytes_put_real(out, space.jobs[j].beta);
            bytes_put_real(out, space.jobs[j].omega);
            bytes_put_u64(out, space.jobs[j].untold != 0);
        }
}

static bool kept(const struct bytes_out *out, struct cell cell)
{
    return bytes_class(out, cell.job) >= 0 && bytes_class(out, cell.other) >= 0;
}

static void put_observations(const struct pairs *p, struct bytes_out *out)
{
    size_t n = gp_count(p->core), count = 0;

    for (size_t i = 0; i < n; i++)
        count += kept(out, gp_cell(p->core, i));
    bytes_put_u64(out, count);
    for (size_t i = 0; i < n; i++) {
        struct cell cell = gp_cell(p->core, i);
        const struct pairs_memory *m = &p->memory[i];

        if (!kept(out, cell))
            continue;
        bytes_put_u64(out, (uint64_t)bytes_class(out, cell.job));
        bytes_put_u64(out, (uint64_t)cell.gpu);
        bytes_put_u64(out, (uint64_t)bytes_class(out, cell.other));
        bytes_put_real(out, m->drift.mean);
        bytes_put_real(out, m->drift.times);
        bytes_put_real(out, m->drift.odd);
        bytes_put_u64(out, (uint64_t)m->drift.odd_count);
        bytes_put_real(out, m->extra_var);
        bytes_put_real(out, gp_extra_var(p->core, i)); /* until the next lesson */
        bytes_put_u64(out, m->stamp);
    }
}

static void put_network(const struct pairs *p, struct bytes_out *out)
{
    struct str blob = {0};
    struct err err = {0};

    /* A network that is not finite is not worth keeping: the shipped one then stays. */
    if (weights_encode(p->refined->params, "", &blob, &err) < 0)
        str_clear(&blob);
    bytes_put_u64(out, blob.length);
    bytes_put(out, str_text(&blob), blob.length);
    str_fini(&blob);
}

void pairs_write(const struct pairs *p, struct bytes_out *out)
{
    put_jobs(p, out);
    bytes_put_reals(out, gp_params(p->core)->v, KERNEL_PARAM_COUNT);
    put_observations(p, out);
    bytes_put_real(out, p->weights.net);
    bytes_put_real(out, p->weights.trees);
    bytes_put_real(out, p->width);
    bytes_put_u64(out, p->stamp);
    put_network(p, out);
    bytes_put_u64(out, p->trees != NULL);
    if (p->trees)
        gbt_write(p->trees, out);
}

static void get_jobs(struct pairs *p, struct bytes_in *in)
{
    size_t count = bytes_count(in, PAIRS_MAX_JOBS, 32);

    for (size_t j = 0; j < count; j++) {
        struct job_trait trait = {.family = bytes_int(in, -1, PAIRS_MAX_JOBS)};

        trait.beta = bytes_log(in);
        trait.omega = bytes_log(in);
        trait.untold = bytes_int(in, 0, 1);
        pairs_add_job(p, &trait);
    }
}

static void get_observations(struct pairs *p, struct bytes_in *in)
{
    size_t n = bytes_count(in, PAIRS_MAX, 80);
    int jobs = gp_job_count(p->core), gpus = gp_gpu_count(p->core);
    struct cell *cells = mem_array(struct cell, n + 1);
    double *values = mem_array(double, n + 1), *extra = mem_array(double, n + 1);

    for (size_t i = 0; i < n; i++) {
        struct pairs_memory *m = &p->memory[i];

        cells[i].job = bytes_int(in, 0, jobs - 1);
        cells[i].gpu = bytes_int(in, 0, gpus - 1);
        cells[i].other = bytes_int(in, 0, jobs - 1);
        values[i] = m->drift.mean = bytes_log(in);
        m->drift.times = bytes_real(in);
        m->drift.odd = bytes_real(in);
        m->drift.odd_count = bytes_int(in, 0, 1000);
        m->extra_var = fmax(bytes_real(in), 0);
        extra[i] = fmax(bytes_real(in), 0);
        m->stamp = bytes_u64(in);
        map_put(p->index, pairs_key(cells[i]), i);
    }
    if (!in->bad && n > 0) {
        gp_load(p->core, cells, values, n);
        gp_revise_all(p->core, values, extra);
    }
    free(cells);
    free(values);
    free(extra);
}

static void get_network(struct pairs *p, struct bytes_in *in)
{
    size_t size = bytes_count(in, WEIGHTS_MAX_BYTES, 1);
    struct err err = {0};

    if (in->bad || size == 0)
        return;
    if (weights_decode(p->refined->params, in->at, size, &err) < 0)
        in->bad = true;
    in->at += size;
    in->left -= size;
    statnet_repack(p->refined);
}

void pairs_read(struct pairs *p, struct bytes_in *in)
{
    struct kernel_params params;

    get_jobs(p, in);
    for (int i = 0; i < KERNEL_PARAM_COUNT; i++)
        params.v[i] = bytes_log(in);
    if (!in->bad)
        gp_set_params(p->core, &params);
    get_observations(p, in);
    p->weights.net = fmin(fmax(bytes_real(in), 0), 1);
    p->weights.trees = fmin(fmax(bytes_real(in), 0), 1 - p->weights.net);
    p->width = fmax(bytes_real(in), 0.1);
    p->stamp = bytes_u64(in);
    get_network(p, in);
    if (bytes_int(in, 0, 1)) {
        gbt_destroy(p->trees);
        p->trees = gbt_read(in, STATS_FEATURES);
    }
    p->stats_stale = true;
    if (!in->bad)
        pairs_settle(p);
}

struct pairs *pairs_dup(const struct pairs *p)
{
    struct pairs *copy = mem_dup(p, 1, sizeof(*p));

    copy->core = gp_dup(p->core);
    copy->stats = stats_dup(p->stats);
    copy->initial = statnet_dup(p->initial);
    copy->refined = statnet_dup(p->refined);
    copy->trees = p->trees ? gbt_dup(p->trees) : NULL;
    copy->index = map_create();
    for (size_t i = 0; i < gp_count(p->core); i++)
        map_put(copy->index, pairs_key(gp_cell(p->core, i)), i);
    copy->memory = mem_dup(p->memory, PAIRS_MAX, sizeof(*p->memory));
    copy->idle.items = mem_dup(p->idle.items, p->idle.capacity, sizeof(*p->idle.items));
    return copy;
}

void pairs_take(struct pairs *p, struct pairs *learned)
{
    struct statnet *net = p->refined;
    struct gbt *trees = p->trees;

    gp_set_params(p->core, gp_params(learned->core));
    p->refined = learned->refined;
    learned->refined = net;
    p->trees = learned->trees;
    learned->trees = trees;
    p->weights = learned->weights;
    p->width = learned->width;
    pairs_revise_noise(p);
    pairs_destroy(learned);
}
