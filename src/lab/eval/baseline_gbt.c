/* baseline_gbt.c - boosted trees on the statistics the networks see
 *
 * Trained inside the catalogue on the same game as is played outside (inner_folds.h). */
#include "lab/eval/estimator_method.h"

#include "base/mem.h"
#include "lab/eval/fold_net.h"
#include "lab/eval/inner_folds.h"
#include "model/gbt.h"

#include <math.h>
#include <stdlib.h>

struct trees {
    const struct fold *fold;
    struct gbt *gbt;
    struct fold_net *outer;
};

static void *trees_fit(const struct fold *fold)
{
    struct trees *t = mem_new(struct trees);
    struct rehearsal r;

    t->fold = fold;
    t->outer = fold_net_create(fold, NULL, NULL);
    rehearsal_init(&r, fold);
    t->gbt = gbt_from_rows(r.rows, NULL, -1, r.count);
    rehearsal_fini(&r);
    return t;
}

static void trees_predict(void *self, int job, const size_t *seen, size_t seen_count,
                          bool effect, struct guess *out)
{
    struct trees *t = self;
    size_t half = fold_half(t->fold), first = effect ? half : 0;
    const struct statnet_row *rows =
        fold_net_rows(t->outer, job, seen, seen_count, effect);

    for (size_t i = 0; i < half; i++)
        out[first + i] = (struct guess){
            fmin((double)rows[i].base + gbt_predict(t->gbt, rows[i].x), 0), NAN, NAN};
}

static void trees_destroy(void *self)
{
    struct trees *t = self;

    if (!t)
        return;
    gbt_destroy(t->gbt);
    fold_net_destroy(t->outer);
    free(t);
}

const struct method method_trees = {"baseline:boosted-trees", trees_fit, trees_predict,
                                    trees_destroy};
