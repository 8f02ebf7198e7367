/* inner_folds.c - folds inside a fold's catalogue: eval_product.c and baseline.c
 * train on them */
#include "lab/eval/inner_folds.h"

#include "base/mem.h"
#include "base/vec.h"
#include "lab/eval/fold_net.h"

#include <stdlib.h>

struct inner_fold {
    vec_of(struct statnet_row) rows;
    vec_of(int) group;
};

int rehearsal_group(const struct fold *fold, int job)
{
    int family = fold->table->job[job].family;

    return (fold->split == FOLD_FAMILY && family >= 0 ? family : job) % REHEARSAL_GROUPS;
}

static void add_rows(struct inner_fold *b, struct fold_net *net, const struct fold *inner,
                     int job, const size_t *known, size_t count, size_t shown,
                     bool effect)
{
    size_t first = effect ? fold_half(inner) : 0;
    size_t *seen = mem_array(size_t, 2 * shown + 1);
    size_t used = fold_show(inner, known, shown, effect, seen);
    const struct statnet_row *found = fold_net_rows(net, job, seen, used, effect);

    for (size_t i = shown; i < count; i++) {
        struct statnet_row row = found[known[i]];

        row.target = (float)fold_value(inner, job, known[i] + first);
        vec_push(&b->rows, row);
        vec_push(&b->group, rehearsal_group(inner, job));
    }
    free(seen);
}

static void add_job(struct inner_fold *b, const struct fold *fold, int at,
                    struct rng *rng)
{
    static const size_t counts[] = {0, 1, 3, 10};
    int job = fold->train[at];
    struct fold_net *net;
    struct fold inner;
    size_t *known, count;

    fold_inner(fold, at, &inner);
    net = fold_net_create(&inner, NULL, NULL, NULL);
    known = mem_array(size_t, fold_half(&inner) + 1);
    count = inner.train_count > 0 ? fold_known(&inner, job, known) : 0;
    for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
        if (count <= counts[c])
            continue;
        fold_draw(rng, known, count, counts[c]);
        add_rows(b, net, &inner, job, known, count, counts[c], false);
        add_rows(b, net, &inner, job, known, count, counts[c], true);
    }
    fold_net_destroy(net);
    free(known);
    fold_fini(&inner);
}

void rehearsal_init(struct rehearsal *r, const struct fold *fold)
{
    struct inner_fold b = {0};
    struct rng rng;

    rng_stream(&rng, fold->seed, 500);
    for (int at = 0; at < fold->train_count; at++)
        add_job(&b, fold, at, &rng);
    *r = (struct rehearsal){b.rows.count, b.rows.items, b.group.items};
}

void rehearsal_fini(struct rehearsal *r)
{
    free(r->rows);
    free(r->group);
    *r = (struct rehearsal){0};
}
