/* pairs.c - relative speeds, what is told and kept: classes.c tells it cells and rates,
 * pairs_answer.c answers */
#include "model/pairs.h"

#include "base/mem.h"
#include "base/str.h"
#include "model/dense.h"
#include "model/p2.h"
#include "nn/weights.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct pairs *pairs_create(void)
{
    struct pairs *p = mem_new(struct pairs);

    kernel_pairs_default(&p->start);
    p->core = gp_create(&p->start, true);
    p->plain = gp_create(&p->start, true);
    pairs_set_networks(p, NETWORKS_AUTO);
    p->index = map_create();
    p->memory = mem_array(struct pairs_memory, PAIRS_MAX);
    p->limit = PAIRS_MAX;
    p->widths = blend_widths_default();
    return p;
}

void pairs_destroy(struct pairs *p)
{
    if (!p)
        return;
    gp_destroy(p->core);
    gp_destroy(p->plain);
    attention_destroy(p->p1);
    attention_destroy(p->p2);
    map_destroy(p->index);
    vec_free(&p->idle);
    vec_free(&p->told);
    vec_free(&p->rates);
    vec_free(&p->rates_now);
    vec_free(&p->counters);
    vec_free(&p->counters_now);
    vec_free(&p->common);
    vec_free(&p->match);
    pair_replay_fini(&p->replay);
    free(p->memory);
    free(p);
}

void pairs_set_networks(struct pairs *p, enum network_choice choice)
{
    enum set_reader_kind kind = network_choice_kind(choice);

    attention_destroy(p->p1);
    attention_destroy(p->p2);
    p->p1 = p1_shipped(kind);
    p->p2 = p2_shipped(kind);
}

struct pairs *pairs_dup(const struct pairs *p)
{
    struct pairs *copy = mem_dup(p, 1, sizeof(*p));

    copy->core = gp_dup(p->core);
    copy->plain = gp_dup(p->plain);
    copy->p1 = attention_dup(p->p1);
    copy->p2 = attention_dup(p->p2);
    pair_replay_copy(&copy->replay, &p->replay);
    copy->index = NULL;
    copy->memory = NULL;
    copy->idle.items = mem_dup(p->idle.items, p->idle.capacity, sizeof(bool));
    copy->told.items = mem_dup(p->told.items, p->told.capacity, sizeof(int));
    copy->rates.items = mem_dup(p->rates.items, p->rates.capacity, sizeof(double));
    copy->common.items = mem_dup(p->common.items, p->common.capacity, sizeof(double));
    copy->match.items = mem_dup(p->match.items, p->match.capacity, sizeof(double));
    copy->rates_now.items =
        mem_dup(p->rates_now.items, p->rates_now.capacity, sizeof(double));
    copy->counters.items =
        mem_dup(p->counters.items, p->counters.capacity, sizeof(struct job_counters));
    copy->counters_now.items = mem_dup(p->counters_now.items, p->counters_now.capacity,
                                       sizeof(struct job_counters));
    return copy;
}

void pairs_add_gpu(struct pairs *p, const struct gpu_trait *gpu)
{
    assert(p->core->job_count == 0);
    gp_add_gpu(p->core, gpu);
    gp_add_gpu(p->plain, gpu);
}

void pairs_add_job(struct pairs *p, const struct job_trait *job)
{
    vec_push(&p->idle, false);
    vec_push(&p->told, 0);
    vec_push(&p->counters, job_counters_none());
    vec_push(&p->counters_now, job_counters_none());
    for (int g = 0; g < p->core->gpu_count; g++) {
        vec_push(&p->rates, NAN);
        vec_push(&p->rates_now, NAN);
    }
    gp_add_job(p->core, job);
    gp_add_job(p->plain, job);
}

void pairs_set_rates(struct pairs *p, int job, const double *rates)
{
    int gpus = p->core->gpu_count;

    memcpy(p->rates_now.items + job * gpus, rates, (size_t)gpus * sizeof(*rates));
    if (p->told.items[job] > 0) /* the factors know the job as it was */
        return;
    memcpy(p->rates.items + job * gpus, rates, (size_t)gpus * sizeof(*rates));
    gp_set_rates(p->core, job, rates);
    gp_set_rates(p->plain, job, rates);
}

