/* params.h - the trained numbers of a network: named matrices in one flat array
 *
 * The product computes in float.  The same sources built with NN_DOUBLE compute in
 * double, which is how gradients are checked against finite differences; that build is a
 * library of its own (corgi_nn_double) and only tests link it.
 *
 * Blocks (mlp.h) add what they need when they are set up; the
 * optimizer, the weights file and copies for another thread work on all of them at once.
 * Adding moves the arrays, so set up every block before the first use.  Not
 * thread-safe; several threads may read one set while nobody trains it. */
#pragma once

#include "base/rng.h"

#include <stddef.h>

#ifdef NN_DOUBLE
typedef double nn_real;
/* Objects of the two builds must not meet: the linker says so. */
#define mlp_batch_create mlp_batch_create_double
#define params_create    params_create_double
#define nn_exp           __builtin_exp
#define nn_fabs          __builtin_fabs
#define nn_sqrt          __builtin_sqrt
#else
typedef float nn_real;
#define nn_exp  __builtin_expf
#define nn_fabs __builtin_fabsf
#define nn_sqrt __builtin_sqrtf
#endif

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
    nn_real *grad;  /* (count) added to by mlp_backward(), zeroed by adam_step() */
    size_t count;   /* numbers in all */
};

struct params *params_create(void);
void params_destroy(struct params *params); /* NULL is fine */
struct params *params_dup(const struct params *params);

/* Add a matrix of zeros; its id finds it again.  The name must be new. */
int params_add(struct params *params, const char *name, int rows, int cols);

int params_find(const struct params *params, const char *name); /* -1 when unknown */
nn_real *params_value(struct params *params, int id); /* (rows, cols) borrowed */
void params_zero_grad(struct params *params);

/* Seeded starting values for a weight of (inputs, outputs): He before a ReLU, Xavier
 * before anything else. */
void params_fill_he(struct params *params, int id, struct rng *rng);
void params_fill_xavier(struct params *params, int id, struct rng *rng);
