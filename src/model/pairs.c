/* pairs.c - relative speeds: classes.c tells it cells, prediction_cache.c and
 * learned_predict.c ask it by the row or by the cell */
#include "model/pairs.h"

#include "base/mem.h"
#include "base/normal.h"
#include "base/str.h"
#include "model/dense.h"
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
    statnet_destroy(p->initial);
    statnet_destroy(p->refined);
    gbt_destroy(p->trees);
    map_destroy(p->index);
    vec_free(&p->idle);
    free(p->memory);
    free(p);
}

void pairs_add_job(struct pairs *p, const struct job_trait *job)
{
    vec_push(&p->idle, false);
    gp_add_job(p->core, job);
}

/* ---- which observations are worth keeping ----------------------------------------- */

/* What is known of jobs that left counts for less. */
#define IDLE_WORTH 0.5

/* What an observation tells beyond the others: how much wider its cell would be believed
 * without it than the noise it has. */
static void weigh(const struct pairs *p, double *worth)
{
    size_t n = p->core->count;
    double *precision = mem_array(double, n *n + 1);

    gp_precision(p->core, precision);
    for (size_t i = 0; i < n; i++) {
        struct cell cell = p->core->cells[i];
        double noise = kernel_noise(&p->core->kernel, cell) + p->core->extra[i];
        double gain = -0.5 * log(fmax(precision[i * n + i] * noise, 1e-12));
        bool idle = p->idle.items[cell.job] || p->idle.items[cell.other];

        /* Of two that tell the same the older goes. */
        worth[i] = gain * (idle ? IDLE_WORTH : 1) *
                   (1 + 0.1 * (double)p->memory[i].stamp / (double)(p->stamp + 1));
    }
    free(precision);
}

static void make_room(struct pairs *p)
{
    size_t n = p->core->count, kept = 0;
    double *worth = mem_array(double, n + 1), *sorted = mem_array(double, n + 1), least;
    bool *keep = mem_array(bool, n + 1);

    weigh(p, worth);
    for (size_t i = 0; i < n; i++)
        sorted[i] = worth[i];
    qsort(sorted, n, sizeof(*sorted), dense_by_value);
    least = sorted[n / 4];
    map_destroy(p->index);
    p->index = map_create();
    for (size_t i = 0; i < n; i++) {
        /* Always make room, whatever is alike. */
        keep[i] = worth[i] >= least && kept < n - n / 4;
        if (!keep[i])
            continue;
        map_put(p->index, cell_key(p->core->cells[i]), kept);
        p->memory[kept++] = p->memory[i];
    }
    gp_retain(p->core, keep);
    p->stale = true;
    free(worth);
    free(sorted);
    free(keep);
}

/* ---- what is told ----------------------------------------------------------------- */

/* Standard deviations from what the others say beyond which a cell says no more. */
#define BOUND_SDS 3.0

double pairs_bounded(struct pairs *p, struct cell cell, double value, double extra_var)
{
    double mean, var, far;
    size_t at;

    pairs_settle(p);
    if (map_get(p->index, cell_key(cell), &at)) {
        gp_leave_one_out(p->core, at, &mean, &var);
    } else {
        gp_predict(p->core, &cell, 1, &mean, &var);
        var += extra_var;
    }
    far = BOUND_SDS * sqrt(var);
    return fmax(mean - far, fmin(value, mean + far));
}

void pairs_put(struct pairs *p, struct cell cell, double value, double extra_var)
{
    struct pairs_memory *m;
    size_t at;

    if (map_get(p->index, cell_key(cell), &at)) {
        p->core->values[at] = value;
        p->stale = true;
    } else {
        if (p->core->count >= p->limit)
            make_room(p);
        at = gp_observe(p->core, cell, value, extra_var);
        p->memory[at].times = 0;
        map_put(p->index, cell_key(cell), at);
    }
    m = &p->memory[at];
    *m = (struct pairs_memory){extra_var, m->times + 1, ++p->stamp};
}

void pairs_settle(struct pairs *p)
{
    if (p->stale)
        gp_revise(p->core);
    p->stale = false;
}

/* ---- answers ---------------------------------------------------------------------- */

