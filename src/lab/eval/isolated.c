/* isolated.c - the protocol of rates alone: eval.c runs it fold by fold */
#include "lab/eval/protocols.h"

#include "base/mem.h"
#include "base/normal.h"
#include "base/vec.h"
#include "lab/eval/lowrank.h"
#include "model/kernel_fit.h"
#include "model/rates.h"
#include "model/ratios.h"

#include <math.h>
#include <stdlib.h>

/* ---- what an expert would try first ------------------------------------------------ */

enum { ISOLATED_BASELINES = 5 };
static const char *const isolated_baseline_names[ISOLATED_BASELINES] = {
    "baseline:constant", "baseline:gpu-mean", "baseline:nearest-job",
    "baseline:median-ratio", "baseline:low-rank"};

struct isolated_baseline {
    const struct fold *fold;
    double constant;
    double gpu[WORLD_MAX_GPUS];
    double *rows; /* (train_count, gpus) */
    double *seen; /* (jobs, WORLD_MAX_GPUS) the catalogue, for ratios.h */
    struct lowrank *lowrank;
};

static struct isolated_baseline *isolated_baseline_create(const struct fold *fold)
{
    struct isolated_baseline *b = mem_new(struct isolated_baseline);
    const struct measured *t = fold->table;
    size_t n = (size_t)fold->train_count, gpus = (size_t)t->gpus;
    double all = 0, known = 0;

    b->fold = fold;
    b->rows = mem_array(double, n *gpus + 1);
    b->seen = mem_array(double, (size_t)t->jobs *WORLD_MAX_GPUS + 1);
    for (size_t i = 0; i < (size_t)t->jobs * WORLD_MAX_GPUS; i++)
        b->seen[i] = NAN;
    for (int g = 0; g < t->gpus; g++) {
        double sum = 0, count = 0;

        for (size_t i = 0; i < n; i++) {
            double rate = measured_alone(t, fold->train[i], g);

            b->rows[i * gpus + (size_t)g] = rate;
            b->seen[(size_t)fold->train[i] * WORLD_MAX_GPUS + (size_t)g] = rate;
            if (!isnan(rate)) {
                sum += rate;
                count++;
            }
        }
        b->gpu[g] = count > 0 ? sum / count : 0;
        all += sum;
        known += count;
    }
    b->constant = known > 0 ? all / known : 0;
    b->lowrank = lowrank_create(b->rows, n, gpus, 1);
    return b;
}

static void isolated_baseline_destroy(struct isolated_baseline *b)
{
    free(b->rows);
    free(b->seen);
    lowrank_destroy(b->lowrank);
    free(b);
}

static double nearest(const struct isolated_baseline *b, const struct rates *rates,
                      int job, int gpu)
{
    const struct measured *t = b->fold->table;
    double best = INFINITY, guess = b->gpu[gpu];

    for (int i = 0; i < b->fold->train_count; i++) {
        int k = b->fold->train[i];
        const struct job_trait *x = &t->told_trait[job], *y = &t->told_trait[k];
        double d = fabs(x->beta - y->beta) + fabs(x->omega - y->omega), shift = 0;
        int count = 0;

        if (isnan(measured_alone(t, k, gpu)))
            continue;
        if (x->family < 0 || x->family != y->family)
            d += 3;
        for (int g = 0; g < t->gpus; g++) {
            double apart = rates_seen(rates, job, g) - measured_alone(t, k, g);

            if (!isnan(apart)) {
                shift += apart;
                count++;
            }
        }
        if (d < best) {
            best = d;
            guess = measured_alone(t, k, gpu) + (count > 0 ? shift / count : 0);
        }
    }
    return guess;
}

/* Ratio of the family, else the median ratio; without a measurement the GPU's mean. */
static double median_ratio(const struct isolated_baseline *b, const struct rates *rates,
                           int job, int gpu)
{
    const struct measured *t = b->fold->table;
    struct ratios_view view = {.jobs = t->told_trait,
                               .gpus = t->gpu,
                               .job_count = t->jobs,
                               .gpu_count = t->gpus,
                               .seen = b->seen};
    double sum = 0, count = 0;

    for (int g = 0; g < t->gpus; g++)
        if (!isnan(rates_seen(rates, job, g))) {
            sum += rates_seen(rates, job, g) + ratios_between(&view, job, g, gpu);
            count++;
        }
    return count > 0 ? sum / count : b->gpu[gpu];
}

static double by_rank(const struct isolated_baseline *b, const struct rates *rates,
                      int job, int gpu)
{
    double values[WORLD_MAX_GPUS], out[WORLD_MAX_GPUS];
    size_t seen[WORLD_MAX_GPUS], count = 0;

    for (int g = 0; g < b->fold->table->gpus; g++)
        if (!isnan(rates_seen(rates, job, g))) {
            seen[count] = (size_t)g;
            values[count++] = rates_seen(rates, job, g);
        }
    lowrank_complete(b->lowrank, seen, values, count, out);
    return out[gpu];
}

