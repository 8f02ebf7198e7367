/* stat_network.h - the network that carries rates over: from statistics to a log rate
 *
 * It answers with a correction to where it starts and a Laplace width. */
#pragma once

#include "nn/mlp.h"

#define STATNET_INPUTS 30

struct infer;

struct statnet {
    struct params *params; /* after a change of these: statnet_repack() */
    struct mlp mlp;
    struct infer *infer;
};

/* Random start; the name heads the parameters. */
struct statnet *statnet_create(const char *name, struct rng *rng);
void statnet_destroy(struct statnet *net); /* NULL is fine */
struct statnet *statnet_dup(const struct statnet *net);

/* The network that ships, trained on the synthetic world.  The caller owns it. */
struct statnet *statnet_shipped(void);

struct statnet_row {
    float x[STATNET_INPUTS];
    float base;
    float target; /* training only */
};

struct statnet_guess {
    double mean;
    double sd;
};

/* Answer for many rows. */
void statnet_predict(const struct statnet *net, const struct statnet_row *rows,
                     size_t count, struct statnet_guess *out);

/* For the trainer: one step on a batch.  Returns the loss. */
struct statnet_trainer;
struct statnet_trainer *statnet_trainer_create(struct statnet *net, double rate,
                                               int steps);
void statnet_trainer_destroy(struct statnet_trainer *trainer); /* NULL is fine */
double statnet_train_step(struct statnet_trainer *trainer, const struct statnet_row *rows,
                          size_t count);

void statnet_repack(struct statnet *net);
