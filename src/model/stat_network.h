/* stat_network.h - the networks P1 and P2: from statistics around a cell to its log speed
 *
 * Both are the same shape; P1 learned from cells of jobs never measured, P2 from all.
 * They answer with a correction to shrunk means and a Laplace width. */
#pragma once

#include "model/pair_stats.h"
#include "nn/mlp.h"

struct infer;

struct statnet {
    struct params *params; /* after a change of these: statnet_repack() */
    struct mlp mlp;
    struct infer *infer;
};

/* Random start; name ("p1", "p2") heads the parameters. */
struct statnet *statnet_create(const char *name, struct rng *rng);
void statnet_destroy(struct statnet *net); /* NULL is fine */
struct statnet *statnet_dup(const struct statnet *net);

/* The networks that ship, trained on the synthetic world.  The caller owns them. */
struct statnet *statnet_shipped(const char *name);

struct statnet_row {
    float x[STATS_FEATURES];
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
