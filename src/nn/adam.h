/* adam.h - Adam with cosine decay, clipping and a guard against broken steps
 *
 *     struct adam *adam = adam_create(params, (struct adam_options){
 *         .learning_rate = 2e-3, .total_steps = 1200}); */
#pragma once

#include "nn/params.h"

#include <stdbool.h>

struct adam_options {
    double learning_rate;
    long total_steps; /* the rate falls to 0 on a half cosine over so many steps; 0: it
                         does not fall */
    double clip_norm; /* longest gradient, all parameters together; 0: any */
};

struct adam;

struct adam *adam_create(const struct params *params, struct adam_options options);
void adam_destroy(struct adam *adam); /* NULL is fine */

/* Move params against their gradient and zero it.  False when loss or gradient was not
 * finite: the step is not taken, nothing but the gradient changes. */
bool adam_step(struct adam *adam, struct params *params, double loss);

double adam_rate(const struct adam *adam); /* learning rate of the next step */
