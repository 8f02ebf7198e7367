/* kernel_fit.c - gradient of the marginal likelihood: a lesson (learned_lesson.c) fits
 * the parameters of pairs by it
 *
 * With E = K^-1 (y - m), the loss changes with the covariance as W = (K^-1 - E E^T) / 2.
 * One pass over the entries of W collects the derivatives for each variance and for each
 * entry of the job table; the chain to the parameters follows on the small table. */
#include "model/kernel_fit.h"

#include "base/mem.h"
#include "model/dense.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Derivatives by the fields of struct kernel, and by the job table. */
struct slopes {
    struct kernel k;
    double *alike; /* (jobs, jobs) */
    int jobs;
};

static double *alike_slope(struct slopes *s, int a, int b)
{
    return &s->alike[(size_t)a * (size_t)s->jobs + (size_t)b];
}

static void alone_slopes(const struct kernel *k, const struct kernel_space *space,
                         struct cell a, struct cell b, double jj, double w,
                         struct slopes *s)
{
    double speed = space->gpus[a.gpu].speed * space->gpus[b.gpu].speed;
    double slope_jj = k->vl + k->vjs * speed;

    s->k.s0 += w;
    s->k.sw += w * (space->jobs[a.job].omega - KERNEL_OMEGA_CENTRE) *
               (space->jobs[b.job].omega - KERNEL_OMEGA_CENTRE);
    s->k.vs += w * speed;
    s->k.vl += w * jj;
    if (a.job == b.job)
        s->k.vi += w;
    s->k.vjs += w * jj * speed;
    if (a.gpu == b.gpu) {
        s->k.vg += w;
        s->k.vj += w * jj;
        slope_jj += k->vj;
    }
    *alike_slope(s, a.job, b.job) += w * slope_jj;
}

static void pair_slopes(const struct kernel *k, const struct kernel_space *space,
                        struct cell a, struct cell b, double jj, double w,
                        struct slopes *s)
{
    const double *row = space->alike + (size_t)a.job * space->stride;
    const double *other = space->alike + (size_t)a.other * space->stride;
    double kk = other[b.other];
    double cross = row[b.other] + other[b.job];
    bool same = a.gpu == b.gpu;
    double rg = same ? 1 : k->share_g, rc = same ? 1 : k->share_c;
    double linear = k->va * jj + k->vb * kk + k->vab * cross, match = k->vc * jj * kk;
    double by_spread;

    w *= k->spread[a.gpu] * k->spread[b.gpu];
    s->k.vm += w * (same ? 1 : k->share_m);
    if (!same)
        s->k.share_m += w * k->vm;
    by_spread = w * ((same ? 1 : k->share_m) * k->vm + rg * linear + rc * match);
    s->k.spread[a.gpu] += by_spread;
    s->k.spread[b.gpu] += by_spread;
    s->k.va += w * rg * jj;
    s->k.vb += w * rg * kk;
    s->k.vab += w * rg * cross;
    s->k.vc += w * rc * jj * kk;
    if (!same) {
        s->k.share_g += w * linear;
        s->k.share_c += w * match;
    }
    *alike_slope(s, a.job, b.job) += w * (rg * k->va + k->vc * rc * kk);
    *alike_slope(s, a.other, b.other) += w * (rg * k->vb + k->vc * rc * jj);
    *alike_slope(s, a.job, b.other) += w * rg * k->vab;
    *alike_slope(s, a.other, b.job) += w * rg * k->vab;
}

/* From the derivatives by the job table to those by its parameters. */
static void table_slopes(const struct kernel *k, const struct kernel_space *space,
                         const struct slopes *s, double *gradient)
{
    double f = 0, r = 0, id = 0, rates = 0, counters = 0, mean;

    for (int a = 0; a < s->jobs; a++)
        for (int b = 0; b < s->jobs; b++) {
            double w = s->alike[(size_t)a * (size_t)s->jobs + (size_t)b];
            struct kernel_job x = {&space->jobs[a], &space->profiles[a]};
            struct kernel_job y = {&space->jobs[b], &space->profiles[b]};
            struct kernel_likeness l;

            if (w == 0)
                continue;
            l = kernel_likeness_of(k, x, y, a == b);
            f += w * l.family;
            r += w * l.work;
            id += w * (a == b);
            rates += w * l.rates;
            counters += w * l.counters;
            gradient[KERNEL_LB] -= w * l.batch2 * (k->wf * l.family + k->wr * l.work);
            gradient[KERNEL_LW] -= w * l.work2 * k->wr * l.work;
            gradient[KERNEL_LP] -= w * l.ratio2 * k->ws * l.rates;
            gradient[KERNEL_LS] -= w * l.share2 * k->ws * l.rates;
            gradient[KERNEL_LC] -= w * l.counter2 * k->wc * l.counters;
        }
    mean = k->wf * f + k->wr * r + k->wi * id + k->ws * rates + k->wc * counters;
    gradient[KERNEL_WF] = k->wf * (f - mean);
    gradient[KERNEL_WR] = k->wr * (r - mean);
    gradient[KERNEL_WI] = k->wi * (id - mean);
    gradient[KERNEL_WS] = k->ws * (rates - mean);
    gradient[KERNEL_WC] = k->wc * (counters - mean);
}

