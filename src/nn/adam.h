/* adam.h - Adam with cosine decay, clipping and a guard against broken steps
 *
 *     struct adam *adam = adam_create(params, (struct adam_options){
 *         .learning_rate = 2e-3, .total_steps = 1200});
 *
 * A field left 0 takes the default below. */
#ifndef CORGI_NN_ADAM_H
#define CORGI_NN_ADAM_H

#include "nn/params.h"

#include <stdbool.h>

struct adam_options {
    double learning_rate; /* 1e-3 */
    long total_steps;   /* the rate falls on a half cosine over so many steps and stays at
                           its end; 0: it does not fall */
    double final_share; /* of the learning rate at the end of the cosine, 0 */
    double clip_norm;   /* longest gradient, all parameters together; 0: any */
    double beta1, beta2; /* 0.9, 0.999 */
    double epsilon;      /* 1e-8 */
};

struct adam;

struct adam *adam_create(const struct params *params, struct adam_options options);
void adam_destroy(struct adam *adam); /* NULL is fine */

/* Move params against their gradient and zero it.  False when loss or gradient was not
 * finite: the step is counted as skipped, nothing but the gradient changes. */
bool adam_step(struct adam *adam, struct params *params, double loss);

/* Start a new schedule with these options and forget the moments; skipped stays. */
void adam_restart(struct adam *adam, struct adam_options options);

long adam_steps(const struct adam *adam); /* taken */
long adam_skipped(const struct adam *adam);
double adam_rate(const struct adam *adam); /* learning rate of the next step */

#endif
