/* method_core.c - the correlation core as a method, with intervals that hold
 *
 * A normal interval trusts the model's own variance.  Instead the width is the 90 %
 * quantile of the errors, in units of that sd, of the same game played inside the
 * catalogue: hold out each job (or family), show as many observations, look at the rest.
 */
#include "eval/method.h"

#include "base/mem.h"
#include "eval/fold_core.h"
#include "eval/score.h"

#include <math.h>
#include <stdlib.h>

#define CALIBRATED_MAX  16 /* observation counts with a width of their own */
#define CALIBRATE_DRAWS 2
#define WIDTH_NORMAL    1.645

/* Slightly more than 90 %: the parameters were fitted to the whole catalogue, so the game
 * inside it is a little easier than the real one. */
#define CALIBRATE_SHARE 0.92

/* Relative error punishes a guess above the truth more than one below: for a log-normal
 * belief the best point lies sd^2 below the median, for the heavier tails here half. */
#define POINT_SHIFT 0.5

struct method_core_state {
    const struct fold *fold;
    struct fold_core *core;
    double width[2][CALIBRATED_MAX + 1]; /* own, effect; 0: not known yet */
    double *mean, *sd;                   /* (2 * fold_half) */
};

static void *core_fit(const struct fold *fold)
{
    struct method_core_state *s = mem_new(struct method_core_state);
    size_t cells = 2 * fold_half(fold);

    s->fold = fold;
    s->core = fold_core_create(fold);
    s->mean = mem_array(double, cells + 1);
    s->sd = mem_array(double, cells + 1);
    return s;
}

static void core_end(void *self)
{
    struct method_core_state *s = self;

    if (!s)
        return;
    fold_core_destroy(s->core);
    free(s->mean);
    free(s->sd);
    free(s);
}

/* Errors in units of sd for one job of the catalogue, appended to out. */
static size_t rehearse_job(struct method_core_state *s, const struct fold *inner, int job,
                           size_t shown, bool effect, struct rng *rng, double *out)
{
    size_t half = fold_half(inner), found = 0;
    size_t *known = mem_array(size_t, half + 1);
    size_t *seen = mem_array(size_t, 2 * shown + 1);
    size_t count = fold_known(inner, job, known);

    if (count <= shown)
        goto done;
    for (int d = 0; d < (shown ? CALIBRATE_DRAWS : 1); d++) {
        size_t used = 0;

        fold_draw(rng, known, count, shown);
        for (size_t i = 0; i < shown; i++) {
            seen[used++] = known[i];
            if (effect)
                seen[used++] = known[i] + half;
        }
        if (fold_core_rehearse(s->core, inner, job, seen, used, s->mean, s->sd) < 0)
            break;
        for (size_t i = shown; i < count; i++) {
            size_t q = known[i] + (effect ? half : 0);

            out[found++] = fabs(fold_value(inner, job, q) - s->mean[q]) / s->sd[q];
        }
    }
done:
    free(known);
    free(seen);
    return found;
}

static double calibrate(struct method_core_state *s, size_t shown, bool effect)
{
    const struct fold *fold = s->fold;
    size_t n = (size_t)fold->train_count;
    double *errors = mem_array(double, n *fold_half(fold) * CALIBRATE_DRAWS + 1);
    size_t count = 0;
    struct rng rng;
    double width;

    rng_stream(&rng, fold->seed, 100 + shown);
    for (int at = 0; at < fold->train_count; at++) {
        struct fold inner;

        fold_inner(fold, at, &inner);
        if (inner.train_count > 0)
            count += rehearse_job(s, &inner, fold->train[at], shown, effect, &rng,
                                  errors + count);
        fold_fini(&inner);
    }
    width = count >= 20 ? score_quantile(errors, count, CALIBRATE_SHARE) : WIDTH_NORMAL;
    free(errors);
    return width;
}

static void core_guess(void *self, int job, const size_t *seen, size_t seen_count,
                       bool effect, struct guess *out)
{
    struct method_core_state *s = self;
    size_t shown = effect ? seen_count / 2 : seen_count;
    size_t at = shown < CALIBRATED_MAX ? shown : CALIBRATED_MAX;
    double *width = &s->width[effect][at];

    if (*width <= 0)
        *width = calibrate(s, at, effect);
    fold_core_predict(s->core, job, seen, seen_count, s->mean, s->sd);
    for (size_t q = 0; q < 2 * fold_half(s->fold); q++) {
        double sd = *width / WIDTH_NORMAL * s->sd[q];

        out[q].mid = fmin(s->mean[q] - POINT_SHIFT * sd * sd, 0);
        out[q].low = s->mean[q] - *width * s->sd[q];
        out[q].high = fmin(s->mean[q] + *width * s->sd[q], 0);
    }
}

const struct method method_core = {
    .name = "core", .fit = core_fit, .predict = core_guess, .destroy = core_end};
