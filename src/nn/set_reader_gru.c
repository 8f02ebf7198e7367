/* set_reader_gru.c - known jobs one after the other: set_reader.c calls it with one set
 * at a time
 *
 *     e = relu(x We)                       what a job is like
 *     z, r = sigmoid(e Wg + h U)           how much of the memory stays, and is looked at
 *     n = tanh(e Wg + r * (h U))
 *     h = (1 - z) n + z h                  the memory after this job
 *     scores = (e + h) Ws
 */
#include "nn/set_reader_private.h"

#include "base/mem.h"
#include "nn/gemm.h"

#include <stdlib.h>

enum { W = SET_READER_WIDTH, GATES = 3 * SET_READER_WIDTH };
enum { EMBED, INPUT, MEMORY, SCORE };

static void init(struct set_reader *r, struct params *params, const char *name,
                 struct rng *rng)
{
    set_reader_layer(&r->layers[EMBED], params, name, "embed", r->inputs, W, rng);
    set_reader_layer(&r->layers[INPUT], params, name, "input", W, GATES, rng);
    set_reader_layer(&r->layers[MEMORY], params, name, "memory", W, GATES, rng);
    set_reader_layer(&r->layers[SCORE], params, name, "score", W, r->scores, rng);
}

/* What is kept, by rows: */
struct steps {
    nn_real *embed;  /* (rows, W) */
    nn_real *input;  /* (rows, GATES) */
    nn_real *recall; /* (rows, GATES) h U before the row */
    nn_real *gate;   /* (rows, GATES) z, r, n */
    nn_real *memory; /* (rows, W) h after the row */
    nn_real *order;  /* (rows) numbers of rows, the least alike first */
};

static size_t room(const struct set_reader *r, int rows)
{
    (void)r;
    return (size_t)rows * (2 * W + 3 * GATES + 1);
}

static struct steps steps_of(nn_real *kept, int rows)
{
    size_t n = (size_t)rows;
    struct steps s;

    s.embed = kept;
    s.input = s.embed + n * W;
    s.recall = s.input + n * GATES;
    s.gate = s.recall + n * GATES;
    s.memory = s.gate + n * GATES;
    s.order = s.memory + n * W;
    return s;
}

/* Sum of squares of a row: jobs are 0 away from themselves. */
static void put_in_order(const nn_real *x, int rows, int inputs, nn_real *order)
{
    nn_real *away = mem_array(nn_real, (size_t)rows + 1);

    for (int i = 0; i < rows; i++) {
        int at = i;

        for (int k = 0; k < inputs; k++)
            away[i] += x[i * inputs + k] * x[i * inputs + k];
        for (; at > 0 && away[(int)order[at - 1]] < away[i]; at--)
            order[at] = order[at - 1];
        order[at] = (nn_real)i;
    }
    free(away);
}

static nn_real sigmoid(nn_real x)
{
    return 1 / (1 + nn_exp(-x));
}

static void step(const struct steps *s, int row, const nn_real *before)
{
    const nn_real *in = s->input + row * GATES, *back = s->recall + row * GATES;
    nn_real *gate = s->gate + row * GATES, *after = s->memory + row * W;

    for (int i = 0; i < W; i++) {
        nn_real z = sigmoid(in[i] + back[i]), r = sigmoid(in[W + i] + back[W + i]);
        nn_real n = 2 * sigmoid(2 * (in[2 * W + i] + r * back[2 * W + i])) - 1;

        gate[i] = z;
        gate[W + i] = r;
        gate[2 * W + i] = n;
        after[i] = (1 - z) * n + z * (before ? before[i] : 0);
    }
}

static void forward(const struct set_reader *r, const struct params *params,
                    const nn_real *x, int rows, nn_real *kept, nn_real *scores)
{
    static const nn_real nothing[W];
    struct steps s = steps_of(kept, rows);
    nn_real *sum = mem_array(nn_real, (size_t)rows * W + 1);
    const nn_real *before = NULL;

    set_reader_dense(&r->layers[EMBED], params, x, rows, s.embed);
    for (int i = 0; i < rows * W; i++)
        s.embed[i] = s.embed[i] > 0 ? s.embed[i] : 0;
    set_reader_dense(&r->layers[INPUT], params, s.embed, rows, s.input);
    put_in_order(x, rows, r->inputs, s.order);
    for (int t = 0; t < rows; t++) {
        int row = (int)s.order[t];

        set_reader_dense(&r->layers[MEMORY], params, before ? before : nothing, 1,
                         s.recall + row * GATES);
        step(&s, row, before);
        before = s.memory + row * W;
    }
    for (int i = 0; i < rows * W; i++)
        sum[i] = s.embed[i] + s.memory[i];
    set_reader_dense(&r->layers[SCORE], params, sum, rows, scores);
    free(sum);
}

/* From by_after, the slope by the memory after a row, to those by the gates' inputs and
 * what the memory before has of it directly. */
static void step_back(const struct steps *s, int row, const nn_real *before,
                      nn_real *by_after, nn_real *by_input, nn_real *by_recall)
{
    const nn_real *gate = s->gate + row * GATES, *back = s->recall + row * GATES;

    for (int i = 0; i < W; i++) {
        nn_real z = gate[i], r = gate[W + i], n = gate[2 * W + i], by = by_after[i];
        nn_real by_n = by * (1 - z) * (1 - n * n);
        nn_real by_z = by * ((before ? before[i] : 0) - n) * z * (1 - z);
        nn_real by_r = by_n * back[2 * W + i] * r * (1 - r);

        by_input[i] = by_recall[i] = by_z;
        by_input[W + i] = by_recall[W + i] = by_r;
        by_input[2 * W + i] = by_n;
        by_recall[2 * W + i] = by_n * r;
        by_after[i] = by * z;
    }
}

static void backward(const struct set_reader *r, struct params *params, const nn_real *x,
                     int rows, nn_real *kept, const nn_real *by_scores)
{
    static const nn_real nothing[W];
    struct steps s = steps_of(kept, rows);
    size_t n = (size_t)rows * W;
    nn_real *sum = mem_array(nn_real, n + 1), *by_sum = mem_array(nn_real, n + 1);
    nn_real *by_input = mem_array(nn_real, 3 * n + 1), by_recall[GATES], carry[W] = {0};

    for (size_t i = 0; i < n; i++)
        sum[i] = s.embed[i] + s.memory[i];
    set_reader_dense_back(&r->layers[SCORE], params, sum, rows, by_scores, by_sum);
    for (int t = rows - 1; t >= 0; t--) {
        int row = (int)s.order[t];
        const nn_real *before = t > 0 ? s.memory + (int)s.order[t - 1] * W : NULL;

        for (int i = 0; i < W; i++)
            carry[i] += by_sum[row * W + i];
        step_back(&s, row, before, carry, by_input + row * GATES, by_recall);
        set_reader_dense_back(&r->layers[MEMORY], params, before ? before : nothing, 1,
                              by_recall, carry);
    }
    set_reader_dense_back(&r->layers[INPUT], params, s.embed, rows, by_input, by_sum);
    for (size_t i = 0; i < n; i++)
        if (!(s.embed[i] > 0))
            by_sum[i] = 0;
    set_reader_dense_back(&r->layers[EMBED], params, x, rows, by_sum, NULL);
    free(sum);
    free(by_sum);
    free(by_input);
}

const struct set_reader_ops set_reader_gru = {init, room, forward, backward};