static void chain(const struct kernel *k, const struct kernel_params *params,
                  const struct slopes *s, double *gradient)
{
    double tanh_ab = tanh(params->v[KERNEL_RAB]);
    double root = exp(params->v[KERNEL_VA] + params->v[KERNEL_VB]);

    gradient[KERNEL_M0] = s->k.m0;
    gradient[KERNEL_B0] = s->k.b0;
    gradient[KERNEL_BW] = s->k.bw;
    gradient[KERNEL_BS] = s->k.bs;
    gradient[KERNEL_VM] = 2 * k->vm * s->k.vm;
    gradient[KERNEL_VA] = 2 * k->va * s->k.va + k->vab * s->k.vab;
    gradient[KERNEL_VB] = 2 * k->vb * s->k.vb + k->vab * s->k.vab;
    gradient[KERNEL_RAB] = (1 - tanh_ab * tanh_ab) * root * s->k.vab;
    gradient[KERNEL_VC] = 2 * k->vc * s->k.vc;
    gradient[KERNEL_LN] = 2 * k->noise * s->k.noise;
    gradient[KERNEL_RM] = k->share_m * (1 - k->share_m) * s->k.share_m;
    gradient[KERNEL_RG] = k->share_g * (1 - k->share_g) * s->k.share_g;
    gradient[KERNEL_RC] = k->share_c * (1 - k->share_c) * s->k.share_c;
    gradient[KERNEL_S0] = 2 * k->s0 * s->k.s0;
    gradient[KERNEL_SW] = 2 * k->sw * s->k.sw;
    gradient[KERNEL_VL] = 2 * k->vl * s->k.vl;
    gradient[KERNEL_VI] = 2 * k->vi * s->k.vi;
    gradient[KERNEL_VG] = 2 * k->vg * s->k.vg;
    gradient[KERNEL_VS] = 2 * k->vs * s->k.vs;
    gradient[KERNEL_VJ] = 2 * k->vj * s->k.vj;
    gradient[KERNEL_VJS] = 2 * k->vjs * s->k.vjs;
    for (int g = 0; g < WORLD_MAX_GPUS; g++) {
        gradient[KERNEL_SPREAD + g] = s->k.spread[g];
        gradient[KERNEL_LEVEL + g] = s->k.level[g];
    }
}

static void noise_slopes(const struct kernel *k, struct cell a, double w,
                         struct slopes *s)
{
    double noise = kernel_noise(k, a);

    s->k.noise += w * noise / k->noise;
    if (a.other >= 0)
        s->k.spread[a.gpu] += 2 * w * noise;
}

/* precision and weight are those of `core` at its own parameters. */
static void likelihood_gradient(const struct gp *core, const double *precision,
                                const double *weight, double *gradient)
{
    const struct kernel *k = &core->kernel;
    const struct kernel_space *space = &core->space;
    size_t n = core->count, jobs = (size_t)core->job_count;
    struct slopes s = {.alike = mem_array(double, jobs *jobs + 1), .jobs = (int)jobs};

    memset(gradient, 0, KERNEL_PARAM_COUNT * sizeof(double));
    for (size_t i = 0; i < n; i++) {
        struct cell a = core->cells[i];

        if (a.other >= 0) {
            s.k.m0 -= weight[i];
            s.k.level[a.gpu] -= weight[i];
        }
        if (!space->relative) {
            s.k.b0 -= weight[i];
            s.k.bw -= weight[i] * (space->jobs[a.job].omega - KERNEL_OMEGA_CENTRE);
            s.k.bs -= weight[i] * space->gpus[a.gpu].speed;
        }
        for (size_t j = 0; j <= i; j++) {
            struct cell b = core->cells[j];
            double w =
                (precision[i * n + j] - weight[i] * weight[j]) * (i == j ? 0.5 : 1);
            double jj = space->alike[(size_t)a.job * space->stride + (size_t)b.job];

            if (i == j)
                noise_slopes(k, a, w, &s);
            if (!space->relative)
                alone_slopes(k, space, a, b, jj, w, &s);
            if (a.other >= 0 && b.other >= 0)
                pair_slopes(k, space, a, b, jj, w, &s);
        }
    }
    chain(k, &core->params, &s, gradient);
    table_slopes(k, space, &s, gradient);
    free(s.alike);
}

