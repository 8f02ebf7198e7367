/* rowwise.h - operations over whole rows and sequences
 *
 * A batch of sequences is a matrix of (groups * length) rows, one sequence after the
 * other.  A mask is an array (groups, length) of 1 for a token and 0 for padding. */
#ifndef CORGI_LAB_NN_ROWWISE_H
#define CORGI_LAB_NN_ROWWISE_H

#include "nn/tape.h"

/* Softmax of every row.  The rows fall into equal groups; columns where the group's row
 * of the mask (groups, cols) is 0 get 0, and a row without any column left is all 0.
 * mask NULL: every column counts. */
struct var *rowwise_softmax(struct tape *tape, struct var *x, const nn_real *mask,
                            int groups);

/* Every row to mean 0 and variance 1, then times gain plus shift, both (1, cols). */
struct var *rowwise_layer_norm(struct tape *tape, struct var *x, struct var *gain,
                               struct var *shift);

/* Mean over the tokens of each sequence: (groups * length, cols) gives (groups, cols); a
 * sequence without tokens gives 0.  mask NULL: every row is a token. */
struct var *rowwise_masked_mean(struct tape *tape, struct var *x, const nn_real *mask,
                                int groups);

#endif
