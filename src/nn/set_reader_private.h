/* set_reader_private.h - what an architecture of set_reader.h does with one set of rows
 */
#pragma once

#include "nn/set_reader.h"

#define SET_READER_WIDTH 16 /* numbers a row has inside */

struct set_reader_ops {
    void (*init)(struct set_reader *reader, struct params *params, const char *name,
                 struct rng *rng);
    /* Numbers kept of so many rows, for the way back. */
    size_t (*room)(const struct set_reader *reader, int rows);
    void (*forward)(const struct set_reader *reader, const struct params *params,
                    const nn_real *x, int rows, nn_real *kept, nn_real *scores);
    void (*backward)(const struct set_reader *reader, struct params *params,
                     const nn_real *x, int rows, nn_real *kept, const nn_real *by_scores);
};

extern const struct set_reader_ops set_reader_gru, set_reader_transformer;

/* Add a dense layer "name.part" with random weights. */
void set_reader_layer(struct mlp_layer *layer, struct params *params, const char *name,
                      const char *part, int inputs, int outputs, struct rng *rng);

/* y (rows, outputs) = x w + b; and from by_y: add to the gradients, and to by_x unless
 * NULL. */
void set_reader_dense(const struct mlp_layer *layer, const struct params *params,
                      const nn_real *x, int rows, nn_real *y);
void set_reader_dense_back(const struct mlp_layer *layer, struct params *params,
                           const nn_real *x, int rows, const nn_real *by_y,
                           nn_real *by_x);
