/* fold_net.c - a network on a fold: eval_product.c asks it for what it would predict */
#include "lab/eval/fold_net.h"

#include "base/mem.h"

#include <stdlib.h>

struct fold_net {
    const struct fold *fold;
    const struct statnet *net;
    const struct gbt *trees;
    const struct seq *seq;
    struct gp *kernel;
    struct seq_row *tokens;      /* (fold_half) for seq */
    struct fold_cells seen;      /* the catalogue, and what is shown of a job behind it */
    struct statnet_row *rows;    /* (fold_half) */
    struct statnet_guess *guess; /* (fold_half) */
};

struct fold_net *fold_net_create(const struct fold *fold, const struct statnet *net,
                                 const struct gbt *trees, const struct seq *seq)
{
    struct fold_net *f = mem_new(struct fold_net);
    const struct measured *t = fold->table;

    f->fold = fold;
    f->net = net;
    f->trees = trees;
    f->seq = seq;
    if (seq)
        f->tokens = mem_array(struct seq_row, fold_half(fold) + 1);
    f->kernel = seq_kernel(t);
    f->rows = mem_array(struct statnet_row, fold_half(fold) + 1);
    f->guess = mem_array(struct statnet_guess, fold_half(fold) + 1);
    f->seen = fold_catalogue(fold, 2 * fold_half(fold));
    return f;
}

void fold_net_destroy(struct fold_net *f)
{
    if (!f)
        return;
    gp_destroy(f->kernel);
    free(f->seen.cells);
    free(f->seen.values);
    free(f->tokens);
    free(f->rows);
    free(f->guess);
    free(f);
}

/* The catalogue with some cells of a job behind it. */
static struct stats_seen show(const struct fold_net *f, int job, const size_t *seen,
                              size_t count)
{
    for (size_t i = 0; i < count; i++) {
        f->seen.cells[f->seen.count + i] = fold_cell(f->fold, job, seen[i]);
        f->seen.values[f->seen.count + i] = fold_value(f->fold, job, seen[i]);
    }
    return (struct stats_seen){f->seen.cells, f->seen.values, f->seen.count + count};
}

/* Features of the cells of the asked half; rows of statistics are shared per job. */
static void fill_rows(struct fold_net *f, const struct stats_seen *seen, int job,
                      bool effect)
{
    size_t half = fold_half(f->fold), n = (size_t)f->fold->train_count;
    struct stats_row *row = effect ? NULL : stats_row_create(f->kernel, seen, job, NULL);

    for (size_t k = 0; k < n; k++) {
        if (effect)
            row = stats_row_create(f->kernel, seen, f->fold->train[k], NULL);
        for (size_t at = k; at < half; at += n) {
            struct cell c = fold_cell(f->fold, job, at + (effect ? half : 0));

            f->rows[at].base =
                (float)stats_features(row, c.gpu, c.other, true, f->rows[at].x).base;
        }
        if (effect)
            stats_row_destroy(row);
    }
    if (!effect)
        stats_row_destroy(row);
}

const struct statnet_row *fold_net_rows(struct fold_net *f, int job, const size_t *seen,
                                        size_t seen_count, bool effect)
{
    struct stats_seen shown = show(f, job, seen, seen_count);

    fill_rows(f, &shown, job, effect);
    return f->rows;
}

static void ask_seq(struct fold_net *f, int job, const size_t *seen, size_t seen_count,
                    bool effect)
{
    struct stats_seen shown = show(f, job, seen, seen_count);
    size_t half = fold_half(f->fold);

    for (size_t i = 0; i < half; i++) {
        f->tokens[i].stat = f->rows[i];
        seq_tokens(f->kernel, &shown, fold_cell(f->fold, job, i + (effect ? half : 0)),
                   &f->tokens[i]);
    }
    seq_predict(f->seq, f->tokens, half, f->guess);
}

void fold_net_predict(struct fold_net *f, int job, const size_t *seen, size_t seen_count,
                      bool effect, struct blend_said *said)
{
    size_t half = fold_half(f->fold), first = effect ? half : 0;

    fold_net_rows(f, job, seen, seen_count, effect);
    if (f->seq)
        ask_seq(f, job, seen, seen_count, effect);
    else
        statnet_predict(f->net, f->rows, half, f->guess);
    for (size_t i = 0; i < half; i++) {
        struct blend_said *it = &said[first + i];

        it->net = (struct blend_belief){f->guess[i].mean, f->guess[i].sd};
        it->trees = f->trees
                        ? (double)f->rows[i].base + gbt_predict(f->trees, f->rows[i].x)
                        : f->guess[i].mean;
    }
}
