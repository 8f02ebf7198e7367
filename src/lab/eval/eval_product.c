/* eval_product.c - the estimator that ships and its parts, as methods of the protocols
 *
 * The blend is of the core, P2 and trees that know only this catalogue.  The weights and
 * the width of intervals come from the same game played inside the catalogue: hold out
 * each job (or family), show as many observations, look at the rest. */
#include "lab/eval/estimator_method.h"

#include "base/mem.h"
#include "base/normal.h"
#include "base/vec.h"
#include "lab/eval/eval_score.h"
#include "lab/eval/fold_core.h"
#include "lab/eval/fold_net.h"
#include "lab/eval/inner_folds.h"
#include "model/blend.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CALIBRATED_MAX  16 /* observation counts with a width of their own */
#define CALIBRATE_DRAWS 2
#define CALIBRATE_MIN   20 /* fewer errors say nothing */

#define CALIBRATE_SHARE 0.92

/* The network learns from the catalogue as it does online: few steps, a low rate. */
#define TUNE_STEPS 120
#define TUNE_RATE  1e-3
#define TUNE_BATCH 256
#define TUNE_FROM  120 /* rows; fewer teach nothing */

struct setting { /* for a number of observations */
    bool known;
    struct blend_weights weights;
    double width;
};

struct product {
    const struct fold *fold;
    bool blind; /* P1: what is shown of the job itself is not looked at */
    struct fold_core *core;
    struct statnet *net;
    /* Each learned without one group of the catalogue: what rehearsals of it ask. */
    struct statnet *without[REHEARSAL_GROUPS];
    struct gbt *trees, *trees_without[REHEARSAL_GROUPS]; /* NULL: the network only */
    struct seq *seq; /* answers instead of net; NULL: no */
    struct fold_net *fold_net;
    struct setting settings[2][CALIBRATED_MAX + 1]; /* own, effect */
    /* (2 * fold_half) */
    struct blend_said *said;
    vec_of(struct blend_case) rehearsed;
};

/* Train on the rows that are not of one group; -1: on all. */
static void tune(struct statnet *net, const struct rehearsal *r, int without,
                 uint64_t seed)
{
    struct statnet_trainer *trainer;
    struct statnet_row batch[TUNE_BATCH];
    struct rng rng;
    size_t usable = 0;

    for (size_t i = 0; i < r->count; i++)
        usable += r->group[i] != without;
    if (usable < TUNE_FROM)
        return;
    trainer = statnet_trainer_create(net, TUNE_RATE, TUNE_STEPS);
    rng_stream(&rng, seed, 600 + (uint64_t)(without + 1));
    for (int t = 0; t < TUNE_STEPS; t++) {
        for (int i = 0; i < TUNE_BATCH; i++) {
            size_t at = rng_below(&rng, r->count);

            while (r->group[at] == without)
                at = rng_below(&rng, r->count);
            batch[i] = r->rows[at];
        }
        statnet_train_step(trainer, batch, TUNE_BATCH);
    }
    statnet_trainer_destroy(trainer);
    statnet_repack(net);
}

static void create_networks(struct product *p, const char *name, bool trees)
{
    struct rehearsal r;

    rehearsal_init(&r, p->fold);
    p->net = statnet_shipped(name);
    for (int g = 0; g < REHEARSAL_GROUPS; g++) {
        p->without[g] = statnet_dup(p->net);
        if (!trees)
            continue; /* alone a network is compared as it ships */
        tune(p->without[g], &r, g, p->fold->seed);
        p->trees_without[g] = gbt_from_rows(r.rows, r.group, g, r.count);
    }
    if (trees) {
        tune(p->net, &r, -1, p->fold->seed);
        p->trees = gbt_from_rows(r.rows, NULL, -1, r.count);
    }
    p->fold_net = fold_net_create(p->fold, p->net, p->trees, p->seq);
    rehearsal_fini(&r);
}

static void *fit(const struct fold *fold, const char *name)
{
    struct product *p = mem_new(struct product);
    bool core = !strcmp(name, "blend") || !strcmp(name, "core");

    p->fold = fold;
    p->blind = !strcmp(name, "p1");
    p->said = mem_array(struct blend_said, 2 * fold_half(fold) + 1);
    if (core)
        p->core = fold_core_create(fold);
    if (!strcmp(name, "p2-gru"))
        p->seq = seq_shipped(SEQNET_GRU);
    if (!strcmp(name, "p2-transformer"))
        p->seq = seq_shipped(SEQNET_TRANSFORMER);
    if (strcmp(name, "core"))
        create_networks(p, p->blind ? "p1" : "p2", core);
    return p;
}

static void destroy(void *self)
{
    struct product *p = self;

    fold_core_destroy(p->core);
    fold_net_destroy(p->fold_net);
    seq_destroy(p->seq);
    statnet_destroy(p->net);
    for (int g = 0; g < REHEARSAL_GROUPS; g++)
        statnet_destroy(p->without[g]);
    gbt_destroy(p->trees);
    for (int g = 0; g < REHEARSAL_GROUPS; g++)
        gbt_destroy(p->trees_without[g]);
    free(p->said);
    vec_free(&p->rehearsed);
    free(p);
}

