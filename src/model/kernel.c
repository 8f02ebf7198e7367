/* kernel.c - the covariance of two cells, which gp.c asks for each pair of observations,
 * and what of a job and of a GPU it depends on */
#include "model/kernel.h"

#include <math.h>
#include <string.h>

/* Multiply-adds forward to operations of a training step: forward and twice backward,
 * two operations each. */
#define OPS_PER_MAC 6.0

/* Rates that weigh less than this in likeness are not looked at. */
#define RATES_WEIGHT_MIN 1e-9

/* Work a sample of a job nobody described: the middle of what jobs of today need. */
#define GMAC_UNTOLD 1.0

/* Relative speeds on a type before anything is known: somewhat better than half. */
#define UNSEEN_LEVEL  (-0.598)
#define UNSEEN_SPREAD 0.30

struct job_trait job_trait_of(const struct job_descriptor *descriptor, int family)
{
    double batch = descriptor->batch > 0 ? descriptor->batch : 1;
    double gmac =
        descriptor->gmac_per_sample > 0 ? descriptor->gmac_per_sample : GMAC_UNTOLD;

    return (struct job_trait){
        .family = family,
        .beta = log2(batch) / 2,
        .omega = log(gmac * 1e9 * OPS_PER_MAC * batch) / 3,
        .untold = !(descriptor->gmac_per_sample > 0),
    };
}

struct gpu_trait gpu_trait_of(const struct gpu_sheet *sheet)
{
    return (struct gpu_trait){
        .speed = log(sheet->fp32_tflops / 10),
        .bandwidth = log(sheet->bandwidth_gbs / 600),
    };
}

void job_trait_code(struct codec *c, struct job_trait *trait)
{
    codec_int(c, &trait->family, -1, KERNEL_FAMILIES);
    codec_log(c, &trait->beta);
    codec_log(c, &trait->omega);
    codec_bool(c, &trait->untold);
}

void kernel_params_code(struct codec *c, struct kernel_params *params)
{
    for (int i = 0; i < KERNEL_PARAM_COUNT; i++)
        codec_log(c, &params->v[i]);
}

void kernel_default(struct kernel_params *params)
{
    static const double start[KERNEL_FIXED_COUNT] = {
#define KERNEL_START(name, alone, pairs) alone,
        KERNEL_PARAMS(KERNEL_START)
#undef KERNEL_START
    };

    memset(params, 0, sizeof(*params));
    memcpy(params->v, start, sizeof(start));
}

