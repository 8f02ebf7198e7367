/* tape.h - what was computed, so that gradients can be worked out backwards
 *
 * A tape holds the variables of one step: inputs, parameters and the result of every
 * operation (ops.h), each with its gradient.  Every one computes at once, and
 * tape_backward() then walks them in reverse.  One step of training:
 *
 *     tape_reset(tape);
 *     struct var *x = tape_input(tape, batch, inputs, rows);
 *     struct var *y = mlp_forward(&net, tape, params, x);
 *     struct var *loss = ops_laplace(tape, y, widths, targets);
 *     tape_backward(tape, loss);
 *     adam_step(adam, params, loss->value[0]);
 *
 * Memory comes from an arena that tape_reset() empties and keeps, so after the largest
 * step nothing is allocated any more.  Arrays handed to a tape or an operation are
 * copied. Wrong shapes are mistakes of ours and end in an assertion.  Not thread-safe:
 * one tape a thread. */
#pragma once

#include "nn/params.h"

#include <stdbool.h>
#include <stddef.h>

struct tape;

#define TAPE_MAX_INPUTS 3

/* A matrix on the tape, good until the next tape_reset(). */
struct var {
    int rows, cols;
    nn_real *value; /* (rows, cols) row by row */
    nn_real *grad;  /* the same; NULL when no parameter is below or nothing is recorded */

    /* The operation's own from here on. */
    void (*backward)(const struct var *var); /* adds to the gradients of its inputs */
    struct var *in[TAPE_MAX_INPUTS];
    struct var *previous;    /* recorded before this one */
    const nn_real *constant; /* copy of an array the operation was given */
    nn_real scale;
    int first;
};

struct tape *tape_create(void);
void tape_destroy(struct tape *tape); /* NULL is fine */

/* Forget every variable and keep the memory. */
void tape_reset(struct tape *tape);

/* False: compute only, no gradients and less memory, for predictions.  Starts true. */
void tape_record(struct tape *tape, bool record);

/* A constant matrix, copied from rows of numbers; NULL gives zeros. */
struct var *tape_input(struct tape *tape, int rows, int cols, const nn_real *numbers);

/* A parameter as a variable: reads its value in place, adds to its gradient in place. */
struct var *tape_param(struct tape *tape, struct params *params, int id);

/* Add the gradients of a (1, 1) loss to those of every parameter below it. */
void tape_backward(struct tape *tape, struct var *loss);

/* For operations: a result (not cleared) with its gradient (cleared) when an input has
 * one and the tape records; memory until the reset; a copy of an array. */
struct var *tape_result(struct tape *tape, int rows, int cols,
                        void (*backward)(const struct var *var), struct var *a,
                        struct var *b, struct var *c);
nn_real *tape_reals(struct tape *tape, size_t count);
const nn_real *tape_copy(struct tape *tape, const nn_real *numbers, size_t count);

static inline size_t var_count(const struct var *var)
{
    return (size_t)var->rows * (size_t)var->cols;
}