void pairs_set_counters(struct pairs *p, int job, const struct job_counters *counters)
{
    p->counters_now.items[job] = *counters;
    if (p->told.items[job] > 0)
        return;
    p->counters.items[job] = *counters;
    gp_set_counters(p->core, job, counters);
    gp_set_counters(p->plain, job, counters);
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

static void count_told(struct pairs *p, struct cell cell, int more)
{
    p->told.items[cell.job] += more;
    p->told.items[cell.other] += more;
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
        if (!keep[i]) {
            count_told(p, p->core->cells[i], -1);
            pair_replay_put(&p->replay, p->core->cells[i], p->core->values[i]);
            continue;
        }
        map_put(p->index, cell_key(p->core->cells[i]), kept);
        p->memory[kept++] = p->memory[i];
    }
    gp_retain(p->core, keep);
    gp_retain(p->plain, keep);
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
        p->core->values[at] = p->plain->values[at] = value;
        p->stale = true;
    } else {
        if (p->core->count >= p->limit)
            make_room(p);
        at = gp_observe(p->core, cell, value, extra_var);
        gp_observe(p->plain, cell, value, extra_var);
        count_told(p, cell, 1);
        p->memory[at].times = 0;
        map_put(p->index, cell_key(cell), at);
    }
    m = &p->memory[at];
    *m = (struct pairs_memory){extra_var, m->times + 1, ++p->stamp};
}

/* The spread before anything is known, and how many observations of all types and of one
 * a prior counts as. */
#define SPREAD_PRIOR 0.30
#define SPREAD_COUNT 20.0
#define LEVEL_COUNT  8.0

/* From so many jobs on of which something was counted, likeness by counters weighs this
 * much beside the others, before a fit. */
#define COUNTED_LEAST  4
#define COUNTED_WEIGHT 1.5

static int counted_jobs(const struct pairs *p)
{
    int count = 0;

    for (int j = 0; j < p->core->job_count; j++) {
        bool counted = false;

        for (int c = 0; c < JOB_COUNTERS; c++)
            counted = counted || !isnan(p->counters.items[j].of[c]);
        count += counted && p->told.items[j] > 0;
    }
    return count;
}

void pairs_standard_units(const struct pairs *p, struct kernel_params *params)
{
    double sum[WORLD_MAX_GPUS] = {0}, n[WORLD_MAX_GPUS] = {0};
    double square[WORLD_MAX_GPUS] = {0}, mean = 0, all = 0, level[WORLD_MAX_GPUS];
    size_t count = p->core->count;

    if (count == 0)
        return;
    for (size_t i = 0; i < count; i++) {
        sum[p->core->cells[i].gpu] += p->core->values[i];
        n[p->core->cells[i].gpu]++;
        mean += p->core->values[i] / (double)count;
    }
    for (int g = 0; g < p->core->gpu_count; g++)
        level[g] = (sum[g] + LEVEL_COUNT * mean) / (n[g] + LEVEL_COUNT);
    for (size_t i = 0; i < count; i++) {
        double value = p->core->values[i], away = value - level[p->core->cells[i].gpu];

        square[p->core->cells[i].gpu] += away * away;
        all += (value - mean) * (value - mean);
    }
    all = (all + SPREAD_COUNT * SPREAD_PRIOR * SPREAD_PRIOR) /
          ((double)count + SPREAD_COUNT);
    for (int g = 0; g < p->core->gpu_count; g++) {
        params->v[KERNEL_LEVEL + g] = level[g];
        params->v[KERNEL_SPREAD + g] =
            0.5 * log((square[g] + SPREAD_COUNT * all) / (n[g] + SPREAD_COUNT));
    }
    if (counted_jobs(p) >= COUNTED_LEAST)
        params->v[KERNEL_WC] = COUNTED_WEIGHT;
}

/* Before the first lesson, while that costs nothing, units follow every observation. */
#define UNITS_FOLLOW 40

