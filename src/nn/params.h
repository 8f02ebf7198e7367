/* params.h - the trained numbers of a network: named matrices in one flat array
 *
 * Blocks (mlp.h, gru.h, encoder.h) add what they need when they are set up; the
 * optimizer, the weights file and copies for another thread work on all of them at once.
 * Adding moves the arrays, so set up every block before the first tape_param().  Not
 * thread-safe; several threads may read one set while nobody trains it. */
#ifndef CORGI_NN_PARAMS_H
#define CORGI_NN_PARAMS_H

#include "base/rng.h"
#include "nn/real.h"

#include <stddef.h>

#define PARAMS_NAME_SIZE 64

struct param {
    char name[PARAMS_NAME_SIZE]; /* "p1.0.weight"; unique in its set */
    int rows, cols;
    size_t offset; /* of its first number in value and grad */
};

struct params {
    struct param *items; /* (item_count) */
    int item_count;
    nn_real *value; /* (count) */
    nn_real *grad;  /* (count) added to by tape_backward(), zeroed by adam_step() */
    size_t count;   /* numbers in all */
};

struct params *params_create(void);
void params_destroy(struct params *params); /* NULL is fine */
struct params *params_dup(const struct params *params);

/* Copy values between sets of the same layout. */
void params_copy(struct params *to, const struct params *from);

/* Add a matrix of zeros; its id is for tape_param().  The name must be new. */
int params_add(struct params *params, const char *name, int rows, int cols);

int params_find(const struct params *params, const char *name); /* -1 when unknown */
nn_real *params_value(struct params *params, int id); /* (rows, cols) borrowed */
void params_zero_grad(struct params *params);

/* Seeded starting values for a weight of (inputs, outputs): He before a ReLU, Xavier
 * before anything else. */
void params_fill_he(struct params *params, int id, struct rng *rng);
void params_fill_xavier(struct params *params, int id, struct rng *rng);
void params_fill(struct params *params, int id, double value);

#endif
