/* set_reader.h - how P1 and P2 read the known jobs: one part in three architectures
 *
 * Each known job comes as a row of numbers (how far it is from the job that is asked
 * about) and gets some scores; attention.h weighs the jobs by them.
 *   ff           each row by itself, through dense layers
 *   gru          one row after the other, the least alike first, with a memory of those
 *                before it
 *   transformer  each row sees all others (one block of self-attention)
 * Gradients are checked in double against finite differences. */
#pragma once

#include "nn/mlp.h"

enum set_reader_kind {
    SET_READER_FF,
    SET_READER_GRU,
    SET_READER_TRANSFORMER,
    SET_READER_KINDS
};
extern const char *const set_reader_names[SET_READER_KINDS];
int set_reader_find(const char *name); /* -1: there is none of this name */

#define SET_READER_LAYERS 8

struct set_reader_ops;

struct set_reader {
    enum set_reader_kind kind;
    int inputs, scores;
    struct mlp mlp;                             /* ff */
    struct mlp_layer layers[SET_READER_LAYERS]; /* the others */
    const struct set_reader_ops *ops;           /* NULL: ff */
};

void set_reader_init(struct set_reader *reader, struct params *params, const char *name,
                     enum set_reader_kind kind, int inputs, int scores, struct rng *rng);

/* What some sets of rows gave on the way, kept for the way back.  One a thread. */
struct set_reader_batch;

struct set_reader_batch *set_reader_batch_create(const struct set_reader *reader);
void set_reader_batch_destroy(struct set_reader_batch *batch); /* NULL is fine */

/* x (all rows, inputs): sets of these lengths one behind the other; borrowed until
 * set_reader_backward().  Gives (all rows, scores), borrowed until the next call. */
const nn_real *set_reader_forward(struct set_reader_batch *batch,
                                  const struct params *params, const nn_real *x,
                                  const int *lengths, size_t sets);

/* Given the gradient of a loss by each score, add that by each parameter to params->grad.
 */
void set_reader_backward(struct set_reader_batch *batch, struct params *params,
                         const nn_real *by_scores);
