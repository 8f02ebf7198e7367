/* attention.h - the network behind P1 and P2: which known jobs is this job like, and what
 * follows for its cells
 *
 * A first part sees, for each known job, how far that is from the job asked about, and
 * weighs all of them (four times, with a weight for "none"); what the weighed jobs are
 * away from their columns is what this job is expected to be away.  What was measured of
 * the job itself corrects that by linear weights the caller gives.  A second part sees a
 * cell with all of this and answers a last correction and how sure it is.  It knows no
 * names and no number of types or jobs.  model/p1.c and p2.c say what both parts see. */
#pragma once

#include "nn/set_reader.h"

#define ATTENTION_ALIKE  16 /* numbers a known job */
#define ATTENTION_ABOUT  26 /* numbers a cell */
#define ATTENTION_HEADS  4
#define ATTENTION_INPUTS (ATTENTION_ABOUT + 2 * ATTENTION_HEADS + 2)

struct infer;

struct attention {
    struct params *params; /* after a change of these: attention_repack() */
    struct set_reader alike;
    struct mlp cell;
    int none, gate; /* parameters: weight of no job; of the heads and the measurements */
    struct infer *alike_infer, *cell_infer; /* alike_infer: NULL unless feed-forward */
};

struct attention_residual {
    int job;  /* among the known ones */
    int cell; /* of the question; those of measured cells count on from `cells` */
    nn_real value;
};

/* One job and some of its cells. */
struct attention_case {
    int known, cells, shown;
    nn_real *alike;                       /* (known, ATTENTION_ALIKE) */
    nn_real *about;                       /* (cells, ATTENTION_ABOUT) */
    nn_real *centre;                      /* (cells) */
    nn_real *error;                       /* (shown) of the job's own measurements */
    nn_real *update;                      /* (cells, shown) how much of each counts */
    struct attention_residual *residuals; /* (residual_count) */
    size_t residual_count;
    nn_real *target; /* (cells) training only */
};

struct attention_guess {
    double mean, sd;
};

/* Random start; name ("p1", "p2") heads the parameters, kind says how known jobs are
 * read. */
struct attention *attention_create(const char *name, enum set_reader_kind kind,
                                   struct rng *rng);
void attention_destroy(struct attention *net); /* NULL is fine */
struct attention *attention_dup(const struct attention *net);
void attention_repack(struct attention *net);

void attention_case_fini(struct attention_case *c);

/* out (cells). */
void attention_answer(const struct attention *net, const struct attention_case *c,
                      struct attention_guess *out);

/* One step on some cases.  Returns the loss. */
struct attention_trainer;
struct attention_trainer *attention_trainer_create(struct attention *net, double rate,
                                                   int steps);
void attention_trainer_destroy(struct attention_trainer *trainer); /* NULL is fine */
double attention_train_step(struct attention_trainer *trainer,
                            struct attention_case *const *cases, size_t count);
/* The loss and its gradient, added to params->grad. */
double attention_gradient(struct attention_trainer *trainer,
                          struct attention_case *const *cases, size_t count);
