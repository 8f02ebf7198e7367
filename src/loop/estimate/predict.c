/* predict.c - every stage asks the model here, and nowhere else */
#include "loop/estimate/predict.h"

#include "base/normal.h"
#include "loop/requirement.h"

#include <assert.h>
#include <math.h>

/* A model's slip (NaN from a diverged network, a crossed interval) must not reach a plan.
 */
static void make_sane(struct estimate *e)
{
    const double least = PREDICT_LEAST, most = 1e12;

    if (!isfinite(e->value))
        *e = (struct estimate){.value = least, .low = least, .high = most};
    e->value = fmax(least, fmin(e->value, most));
    e->low = isfinite(e->low) ? fmax(least, fmin(e->low, e->value)) : least;
    e->high = isfinite(e->high) ? fmax(e->value, fmin(e->high, most)) : most;
}

void predict(const struct model *model, const struct combination *where,
             struct prediction *out)
{
    assert(where->count >= 1 && where->count <= LOOP_MAX_SHARE);
    model->ops->predict(model->self, model->cache, where, out);
    for (int i = 0; i < where->count; i++)
        make_sane(&out->rate[i]);
    make_sane(&out->watts);
    out->fits = isfinite(out->fits) ? fmax(0, fmin(out->fits, 1)) : 0;
}

static struct prediction ask_alone(const struct model *model, const struct job *job,
                                   double demand, int type)
{
    struct combination where = {.type = type,
                                .count = 1,
                                .members = {{.job = job, .nodes = 1, .demand = demand}}};
    struct prediction out;

    predict(model, &where, &out);
    return out;
}

struct prediction predict_alone(const struct model *model, const struct job *job,
                                int type)
{
    return ask_alone(model, job, job->kind == JOB_INFERENCE ? job->need.rate : 0, type);
}

struct prediction predict_alone_now(const struct model *model,
                                    const struct job_status *status, int type)
{
    return ask_alone(model, &status->job, requirement_demand(status), type);
}

double estimate_at_confidence(const struct estimate *e, double confidence)
{
    double sd_log;

    assert(confidence > 0 && confidence < 1);
    if (!(e->low > 0) || !(e->high > e->low))
        return e->value;
    /* Intervals may be lopsided; the lower half is what a promise rests on. */
    sd_log = confidence >= 0.5 ? log(e->value / e->low) / NORMAL_90
                               : log(e->high / e->value) / NORMAL_90;
    return e->value * exp(-sd_log * normal_quantile(confidence));
}

double estimate_chance(const struct estimate *e, double least)
{
    double sd_log;

    if (!(least > 0))
        return 1;
    sd_log = log(least < e->value ? e->value / e->low : e->high / e->value) / NORMAL_90;
    if (!(sd_log > 0))
        return e->value >= least;
    return 0.5 * erfc(log(least / e->value) / sd_log / sqrt(2));
}

struct estimate estimate_from_log(double log_value, double sd_log,
                                  enum estimate_source source, int observations)
{
    return (struct estimate){
        .value = exp(log_value),
        .low = exp(log_value - NORMAL_90 * sd_log),
        .high = exp(log_value + NORMAL_90 * sd_log),
        .source = source,
        .observations = observations,
    };
}