void kernel_pairs_default(struct kernel_params *params)
{
    static const double start[KERNEL_FIXED_COUNT] = {
#define KERNEL_START(name, alone, pairs) pairs,
        KERNEL_PARAMS(KERNEL_START)
#undef KERNEL_START
    };

    memcpy(params->v, start, sizeof(start));
    for (int g = 0; g < WORLD_MAX_GPUS; g++) {
        params->v[KERNEL_SPREAD + g] = log(UNSEEN_SPREAD);
        params->v[KERNEL_LEVEL + g] = UNSEEN_LEVEL;
    }
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

void kernel_prepare(struct kernel *kernel, const struct kernel_params *params)
{
    const double *v = params->v;
    double ef = exp(v[KERNEL_WF]), er = exp(v[KERNEL_WR]), ei = exp(v[KERNEL_WI]);
    double es = exp(v[KERNEL_WS]), ec = exp(v[KERNEL_WC]);
    double all = ef + er + ei + es + ec;

    *kernel = (struct kernel){
        .m0 = v[KERNEL_M0],
        .vm = exp(2 * v[KERNEL_VM]),
        .va = exp(2 * v[KERNEL_VA]),
        .vb = exp(2 * v[KERNEL_VB]),
        .vab = tanh(v[KERNEL_RAB]) * exp(v[KERNEL_VA] + v[KERNEL_VB]),
        .vc = exp(2 * v[KERNEL_VC]),
        .noise = exp(2 * v[KERNEL_LN]),
        .share_m = sigmoid(v[KERNEL_RM]),
        .share_g = sigmoid(v[KERNEL_RG]),
        .share_c = sigmoid(v[KERNEL_RC]),
        .wf = ef / all,
        .wr = er / all,
        .wi = ei / all,
        .ws = es / all,
        .wc = ec / all,
        .inv_b = exp(v[KERNEL_LB]),
        .inv_w = exp(v[KERNEL_LW]),
        .inv_p = exp(v[KERNEL_LP]),
        .inv_s = exp(v[KERNEL_LS]),
        .inv_c = exp(v[KERNEL_LC]),
        .b0 = v[KERNEL_B0],
        .bw = v[KERNEL_BW],
        .bs = v[KERNEL_BS],
        .s0 = exp(2 * v[KERNEL_S0]),
        .sw = exp(2 * v[KERNEL_SW]),
        .vl = exp(2 * v[KERNEL_VL]),
        .vi = exp(2 * v[KERNEL_VI]),
        .vg = exp(2 * v[KERNEL_VG]),
        .vs = exp(2 * v[KERNEL_VS]),
        .vj = exp(2 * v[KERNEL_VJ]),
        .vjs = exp(2 * v[KERNEL_VJS]),
    };
    for (int g = 0; g < WORLD_MAX_GPUS; g++) {
        kernel->spread[g] = exp(v[KERNEL_SPREAD + g]);
        kernel->level[g] = v[KERNEL_LEVEL + g];
    }
}

/* Of ratios between many types each says less. */
#define RATIO_TYPES 3.0

struct job_counters job_counters_none(void)
{
    struct job_counters none;

    for (int c = 0; c < JOB_COUNTERS; c++)
        none.of[c] = NAN;
    return none;
}

struct rate_profile rate_profile_of(const struct job_trait *job, const double *rates,
                                    const struct gpu_trait *gpus, int gpu_count)
{
    struct rate_profile p = {.share = NAN, .counted = job_counters_none()};
    double level = 0, share = 0, scale = sqrt(RATIO_TYPES / fmax(gpu_count, 1));

    for (int g = 0; g < gpu_count; g++) {
        if (isnan(rates[g]))
            continue;
        level += rates[g] - 0.5 * gpus[g].speed;
        share += rates[g] - gpus[g].speed;
        p.count++;
    }
    if (p.count == 0)
        return p;
    level /= p.count;
    for (int g = 0; g < gpu_count; g++)
        if (!isnan(rates[g]))
            p.ratio[g] = (float)(scale * (rates[g] - 0.5 * gpus[g].speed - level));
    if (!job->untold)
        p.share = (float)((share / p.count + 3 * job->omega - log(1e13)) / 3);
    p.count = gpu_count;
    return p;
}

static double rates_apart(const struct kernel *kernel, const struct rate_profile *a,
                          const struct rate_profile *b, struct kernel_likeness *out)
{
    double ratios = 0, share = (double)(a->share - b->share) * kernel->inv_s;

    for (int g = 0; g < a->count && g < b->count; g++)
        ratios += (double)((a->ratio[g] - b->ratio[g]) * (a->ratio[g] - b->ratio[g]));
    out->ratio2 = ratios * kernel->inv_p * kernel->inv_p;
    out->share2 = isnan(share) ? 0 : share * share;
    return exp(-0.5 * (out->ratio2 + out->share2));
}

double job_counters_apart2(const struct job_counters *a, const struct job_counters *b)
{
    double sum = NAN;

    for (int c = 0; c < JOB_COUNTERS; c++) {
        double d = a->of[c] - b->of[c];

        if (isnan(a->of[c]) != isnan(b->of[c]))
            return NAN;
        if (!isnan(d))
            sum = (isnan(sum) ? 0 : sum) + d * d;
    }
    return sum;
}

static double counters_alike(const struct kernel *kernel, const struct rate_profile *a,
                             const struct rate_profile *b, struct kernel_likeness *out)
{
    double far2 = job_counters_apart2(&a->counted, &b->counted);

    if (isnan(far2))
        return 0;
    out->counter2 = far2 * kernel->inv_c * kernel->inv_c;
    return exp(-0.5 * out->counter2);
}

struct kernel_likeness kernel_likeness_of(const struct kernel *kernel,
                                          struct kernel_job a, struct kernel_job b,
                                          int same)
{
    double batch = (a.trait->beta - b.trait->beta) * kernel->inv_b;
    double work = (a.trait->omega - b.trait->omega) * kernel->inv_w;
    double near_batch = exp(-0.5 * batch * batch);
    int family = same || (a.trait->family >= 0 && a.trait->family == b.trait->family);
    struct kernel_likeness l = {.family = family * near_batch,
                                .work = exp(-0.5 * work * work) * near_batch,
                                .rates = same,
                                .counters = same,
                                .batch2 = batch * batch,
                                .work2 = work * work};

    if (!same && kernel->ws > RATES_WEIGHT_MIN && a.profile && b.profile &&
        a.profile->count > 0 && b.profile->count > 0)
        l.rates = rates_apart(kernel, a.profile, b.profile, &l);
    if (!same && kernel->wc > RATES_WEIGHT_MIN && a.profile && b.profile)
        l.counters = counters_alike(kernel, a.profile, b.profile, &l);
    return l;
}

double kernel_alike(const struct kernel *kernel, struct kernel_job a, struct kernel_job b,
                    int same)
{
    struct kernel_likeness l = kernel_likeness_of(kernel, a, b, same);

    return kernel->wf * l.family + kernel->wr * l.work + kernel->wi * same +
           kernel->ws * l.rates + kernel->wc * l.counters;
}

double kernel_mean(const struct kernel *kernel, const struct kernel_space *space,
                   struct cell cell)
{
    double mean = cell.other >= 0 ? kernel->m0 + kernel->level[cell.gpu] : 0;

    if (space->relative)
        return mean;
    return mean + kernel->b0 +
           kernel->bw * (space->jobs[cell.job].omega - KERNEL_OMEGA_CENTRE) +
           kernel->bs * space->gpus[cell.gpu].speed;
}

static double alone_value(const struct kernel *kernel, const struct kernel_space *space,
                          struct cell a, struct cell b, double jj)
{
    double work = (space->jobs[a.job].omega - KERNEL_OMEGA_CENTRE) *
                  (space->jobs[b.job].omega - KERNEL_OMEGA_CENTRE);
    double speed = space->gpus[a.gpu].speed * space->gpus[b.gpu].speed;
    double value = kernel->s0 + kernel->sw * work + kernel->vs * speed +
                   jj * (kernel->vl + kernel->vjs * speed);

    if (a.job == b.job)
        value += kernel->vi;
    if (a.gpu == b.gpu)
        value += kernel->vg + kernel->vj * jj;
    return value;
}

double kernel_noise(const struct kernel *kernel, struct cell cell)
{
    double spread = cell.other >= 0 ? kernel->spread[cell.gpu] : 1;

    return kernel->noise * spread * spread;
}

double kernel_pair_value(const struct kernel *kernel, struct cell a, struct cell b,
                         const double *row, const double *other)
{
    int same_gpu = a.gpu == b.gpu;
    double jj = row[b.job], kk = other[b.other];
    double cross = row[b.other] + other[b.job];

    return kernel->spread[a.gpu] * kernel->spread[b.gpu] *
           (kernel->vm * (same_gpu ? 1 : kernel->share_m) +
            (same_gpu ? 1 : kernel->share_g) *
                (kernel->va * jj + kernel->vb * kk + kernel->vab * cross) +
            kernel->vc * (same_gpu ? 1 : kernel->share_c) * jj * kk);
}

double kernel_value(const struct kernel *kernel, const struct kernel_space *space,
                    struct cell a, struct cell b)
{
    const double *row = space->alike + (size_t)a.job * space->stride;
    double value = space->relative ? 0 : alone_value(kernel, space, a, b, row[b.job]);

    if (a.other >= 0 && b.other >= 0)
        value += kernel_pair_value(kernel, a, b, row,
                                   space->alike + (size_t)a.other * space->stride);
    return value;
}
