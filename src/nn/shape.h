/* shape.h - picking and joining rows and columns */
#ifndef CORGI_NN_SHAPE_H
#define CORGI_NN_SHAPE_H

#include "nn/tape.h"

/* Row index[i] of x becomes row i; a row may be taken often (an embedding). */
struct var *shape_gather_rows(struct tape *tape, struct var *x, const int *index,
                              int count);

/* Rows first, first + stride, ... of x: with stride = length, one token of every
 * sequence. */
struct var *shape_slice_rows(struct tape *tape, struct var *x, int first, int stride,
                             int count);

struct var *shape_slice_cols(struct tape *tape, struct var *x, int first, int count);

/* a (rows, p) beside b (rows, q) gives (rows, p + q). */
struct var *shape_concat_cols(struct tape *tape, struct var *a, struct var *b);

#endif