/* What network and trees say of cells, those of one job beside each other. */
static void ask_network(const struct pairs *p, const struct gp_guests *guests,
                        const struct cell *cells, size_t count, struct blend_said *out)
{
    struct statnet_row *rows = mem_array(struct statnet_row, count + 1);
    struct statnet_guess *net = mem_array(struct statnet_guess, count + 1);
    struct stats_seen seen = {p->core->cells, p->core->values, p->core->count};
    size_t first = 0, next;

    for (; first < count; first = next) {
        struct stats_row *row =
            stats_row_create(p->core, &seen, cells[first].job, guests);

        for (next = first; next < count && cells[next].job == cells[first].job; next++) {
            struct statnet_row *r = &rows[next];

            r->base =
                (float)stats_features(row, cells[next].gpu, cells[next].other, true, r->x)
                    .base;
            if (p->initial_only)
                r->base = stats_blind(r->x, r->base);
        }
        /* P1 answers for a job of which nothing was measured, P2 for the others. */
        statnet_predict(stats_row_measured(row) && !p->initial_only ? p->refined
                                                                    : p->initial,
                        rows + first, next - first, net + first);
        stats_row_destroy(row);
    }
    for (size_t i = 0; i < count; i++) {
        out[i].net = (struct blend_belief){net[i].mean, net[i].sd};
        out[i].trees = p->trees ? (double)rows[i].base + gbt_predict(p->trees, rows[i].x)
                                : net[i].mean;
    }
    free(rows);
    free(net);
}

/* The core knows what was measured; P1 alone keeps to the very measurement. */
static struct blend_belief mix(const struct pairs *p, const struct blend_said *said,
                               bool seen, size_t at)
{
    static const struct blend_weights core_alone = {0, 0};

    if (!p->initial_only)
        return blend_mix(said, seen ? &core_alone : &p->weights);
    if (seen)
        return (struct blend_belief){
            p->core->values[at], sqrt(p->memory[at].extra_var + p->core->kernel.noise)};
    return said->net;
}

static struct pairs_guess guess_of(const struct pairs *p, struct cell cell,
                                   const struct blend_said *said)
{
    size_t at = 0;
    bool seen = map_get(p->index, cell_key(cell), &at);
    struct blend_belief b = mix(p, said, seen, at);
    double half = (seen ? NORMAL_90_SHORT : p->width) * b.sd;

    return (struct pairs_guess){
        .mean = fmin(b.mean, 0),
        .low = b.mean - half,
        .high = fmin(b.mean + half, 0),
        .sd = half / NORMAL_90_SHORT,
        .times = seen ? (int)p->memory[at].times : 0,
    };
}

static void answer(const struct pairs *p, const struct gp_guests *guests,
                   const struct cell *cells, size_t count, const double *core_mean,
                   const double *core_sd, struct pairs_guess *out)
{
    struct blend_said *said = mem_array(struct blend_said, count + 1);

    assert(!p->stale);
    ask_network(p, guests, cells, count, said);
    for (size_t i = 0; i < count; i++) {
        said[i].core = (struct blend_belief){core_mean[i], core_sd[i]};
        out[i] = guess_of(p, cells[i], &said[i]);
    }
    free(said);
}

void pairs_predict(const struct pairs *p, const struct cell *cells, size_t count,
                   double *core_sd, struct pairs_guess *out)
{
    double *mean = mem_array(double, count + 1);
    double *sd = core_sd ? core_sd : mem_array(double, count + 1);

    gp_predict(p->core, cells, count, mean, sd);
    for (size_t i = 0; i < count; i++)
        sd[i] = sqrt(sd[i]);
    answer(p, NULL, cells, count, mean, sd, out);
    free(mean);
    if (!core_sd)
        free(sd);
}

