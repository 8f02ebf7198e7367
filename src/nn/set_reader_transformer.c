/* set_reader_transformer.c - known jobs look at each other: set_reader.c calls it with
 * one set at a time
 *
 *     e = x We
 *     a = softmax(q k' / sqrt(w)) v        q, k, v from e, in heads of width w
 *     u = e + a Wo
 *     f = u + relu(u W1) W2
 *     scores = f Ws
 */
#include "nn/set_reader_private.h"

#include "base/mem.h"
#include "nn/gemm.h"

#include <math.h>
#include <stdlib.h>

enum {
    W = SET_READER_WIDTH,
    HEADS = 2,
    PART = SET_READER_WIDTH / HEADS,
    WIDE = 2 * SET_READER_WIDTH
};
enum { EMBED, QUERY, KEY, VALUE, OUT, UP, DOWN, SCORE };

static void init(struct set_reader *r, struct params *params, const char *name,
                 struct rng *rng)
{
    set_reader_layer(&r->layers[EMBED], params, name, "embed", r->inputs, W, rng);
    set_reader_layer(&r->layers[QUERY], params, name, "query", W, W, rng);
    set_reader_layer(&r->layers[KEY], params, name, "key", W, W, rng);
    set_reader_layer(&r->layers[VALUE], params, name, "value", W, W, rng);
    set_reader_layer(&r->layers[OUT], params, name, "out", W, W, rng);
    set_reader_layer(&r->layers[UP], params, name, "up", W, WIDE, rng);
    set_reader_layer(&r->layers[DOWN], params, name, "down", WIDE, W, rng);
    set_reader_layer(&r->layers[SCORE], params, name, "score", W, r->scores, rng);
}

struct block {                            /* what is kept, by rows: */
    nn_real *embed, *query, *key, *value; /* (rows, W) */
    nn_real *seen;                        /* (rows, W) of all heads */
    nn_real *sum;                         /* (rows, W) u */
    nn_real *up;                          /* (rows, WIDE) after ReLU */
    nn_real *last;                        /* (rows, W) f */
    nn_real *look;                        /* (HEADS, rows, rows) weights */
};

static size_t room(const struct set_reader *r, int rows)
{
    size_t n = (size_t)rows;

    (void)r;
    return n * (7 * W + WIDE) + HEADS * n * n;
}

static struct block block_of(nn_real *kept, int rows)
{
    size_t n = (size_t)rows * W;
    struct block b;

    b.embed = kept;
    b.query = b.embed + n;
    b.key = b.query + n;
    b.value = b.key + n;
    b.seen = b.value + n;
    b.sum = b.seen + n;
    b.last = b.sum + n;
    b.up = b.last + n;
    b.look = b.up + (size_t)rows * WIDE;
    return b;
}

/* One head: weights (rows, rows), and what they show of the values. */
static void look_around(const struct block *b, int head, int rows)
{
    nn_real *look = b->look + (size_t)head * (size_t)rows * (size_t)rows;
    const nn_real scale = (nn_real)(1 / sqrt(PART));

    for (int i = 0; i < rows; i++) {
        const nn_real *q = b->query + i * W + head * PART;
        nn_real *w = look + (size_t)i * (size_t)rows, most = 0, sum = 0;

        for (int j = 0; j < rows; j++) {
            w[j] = 0;
            for (int p = 0; p < PART; p++)
                w[j] += scale * q[p] * b->key[j * W + head * PART + p];
            most = j == 0 || w[j] > most ? w[j] : most;
        }
        for (int j = 0; j < rows; j++)
            sum += w[j] = nn_exp(w[j] - most);
        for (int p = 0; p < PART; p++)
            b->seen[i * W + head * PART + p] = 0;
        for (int j = 0; j < rows; j++) {
            w[j] /= sum;
            for (int p = 0; p < PART; p++)
                b->seen[i * W + head * PART + p] +=
                    w[j] * b->value[j * W + head * PART + p];
        }
    }
}

