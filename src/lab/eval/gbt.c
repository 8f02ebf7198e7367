/* gbt.c - boosted trees: a lesson grows them from what this cluster showed, pairs.c asks
 * them */
#include "lab/eval/gbt.h"

#include "base/mem.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define BINS      24
#define DEPTH     4
#define NODES     ((1 << (DEPTH + 1)) - 1)
#define RATE      0.1
#define LEAF_MIN  20
#define RIDGE     5.0
#define TREES     100 /* of gbt_from_rows() */
#define TREES_MAX 1000

struct tree_node {
    int column; /* -1: a leaf */
    float cut;  /* at most: left, node 2 i + 1; else right, 2 i + 2 */
    double value;
};

struct gbt {
    size_t columns;
    int trees;
    double start;
    struct tree_node *nodes; /* (trees, NODES) */
    float *cuts;             /* (columns, BINS - 1) */
};

struct build {
    struct gbt *gbt;
    const uint8_t *bins; /* (rows, columns) */
    double *residual;    /* (rows) */
    int *at;             /* (rows) node of the tree that grows */
    size_t rows;
};

static int by_value(const void *a, const void *b)
{
    const float *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static void make_cuts(struct gbt *g, const float *x, size_t rows)
{
    float *column = mem_array(float, rows + 1);

    for (size_t c = 0; c < g->columns; c++) {
        for (size_t r = 0; r < rows; r++)
            column[r] = x[r * g->columns + c];
        qsort(column, rows, sizeof(*column), by_value);
        for (size_t b = 0; b + 1 < BINS; b++)
            g->cuts[c * (BINS - 1) + b] = column[(b + 1) * (rows - 1) / BINS];
    }
    free(column);
}

static uint8_t bin_of(const float *cuts, float value)
{
    uint8_t bin = 0;

    while (bin < BINS - 1 && value > cuts[bin])
        bin++;
    return bin;
}

/* The split of one node with the largest gain; false when none is worth it. */
static bool best_split(const struct build *b, int node, double sum, double count,
                       int *column, int *bin)
{
    double best = 1e-9;
    size_t columns = b->gbt->columns;
    double *sums = mem_array(double, 2 * columns * BINS);

    for (size_t r = 0; r < b->rows; r++) {
        if (b->at[r] != node)
            continue;
        for (size_t c = 0; c < columns; c++) {
            double *cell = sums + 2 * (c * BINS + b->bins[r * columns + c]);

            cell[0] += b->residual[r];
            cell[1]++;
        }
    }
    for (size_t c = 0; c < columns; c++) {
        double left = 0, n = 0;

        for (int k = 0; k + 1 < BINS; k++) {
            double gain;

            left += sums[2 * (c * BINS + (size_t)k)];
            n += sums[2 * (c * BINS + (size_t)k) + 1];
            if (n < LEAF_MIN || count - n < LEAF_MIN)
                continue;
            gain = left * left / (n + RIDGE) +
                   (sum - left) * (sum - left) / (count - n + RIDGE) -
                   sum * sum / (count + RIDGE);
            if (gain > best) {
                best = gain;
                *column = (int)c;
                *bin = k;
            }
        }
    }
    free(sums);
    return best > 1e-9;
}

/* Every path as long as the longest, so that asking needs no branch: a leaf further up
 * hands its value down. */
static void complete(struct tree_node *tree)
{
    for (int i = 0; 2 * i + 2 < NODES; i++)
        if (tree[i].column < 0) {
            tree[i].column = 0;
            tree[2 * i + 1] = tree[2 * i + 2] = (struct tree_node){-1, 0, tree[i].value};
        }
}

static void grow(struct build *b, struct tree_node *tree)
{
    size_t columns = b->gbt->columns;

    for (size_t r = 0; r < b->rows; r++)
        b->at[r] = 0;
    for (int i = 0; i < NODES; i++) {
        double sum = 0, count = 0;
        int bin = 0;

        tree[i].column = -1;
        for (size_t r = 0; r < b->rows; r++)
            if (b->at[r] == i) {
                sum += b->residual[r];
                count++;
            }
        tree[i].value = RATE * sum / (count + RIDGE);
        if (2 * i + 2 >= NODES || count < 2 * LEAF_MIN ||
            !best_split(b, i, sum, count, &tree[i].column, &bin))
            continue;
        tree[i].cut = b->gbt->cuts[(size_t)tree[i].column * (BINS - 1) + (size_t)bin];
        for (size_t r = 0; r < b->rows; r++)
            if (b->at[r] == i)
                b->at[r] = b->bins[r * columns + (size_t)tree[i].column] <= bin
                               ? 2 * i + 1
                               : 2 * i + 2;
    }
    for (size_t r = 0; r < b->rows; r++)
        b->residual[r] -= tree[b->at[r]].value;
    complete(tree);
}

struct gbt *gbt_train(const float *x, const float *y, size_t rows, size_t columns,
                      int trees)
{
    struct gbt *g = mem_new(struct gbt);
    uint8_t *bins = mem_array(uint8_t, rows * columns + 1);
    struct build b = {g, bins, mem_array(double, rows + 1), mem_array(int, rows + 1),
                      rows};

    g->columns = columns;
    g->trees = rows > 0 ? trees : 0;
    g->nodes = mem_array(struct tree_node, (size_t)trees * NODES + 1);
    g->cuts = mem_array(float, columns *(BINS - 1) + 1);
    for (size_t r = 0; r < rows; r++)
        g->start += (double)y[r] / (double)rows;
    if (rows > 0)
        make_cuts(g, x, rows);
    for (size_t i = 0; i < rows * columns; i++)
        bins[i] = bin_of(g->cuts + i % columns * (BINS - 1), x[i]);
    for (size_t r = 0; r < rows; r++)
        b.residual[r] = (double)y[r] - g->start;
    for (int t = 0; t < g->trees; t++)
        grow(&b, g->nodes + (size_t)t * NODES);
    free(bins);
    free(b.residual);
    free(b.at);
    return g;
}

void gbt_destroy(struct gbt *g)
{
    if (!g)
        return;
    free(g->nodes);
    free(g->cuts);
    free(g);
}

double gbt_predict(const struct gbt *g, const float *x)
{
    double sum = g->start;

    for (int t = 0; t < g->trees; t++) {
        const struct tree_node *tree = g->nodes + (size_t)t * NODES;
        int i = 0;

        for (int depth = 0; depth < DEPTH; depth++)
            i = 2 * i + 1 + !(x[tree[i].column] <= tree[i].cut);
        sum += tree[i].value;
    }
    return sum;
}

struct gbt *gbt_from_rows(const struct stat_row *rows, size_t count)
{
    float *x = mem_array(float, count *STATS_FEATURES + 1);
    float *y = mem_array(float, count + 1);
    struct gbt *g;

    for (size_t i = 0; i < count; i++) {
        memcpy(x + i * STATS_FEATURES, rows[i].x, sizeof(rows[i].x));
        y[i] = rows[i].target - rows[i].base;
    }
    g = gbt_train(x, y, count, STATS_FEATURES, TREES);
    free(x);
    free(y);
    return g;
}
