/* pointwise.h - operations number by number
 *
 * Both operands of a pair have the same shape, and so has the result. */
#ifndef CORGI_NN_POINTWISE_H
#define CORGI_NN_POINTWISE_H

#include "nn/tape.h"

struct var *pointwise_relu(struct tape *tape, struct var *x);
struct var *pointwise_tanh(struct tape *tape, struct var *x);
struct var *pointwise_sigmoid(struct tape *tape, struct var *x);

struct var *pointwise_add(struct tape *tape, struct var *a, struct var *b);
struct var *pointwise_sub(struct tape *tape, struct var *a, struct var *b);
struct var *pointwise_mul(struct tape *tape, struct var *a, struct var *b);

/* scale * x + shift, both constants: mu = 0.3 o + column mean is this and an add. */
struct var *pointwise_affine(struct tape *tape, struct var *x, nn_real scale,
                             nn_real shift);

/* Row i times factors[i], constants (rows): a mask over rows. */
struct var *pointwise_scale_rows(struct tape *tape, struct var *x,
                                 const nn_real *factors);

#endif