static void forward(const struct set_reader *r, const struct params *params,
                    const nn_real *x, int rows, nn_real *kept, nn_real *scores)
{
    struct block b = block_of(kept, rows);

    set_reader_dense(&r->layers[EMBED], params, x, rows, b.embed);
    set_reader_dense(&r->layers[QUERY], params, b.embed, rows, b.query);
    set_reader_dense(&r->layers[KEY], params, b.embed, rows, b.key);
    set_reader_dense(&r->layers[VALUE], params, b.embed, rows, b.value);
    for (int head = 0; head < HEADS; head++)
        look_around(&b, head, rows);
    set_reader_dense(&r->layers[OUT], params, b.seen, rows, b.sum);
    for (int i = 0; i < rows * W; i++)
        b.sum[i] += b.embed[i];
    set_reader_dense(&r->layers[UP], params, b.sum, rows, b.up);
    for (int i = 0; i < rows * WIDE; i++)
        b.up[i] = b.up[i] > 0 ? b.up[i] : 0;
    set_reader_dense(&r->layers[DOWN], params, b.up, rows, b.last);
    for (int i = 0; i < rows * W; i++)
        b.last[i] += b.sum[i];
    set_reader_dense(&r->layers[SCORE], params, b.last, rows, scores);
}

/* From the slopes by what a head saw to those by queries, keys and values. */
static void look_back(const struct block *b, int head, int rows, const nn_real *by_seen,
                      nn_real *by_query, nn_real *by_key, nn_real *by_value)
{
    const nn_real *look = b->look + (size_t)head * (size_t)rows * (size_t)rows;
    const nn_real scale = (nn_real)(1 / sqrt(PART));
    nn_real *by_weight = mem_array(nn_real, (size_t)rows + 1);

    for (int i = 0; i < rows; i++) {
        const nn_real *w = look + (size_t)i * (size_t)rows;
        int at = i * W + head * PART;
        nn_real mean = 0;

        for (int j = 0; j < rows; j++) {
            int to = j * W + head * PART;

            by_weight[j] = 0;
            for (int p = 0; p < PART; p++) {
                by_weight[j] += by_seen[at + p] * b->value[to + p];
                by_value[to + p] += w[j] * by_seen[at + p];
            }
            mean += w[j] * by_weight[j];
        }
        for (int j = 0; j < rows; j++) {
            nn_real by = scale * w[j] * (by_weight[j] - mean);
            int to = j * W + head * PART;

            for (int p = 0; p < PART; p++) {
                by_query[at + p] += by * b->key[to + p];
                by_key[to + p] += by * b->query[at + p];
            }
        }
    }
    free(by_weight);
}

static void backward(const struct set_reader *r, struct params *params, const nn_real *x,
                     int rows, nn_real *kept, const nn_real *by_scores)
{
    struct block b = block_of(kept, rows);
    size_t n = (size_t)rows * W;
    nn_real *all = mem_array(nn_real, 6 * n + (size_t)rows * WIDE + 1);
    nn_real *by_sum = all, *by_seen = by_sum + n, *by_query = by_seen + n;
    nn_real *by_key = by_query + n, *by_value = by_key + n, *by_embed = by_value + n;
    nn_real *by_up = by_embed + n;

    /* by_sum is first the slope by the last layer's input, which the sum is part of. */
    set_reader_dense_back(&r->layers[SCORE], params, b.last, rows, by_scores, by_sum);
    set_reader_dense_back(&r->layers[DOWN], params, b.up, rows, by_sum, by_up);
    for (int i = 0; i < rows * WIDE; i++)
        if (!(b.up[i] > 0))
            by_up[i] = 0;
    set_reader_dense_back(&r->layers[UP], params, b.sum, rows, by_up, by_sum);
    for (size_t i = 0; i < n; i++)
        by_embed[i] = by_sum[i];
    set_reader_dense_back(&r->layers[OUT], params, b.seen, rows, by_sum, by_seen);
    for (int head = 0; head < HEADS; head++)
        look_back(&b, head, rows, by_seen, by_query, by_key, by_value);
    set_reader_dense_back(&r->layers[QUERY], params, b.embed, rows, by_query, by_embed);
    set_reader_dense_back(&r->layers[KEY], params, b.embed, rows, by_key, by_embed);
    set_reader_dense_back(&r->layers[VALUE], params, b.embed, rows, by_value, by_embed);
    set_reader_dense_back(&r->layers[EMBED], params, x, rows, by_embed, NULL);
    free(all);
}

const struct set_reader_ops set_reader_transformer = {init, room, forward, backward};