/* A core with the same observations, at most max_rows of them. */
static struct gp *refit_copy(const struct gp *core, size_t max_rows)
{
    struct gp *copy = gp_dup(core);
    size_t n = core->count, rows = max_rows > 0 && max_rows < n ? max_rows : n;
    bool *keep = mem_array(bool, n + 1);

    for (size_t r = 0; r < rows; r++)
        keep[r * n / rows] = true;
    gp_retain(copy, keep);
    free(keep);
    return copy;
}

double kernel_fit_loss(const struct gp *core, double *gradient)
{
    size_t n = core->count;
    double *precision = mem_array(double, n *n + 1);
    double *weight = mem_array(double, n + 1);
    double *residual = mem_array(double, n + 1);
    double loss, log_root = 0; /* half the log determinant of the covariance */

    gp_precision(core, precision);
    for (size_t i = 0; i < n; i++) {
        residual[i] =
            core->values[i] - kernel_mean(&core->kernel, &core->space, core->cells[i]);
        log_root += log(core->factor[i * core->capacity + i]);
    }
    for (size_t i = 0; i < n; i++)
        weight[i] = dense_dot(precision + i * n, residual, n);
    loss = 0.5 * dense_dot(weight, residual, n) + log_root;
    if (gradient) {
        likelihood_gradient(core, precision, weight, gradient);
        for (int p = 0; p < KERNEL_PARAM_COUNT; p++)
            gradient[p] /= (double)n;
    }
    free(precision);
    free(weight);
    free(residual);
    return loss / (double)n;
}

/* Adam over kernel parameters. */
struct fit_adam {
    double m[KERNEL_PARAM_COUNT], v[KERNEL_PARAM_COUNT];
    int steps;
};

static void adam_step(struct fit_adam *adam, struct kernel_params *params,
                      const double *gradient, double rate)
{
    const double keep_m = 0.9, keep_v = 0.999;

    adam->steps++;
    for (int p = 0; p < KERNEL_PARAM_COUNT; p++) {
        double m, v;

        adam->m[p] = keep_m * adam->m[p] + (1 - keep_m) * gradient[p];
        adam->v[p] = keep_v * adam->v[p] + (1 - keep_v) * gradient[p] * gradient[p];
        m = adam->m[p] / (1 - pow(keep_m, adam->steps));
        v = adam->v[p] / (1 - pow(keep_v, adam->steps));
        params->v[p] -= rate * m / (sqrt(v) + 1e-8);
    }
}

/* Slope of what being away from the start costs. */
static double pulled(const struct kernel_fit_options *o, int p, size_t rows, double away)
{
    if (o->prior_sd)
        return away / (o->prior_sd[p] * o->prior_sd[p] * (double)rows);
    return 2 * o->pull * away;
}

static bool stays(const struct kernel_fit_options *o, int p)
{
    return o->prior_sd ? !(o->prior_sd[p] > 0) : o->frozen && o->frozen[p];
}

struct kernel_params kernel_fit_params(const struct gp *core,
                                       const struct kernel_params *from,
                                       const struct kernel_fit_options *options)
{
    struct kernel_params params = *from;
    struct gp *copy = refit_copy(core, options->max_rows);
    struct fit_adam adam = {0};

    gp_set_params(copy, from);

    for (int t = 0; t < options->steps && copy->count > 0; t++) {
        double gradient[KERNEL_PARAM_COUNT];
        double loss = kernel_fit_loss(copy, gradient);

        if (!isfinite(loss))
            break;
        for (int p = 0; p < KERNEL_PARAM_COUNT; p++)
            gradient[p] += pulled(options, p, copy->count, params.v[p] - from->v[p]);
        for (int p = 0; p < KERNEL_PARAM_COUNT; p++)
            if (stays(options, p))
                gradient[p] = 0;
        adam_step(&adam, &params, gradient, options->rate);
        gp_set_params(copy, &params);
    }
    gp_destroy(copy);
    return params;
}