/* ln rate of a held-out job, of which `rates` holds what was shown. */
static double isolated_baseline_guess(const struct isolated_baseline *b, int which,
                                      const struct rates *rates, int job, int gpu)
{
    switch (which) {
    case 0:
        return b->constant;
    case 1:
        return b->gpu[gpu];
    case 2:
        return nearest(b, rates, job, gpu);
    case 3:
        return median_ratio(b, rates, job, gpu);
    default:
        return by_rank(b, rates, job, gpu);
    }
}

/* ---- the comparison ---------------------------------------------------------------- */

#define FIT_STEPS       12
#define SHOWN_MAX       2
#define CALIBRATE_SHARE 0.92
#define CALIBRATE_MIN   10 /* fewer errors say nothing */

/* See point_shift in blend.c; smaller, since half the guess is not the model's. */
#define POINT_SHIFT 0.3
#define SHIFT_MAX   0.08

struct noted { /* what was said inside the catalogue, and the truth */
    struct rates_guess guess;
    double truth;
    int group; /* what is held out together */
};

struct width_fit {
    vec_of(struct noted) noted;
    double weight; /* of the network */
    double width[RATES_BASIS_COUNT];
};

struct visit { /* one job, one target, one choice of shown types */
    struct rates *rates;
    const struct fold *fold;
    int job, gpu;
    const int *shown;
    int shown_count;
};

typedef void visit_fn(const struct visit *visit, void *arg);

static struct rates *load(const struct fold *fold, const struct kernel_params *params)
{
    const struct measured *t = fold->table;
    struct rates *rates = rates_create(params);

    for (int g = 0; g < t->gpus; g++)
        rates_add_gpu(rates, &t->gpu[g]);
    for (int j = 0; j < t->jobs; j++)
        rates_add_job(rates, &t->told_trait[j]); /* no rate may leak into a trait */
    for (int j = 0; j < t->jobs; j++) /* looked at only where the rate is shown */
        for (int g = 0; g < t->gpus; g++)
            rates_observe_busy(rates, j, g, measured_busy(t, j, g));
    for (int i = 0; i < fold->train_count; i++)
        for (int g = 0; g < t->gpus; g++)
            if (!isnan(measured_alone(t, fold->train[i], g)))
                rates_observe(rates, fold->train[i], g,
                              measured_alone(t, fold->train[i], g));
    return rates;
}

/* Adapt the ratios between GPUs to what was measured; levels stay. */
static struct kernel_params fit(const struct rates *r)
{
    static const enum kernel_param levels[] = {KERNEL_B0, KERNEL_BW, KERNEL_BS,
                                               KERNEL_S0, KERNEL_SW, KERNEL_VI,
                                               KERNEL_VL, KERNEL_VS};
    bool frozen[KERNEL_PARAM_COUNT] = {false};
    struct kernel_fit_options how = {.steps = FIT_STEPS, .rate = 0.04, .pull = 0.01};

    for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++)
        frozen[levels[i]] = true;
    how.frozen = frozen;
    how.max_rows = 300;
    return kernel_fit_params(r->core, &r->core->params, &how);
}

/* Show the types of a choice, call, and take them back. */
static void visit_choice(struct visit *v, visit_fn *fn, void *arg)
{
    const struct measured *t = v->fold->table;

    for (int i = 0; i < v->shown_count; i++)
        if (isnan(measured_alone(t, v->job, v->shown[i])))
            return;
    for (int i = 0; i < v->shown_count; i++)
        rates_observe(v->rates, v->job, v->shown[i],
                      measured_alone(t, v->job, v->shown[i]));
    fn(v, arg);
    for (int i = v->shown_count - 1; i >= 0; i--)
        fold_take_back(v->rates, v->job, v->shown[i]);
}

static void visit_all(const struct fold *fold, struct rates *rates, visit_fn *fn,
                      void *arg)
{
    const struct measured *t = fold->table;
    int shown[SHOWN_MAX];
    struct visit v = {.rates = rates, .fold = fold, .shown = shown};

    for (int i = 0; i < fold->test_count; i++)
        for (v.gpu = 0; v.gpu < t->gpus; v.gpu++) {
            v.job = fold->test[i];
            if (isnan(measured_alone(t, v.job, v.gpu)))
                continue;
            v.shown_count = 0;
            visit_choice(&v, fn, arg);
            for (shown[0] = 0; shown[0] < t->gpus; shown[0]++) {
                if (shown[0] == v.gpu)
                    continue;
                v.shown_count = 1;
                visit_choice(&v, fn, arg);
                v.shown_count = 2;
                for (shown[1] = shown[0] + 1; shown[1] < t->gpus; shown[1]++)
                    if (shown[1] != v.gpu)
                        visit_choice(&v, fn, arg);
            }
        }
}

