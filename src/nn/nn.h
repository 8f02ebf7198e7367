/* nn.h - the neural network library in one include
 *
 * params.h    the trained numbers: named matrices, seeded starts
 * tape.h      variables of one step and their gradients
 * linear.h    matrix products, dense layers        each operation with its gradient,
 * pointwise.h activations, sums, products          checked in double against finite
 * shape.h     picking and joining rows, columns    differences
 * rowwise.h   softmax, layer norm, masked mean
 * loss.h      Laplace, squared and absolute error
 * mlp.h       feed-forward network
 * gru.h, encoder.h, seqnet.h   recurrent and Transformer networks over padded tokens
 * adam.h      the optimizer
 * infer.h     predictions of a feed-forward network without a tape
 * weights.h   parameters as a file or in memory
 *
 * Training P1 (17-32-32-2) with a Laplace head, mu = column mean + 0.3 o1, log b =
 * o2 - 1.8:
 *
 *     struct params *params = params_create();
 *     struct tape *tape = tape_create();
 *     struct adam *adam;
 *     struct mlp net;
 *
 *     mlp_init(&net, params, "p1", (const int[]){17, 32, 32, 2}, 4, &rng);
 *     adam = adam_create(params, (struct adam_options){
 *         .learning_rate = 2e-3, .total_steps = 1200, .clip_norm = 5});
 *     for (int step = 0; step < 1200; step++) {
 *         ... fill features (batch, 17), base, target and weight (batch) ...
 *         tape_reset(tape);
 *         struct var *out =
 *             mlp_forward(&net, tape, params, tape_input(tape, batch, 17, features));
 *         struct var *mu = pointwise_add(
 *             tape, pointwise_affine(tape, shape_slice_cols(tape, out, 0, 1), 0.3f, 0),
 *             tape_input(tape, batch, 1, base));
 *         struct var *log_b =
 *             pointwise_affine(tape, shape_slice_cols(tape, out, 1, 1), 1, -1.8f);
 *         struct var *loss = loss_laplace(tape, mu, log_b, target, weight);
 *         tape_backward(tape, loss);
 *         adam_step(adam, params, loss->value[0]);
 *     }
 */
#ifndef CORGI_NN_NN_H
#define CORGI_NN_NN_H

#include "nn/adam.h"
#include "nn/infer.h"
#include "nn/linear.h"
#include "nn/loss.h"
#include "nn/mlp.h"
#include "nn/params.h"
#include "nn/pointwise.h"
#include "nn/shape.h"
#include "nn/tape.h"
#include "nn/weights.h"

#endif