struct pairs_guess pairs_predict_guest(const struct pairs *p,
                                       const struct gp_guests *guests, struct cell cell)
{
    int known = p->core->job_count;
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

void pairs_renew_row(const struct pairs *p, int job, int first, size_t count, bool widths,
                     double *core_sd, struct pairs_guess *out)
{
    size_t gpus = (size_t)p->core->gpu_count, total = gpus * count;
    struct cell *cells = mem_array(struct cell, total + 1);
    double *mean = mem_array(double, total + 1);

    for (size_t k = 0; k < count; k++)
        for (size_t g = 0; g < gpus; g++)
            cells[k * gpus + g] = (struct cell){job, (int)g, first + (int)k};
    if (widths) {
        pairs_predict(p, cells, total, core_sd, out);
    } else {
        gp_predict_row(p->core, job, first, count, mean);
        answer(p, NULL, cells, total, mean, core_sd, out);
    }
    free(cells);
    free(mean);
}

/* ---- for checkpoints -------------------------------------------------------------- */

static void code_jobs(struct pairs *p, struct codec *c)
{
    size_t known = (size_t)p->core->job_count;
    size_t count = codec_kind_count(c, known, PAIRS_MAX_JOBS, 32);
    struct job_trait trait;

    for (size_t j = 0; c->in && j < count; j++) {
        job_trait_code(c, &trait);
        pairs_add_job(p, &trait);
    }
    for (size_t j = 0; c->out && j < known; j++)
        if (codec_kind_kept(c, (int)j))
            job_trait_code(c, &p->core->space.jobs[j]);
}

struct pairs_kept { /* an observation with what is remembered of it */
    struct cell cell;
    double value, extra;
    struct pairs_memory memory;
};

static void code_observation(const struct pairs *p, struct pairs_kept *o, struct codec *c)
{
    size_t jobs = (size_t)p->core->job_count;
    double odd = 0; /* windows out of line were kept here: there are none any more */
    int odd_count = 0;

    codec_kind(c, &o->cell.job, jobs);
    codec_int(c, &o->cell.gpu, 0, p->core->gpu_count - 1);
    codec_kind(c, &o->cell.other, jobs);
    codec_log(c, &o->value);
    codec_real(c, &o->memory.times);
    codec_real(c, &odd);
    codec_int(c, &odd_count, 0, 1000);
    codec_at_least(c, &o->memory.extra_var, 0);
    codec_at_least(c, &o->extra, 0); /* until the next lesson */
    codec_u64(c, &o->memory.stamp);
}

static void code_observations(struct pairs *p, struct codec *c)
{
    vec_of(struct pairs_kept) all = {0};
    struct gp *core = p->core;
    size_t n;

    for (size_t i = 0; c->out && i < core->count; i++)
        if (codec_kind_kept(c, core->cells[i].job) &&
            codec_kind_kept(c, core->cells[i].other))
            vec_push(&all, (struct pairs_kept){core->cells[i], core->values[i],
                                               core->extra[i], p->memory[i]});
    n = codec_count(c, all.count, PAIRS_MAX, 80);
    vec_reserve(&all, n + 1);
    for (size_t i = 0; i < n; i++)
        code_observation(p, &all.items[i], c);
    if (c->in && !c->in->bad) {
        struct cell *cells = mem_array(struct cell, n + 1);
        double *values = mem_array(double, n + 1), *extra = mem_array(double, n + 1);

        for (size_t i = 0; i < n; i++) {
            cells[i] = all.items[i].cell;
            values[i] = all.items[i].value;
            extra[i] = all.items[i].extra;
            p->memory[i] = all.items[i].memory;
            map_put(p->index, cell_key(cells[i]), i);
        }
        gp_load(core, cells, values, extra, n);
        free(cells);
        free(values);
        free(extra);
    }
    vec_free(&all);
}

static void code_network(struct pairs *p, struct codec *c)
{
    struct str blob = {0};
    struct err err = {0};
    size_t size;

    /* A network that is not finite is not worth keeping: the shipped one then stays. */
    if (c->out && weights_encode(p->refined->params, "", &blob, &err) < 0)
        str_clear(&blob);
    size = codec_count(c, blob.length, WEIGHTS_MAX_BYTES, 1);
    if (c->out) {
        bytes_put(c->out, str_text(&blob), size);
    } else if (!c->in->bad && size > 0) {
        if (weights_decode(p->refined->params, c->in->at, size, &err) < 0)
            c->in->bad = true;
        c->in->at += size;
        c->in->left -= size;
        statnet_repack(p->refined);
    }
    str_fini(&blob);
}

void pairs_code(struct pairs *p, struct codec *c)
{
    struct kernel_params params = p->core->params;

    code_jobs(p, c);
    kernel_params_code(c, &params);
    if (c->in && !c->in->bad)
        gp_set_params(p->core, &params);
    code_observations(p, c);
    codec_real(c, &p->weights.net);
    codec_real(c, &p->weights.trees);
    codec_at_least(c, &p->width, 0.1);
    codec_u64(c, &p->stamp);
    code_network(p, c);
    if (codec_more(c, p->trees != NULL))
        gbt_code(&p->trees, STATS_FEATURES, c);
    if (c->in) {
        p->weights.net = fmin(fmax(p->weights.net, 0), 1);
        p->weights.trees = fmin(fmax(p->weights.trees, 0), 1 - p->weights.net);
    }
}