static void note(const struct visit *v, void *arg)
{
    struct width_fit *c = arg;
    struct noted n = {
        .guess = rates_predict(v->rates, v->job, v->gpu),
        .truth = measured_alone(v->fold->table, v->job, v->gpu),
        .group = fold_group(v->fold, v->job),
    };

    vec_push(&c->noted, n);
}

/* The weight that suits this table, by the rule the loop follows. */
static void choose_weight(struct width_fit *c)
{
    struct rates_evidence evidence = {0};
    int group = -1; /* those of one follow one another */

    vec_each (const struct noted, n, &c->noted)
        if (n->guess.corrected) {
            rates_evidence_add(&evidence, &n->guess, n->truth, n->group != group);
            group = n->group;
        }
    c->weight = rates_evidence_weight(&evidence);
}

static double width_of(const struct width_fit *c, enum rates_basis basis, int groups)
{
    double *errors = mem_array(double, c->noted.count + 1), width = NORMAL_90_SHORT;
    int *group = mem_array(int, c->noted.count + 1);
    size_t count = 0;

    vec_each (const struct noted, n, &c->noted) {
        struct rates_guess g = n->guess;

        if (g.basis != basis)
            continue;
        rates_mix(&g, c->weight);
        group[count] = n->group;
        errors[count++] = fabs(n->truth - g.mean) / g.sd;
    }
    if (count >= CALIBRATE_MIN)
        width = score_fair_width(errors, group, count, groups, CALIBRATE_SHARE);
    free(errors);
    free(group);
    return width;
}

/* Play the same game inside the catalogue. */
static void calibrate(const struct fold *fold, const struct kernel_params *params,
                      struct width_fit *c)
{
    int groups = fold->table->families + fold->table->jobs;

    *c = (struct width_fit){0};
    for (int at = 0; at < fold->train_count; at++) {
        struct fold inner;
        struct rates *rates;

        fold_inner(fold, at, &inner);
        if (inner.test[0] == fold->train[at] && inner.train_count > 0) {
            rates = load(&inner, params);
            visit_all(&inner, rates, note, c);
            rates_destroy(rates);
        }
        fold_fini(&inner);
    }
    choose_weight(c);
    for (int b = 0; b < RATES_BASIS_COUNT; b++)
        c->width[b] = width_of(c, (enum rates_basis)b, groups);
    vec_free(&c->noted);
}

struct scoring {
    struct results *results;
    const struct width_fit *calibration; /* NULL: score the baselines */
    const struct isolated_baseline *baseline;
};

static void score_product(const struct visit *v, void *arg)
{
    struct scoring *s = arg;
    double truth = measured_alone(v->fold->table, v->job, v->gpu);
    struct rates_guess g = rates_predict(v->rates, v->job, v->gpu);
    double half = s->calibration->width[g.basis] * g.sd;
    double shift = POINT_SHIFT * fmin(half * half / 2.7, SHIFT_MAX / POINT_SHIFT);
    struct guess guess = {g.mean - shift, g.mean - half, g.mean + half};
    bool nothing = g.basis == RATES_NOTHING;

    score_add(results_score(s->results, nothing ? "isolated-new" : "isolated", NULL,
                            "blend", v->shown_count),
              0, guess, truth);
}

static void score_baselines(const struct visit *v, void *arg)
{
    struct scoring *s = arg;
    double truth = measured_alone(v->fold->table, v->job, v->gpu);
    bool nothing = rates_predict(v->rates, v->job, v->gpu).basis == RATES_NOTHING;

    for (int m = 0; m < ISOLATED_BASELINES; m++) {
        struct guess guess = {
            isolated_baseline_guess(s->baseline, m, v->rates, v->job, v->gpu), NAN, NAN};

        score_add(results_score(s->results, nothing ? "isolated-new" : "isolated", NULL,
                                isolated_baseline_names[m], v->shown_count),
                  0, guess, truth);
    }
}

static void run_fold(const struct fold *fold, bool product, struct results *results)
{
    struct kernel_params params;
    struct rates *rates;
    struct width_fit calibration;
    struct isolated_baseline *baseline;
    struct scoring s = {.results = results, .calibration = &calibration};

    kernel_default(&params);
    rates = load(fold, &params);
    if (product) {
        params = fit(rates);
        rates_set_params(rates, &params);
        calibrate(fold, &params, &calibration);
        rates->weight = calibration.weight;
        visit_all(fold, rates, score_product, &s);
    }
    baseline = isolated_baseline_create(fold);
    s.baseline = baseline;
    visit_all(fold, rates, score_baselines, &s);
    isolated_baseline_destroy(baseline);
    rates_destroy(rates);
}

void isolated_run(const struct measured *table, enum fold_split split, bool product,
                  uint64_t seed, struct results *results)
{
    size_t count;
    struct fold *folds = fold_all(table, split, seed, &count);

    for (size_t f = 0; f < count; f++) {
        results_progress(results, (double)f / (double)count);
        if (folds[f].train_count > 0)
            run_fold(&folds[f], product, results);
    }
    fold_free(folds, count);
}