static void follow_units(struct pairs *p)
{
    struct kernel_params params = p->start;

    pairs_standard_units(p, &params);
    gp_set_units(p->core, &params);
    gp_set_units(p->plain, &params);
    p->stale = false;
}

void pairs_settle(struct pairs *p)
{
    if (p->core->count > 0 && p->core->count <= UNITS_FOLLOW)
        follow_units(p);
    if (p->stale) {
        gp_revise(p->core);
        gp_revise(p->plain);
    }
    p->stale = false;
}

/* ---- for checkpoints -------------------------------------------------------------- */

static void code_jobs(struct pairs *p, struct codec *c)
{
    size_t known = (size_t)p->core->job_count;
    size_t count = codec_kind_count(c, known, PAIRS_MAX_JOBS, 32);
    size_t gpus = (size_t)p->core->gpu_count;
    struct job_trait trait;
    struct job_counters counters;
    double rates[WORLD_MAX_GPUS];

    for (size_t j = 0; c->in && j < count; j++) {
        job_trait_code(c, &trait);
        codec_or_nan(c, rates, gpus);
        codec_or_nan(c, counters.of, JOB_COUNTERS);
        pairs_add_job(p, &trait);
        pairs_set_rates(p, (int)j, rates);
        pairs_set_counters(p, (int)j, &counters);
    }
    for (size_t j = 0; c->out && j < known; j++)
        if (codec_kind_kept(c, (int)j)) {
            job_trait_code(c, &p->core->space.jobs[j]);
            codec_or_nan(c, p->rates.items + j * gpus, gpus);
            codec_or_nan(c, p->counters.items[j].of, JOB_COUNTERS);
        }
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
            count_told(p, cells[i], 1);
        }
        gp_load(core, cells, values, extra, n);
        gp_load(p->plain, cells, values, extra, n);
        free(cells);
        free(values);
        free(extra);
    }
    vec_free(&all);
}

/* The network of another architecture is passed over: the shipped one stays. */
static void code_network(struct attention *net, struct codec *c)
{
    int kind = (int)net->alike.kind;
    struct str blob = {0};
    struct err err = {0};
    size_t size;

    /* A network that is not finite is not worth keeping: the shipped one then stays. */
    if (c->out && weights_encode(net->params, "", &blob, &err) < 0)
        str_clear(&blob);
    codec_int(c, &kind, 0, SET_READER_KINDS - 1);
    size = codec_count(c, blob.length, WEIGHTS_MAX_BYTES, 1);
    if (c->out) {
        bytes_put(c->out, str_text(&blob), size);
    } else if (!c->in->bad && size > 0) {
        if (kind == (int)net->alike.kind &&
            weights_decode(net->params, c->in->at, size, &err) < 0)
            c->in->bad = true;
        c->in->at += size;
        c->in->left -= size;
        attention_repack(net);
    }
    str_fini(&blob);
}

/* All of it or nothing. */
static void code_moments(struct pairs *p, struct codec *c)
{
    size_t types = PAIR_KINDS * (size_t)p->core->gpu_count, all = types * types;

    if (!codec_more(c, p->common.count > 0))
        return;
    for (size_t i = 0; c->in && i < all; i++) {
        vec_push(&p->common, 0);
        vec_push(&p->match, 0);
    }
    for (size_t i = 0; i < all; i++) {
        codec_log(c, &p->common.items[i]);
        codec_log(c, &p->match.items[i]);
    }
}

void pairs_code(struct pairs *p, struct codec *c)
{
    struct kernel_params params = p->core->params, plain = p->plain->params;

    code_jobs(p, c);
    kernel_params_code(c, &params);
    kernel_params_code(c, &plain);
    if (c->in && !c->in->bad) {
        gp_set_params(p->core, &params);
        gp_set_params(p->plain, &plain);
    }
    code_observations(p, c);
    blend_widths_code(&p->widths, c);
    codec_u64(c, &p->stamp);
    code_moments(p, c);
    code_network(p->p1, c);
    code_network(p->p2, c);
    for (int n = 0; n < PAIR_NETWORKS; n++)
        network_progress_code(&p->progress[n], c);
    pair_replay_code(&p->replay, c, (size_t)p->core->job_count, p->core->gpu_count);
}