/* What the parts say inside the catalogue for one job and one draw. */
static void rehearse_draw(struct product *p, const struct fold *inner,
                          struct fold_net *net, int job, const size_t *known,
                          size_t count, size_t shown, bool effect)
{
    size_t half = fold_half(inner);
    size_t *seen = mem_array(size_t, 2 * shown + 1);
    size_t used = fold_show(inner, known, shown, effect, seen);

    if (p->core && fold_core_rehearse(p->core, inner, job, seen, used, p->said) < 0)
        goto done;
    if (net)
        fold_net_predict(net, job, seen, p->blind ? 0 : used, effect, p->said);
    for (size_t i = shown; i < count; i++) {
        size_t q = known[i] + (effect ? half : 0);
        struct blend_case r = {p->said[q], fold_value(inner, job, q),
                               fold_group(p->fold, job)};

        if (!isnan(r.said.core.mean))
            vec_push(&p->rehearsed, r);
    }
done:
    free(seen);
}

static void rehearse(struct product *p, size_t shown, bool effect)
{
    struct rng rng;

    vec_clear(&p->rehearsed);
    rng_stream(&rng, p->fold->seed, 100 + shown);
    for (int at = 0; at < p->fold->train_count; at++) {
        struct fold_net *net = NULL;
        struct fold inner;
        size_t *known, count;

        fold_inner(p->fold, at, &inner);
        known = mem_array(size_t, fold_half(&inner) + 1);
        count = inner.train_count > 0 ? fold_known(&inner, p->fold->train[at], known) : 0;
        if (p->net && count > shown) {
            int group = rehearsal_group(p->fold, p->fold->train[at]);

            net = fold_net_create(&inner, p->without[group], p->trees_without[group],
                                  p->seq);
        }
        for (int d = 0; count > shown && d < (shown ? CALIBRATE_DRAWS : 1); d++) {
            fold_draw(&rng, known, count, shown);
            rehearse_draw(p, &inner, net, p->fold->train[at], known, count, shown,
                          effect);
        }
        fold_net_destroy(net);
        free(known);
        fold_fini(&inner);
    }
}

static struct blend_weights choose_weights(const struct product *p)
{
    if (!p->core || !p->net)
        return (struct blend_weights){p->net ? 1 : 0, 0};
    return blend_weights_choose(p->rehearsed.items, p->rehearsed.count);
}

static const struct setting *calibrate(struct product *p, size_t shown, bool effect)
{
    size_t at = shown < CALIBRATED_MAX ? shown : CALIBRATED_MAX;
    struct setting *s = &p->settings[effect][at];
    double *errors;
    size_t count;
    int *groups;

    if (s->known)
        return s;
    rehearse(p, at, effect);
    s->weights = choose_weights(p);
    count = p->rehearsed.count;
    errors = mem_array(double, count + 1);
    groups = mem_array(int, count + 1);
    blend_errors(p->rehearsed.items, count, &s->weights, errors);
    for (size_t i = 0; i < count; i++)
        groups[i] = p->rehearsed.items[i].group;
    s->width = NORMAL_90_SHORT;
    if (count >= CALIBRATE_MIN)
        s->width = score_fair_width(errors, groups, count,
                                    p->fold->table->families + p->fold->table->jobs,
                                    CALIBRATE_SHARE);
    s->known = true;
    free(errors);
    free(groups);
    return s;
}

static void predict(void *self, int job, const size_t *seen, size_t seen_count,
                    bool effect, struct guess *out)
{
    struct product *p = self;
    size_t half = fold_half(p->fold), first = effect ? half : 0;
    const struct setting *s = calibrate(p, effect ? seen_count / 2 : seen_count, effect);

    if (p->core)
        fold_core_predict(p->core, job, seen, seen_count, p->said);
    if (p->fold_net)
        fold_net_predict(p->fold_net, job, seen, p->blind ? 0 : seen_count, effect,
                         p->said);
    for (size_t q = first; q < first + half; q++) {
        struct blend_belief b = blend_mix(&p->said[q], &s->weights);
        double half_width = s->width * b.sd, sd = half_width / NORMAL_90_SHORT;

        out[q].mid = fmin(b.mean - BLEND_POINT_SHIFT * sd * sd, 0);
        out[q].low = b.mean - half_width;
        out[q].high = fmin(b.mean + half_width, 0);
    }
}

const struct method method_product[] = {
    {"blend", fit, predict, destroy},  {"core", fit, predict, destroy},
    {"p1", fit, predict, destroy},     {"p2-ff", fit, predict, destroy},
    {"p2-gru", fit, predict, destroy}, {"p2-transformer", fit, predict, destroy},
    {NULL, NULL, NULL, NULL},
};
