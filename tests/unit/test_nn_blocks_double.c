/* test_nn_blocks_double.c - gradients and masks of whole networks */
#include "base/mem.h"
#include "support/gradcheck.h"
#include "nn/nn.h"
#include "lab/nn/encoder.h"
#include "lab/nn/gru.h"
#include "lab/nn/rowwise.h"
#include "lab/nn/seqnet.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

enum { SEQUENCES = 3, LENGTH = 4, TOKEN = 3, QUERY = 2 };

struct sample {
    struct seqnet seqnet;
    struct mlp mlp;
    nn_real tokens[SEQUENCES * LENGTH * TOKEN];
    nn_real query[SEQUENCES * QUERY];
    nn_real target[SEQUENCES];
};

/* Padding at the end, in the middle, and a sequence of nothing else. */
static const nn_real mask[SEQUENCES * LENGTH] = {1, 1, 1, 0, 1, 0, 1, 1, 0, 0, 0, 0};

static void fill(struct sample *s, struct rng *rng)
{
    for (int i = 0; i < SEQUENCES * LENGTH * TOKEN; i++)
        s->tokens[i] = rng_normal(rng);
    for (int i = 0; i < SEQUENCES * QUERY; i++)
        s->query[i] = rng_normal(rng);
    for (int i = 0; i < SEQUENCES; i++)
        s->target[i] = rng_normal(rng);
}

/* Nothing starts at 0 or 1, or a gradient could be right by chance. */
static void stir(struct params *params, struct rng *rng)
{
    for (size_t i = 0; i < params->count; i++)
        params->value[i] += 0.3 * rng_normal(rng);
}

static void check(struct params *params, gradcheck_loss *loss, struct sample *s)
{
    struct gradcheck seen = gradcheck_run(params, loss, s, 1e-5);

    if (!(seen.worst < 1e-6))
        printf("gradient %zu: %.12g, by differences %.12g\n", seen.at, seen.analytic,
               seen.numeric);
    assert_true(seen.worst < 1e-6);
    assert_true(seen.largest > 1e-2);
}

/* The width is kept away from the narrowest one believed in, where the loss has a kink.
 */
static struct var *laplace_head(struct tape *tape, struct var *out, struct sample *s)
{
    struct var *log_width =
        pointwise_affine(tape, shape_slice_cols(tape, out, 1, 1), 0.3, -0.2);

    return loss_laplace(tape, shape_slice_cols(tape, out, 0, 1), log_width, s->target,
                        NULL);
}

static struct var *mlp_loss(struct tape *tape, struct params *params, void *arg)
{
    struct sample *s = arg;
    struct var *x = tape_input(tape, SEQUENCES, QUERY, s->query);

    return laplace_head(tape, mlp_forward(&s->mlp, tape, params, x), s);
}

static void mlp_gradient_matches_differences(void **state)
{
    struct params *params = params_create();
    struct sample s;
    struct rng rng;

    (void)state;
    rng_init(&rng, 1);
    fill(&s, &rng);
    mlp_init(&s.mlp, params, "mlp", (const int[]){QUERY, 5, 4, 2}, 4, &rng);
    stir(params, &rng);
    check(params, mlp_loss, &s);
    params_destroy(params);
}

static struct var *seqnet_out(struct tape *tape, struct params *params, struct sample *s)
{
    return seqnet_forward(&s->seqnet, tape, params,
                          (struct seqnet_batch){.sequences = SEQUENCES,
                                                .length = LENGTH,
                                                .tokens = s->tokens,
                                                .mask = mask,
                                                .query = s->query});
}

static struct var *seqnet_loss(struct tape *tape, struct params *params, void *arg)
{
    struct sample *s = arg;

    return laplace_head(tape, seqnet_out(tape, params, s), s);
}

static struct params *seqnet_sample(struct sample *s, enum seqnet_kind kind)
{
    struct params *params = params_create();
    struct rng rng;

    rng_init(&rng, 2);
    fill(s, &rng);
    seqnet_init(&s->seqnet, params, "net",
                (struct seqnet_shape){.kind = kind,
                                      .token_inputs = TOKEN,
                                      .query_inputs = QUERY,
                                      .width = 4,
                                      .heads = 2,
                                      .inner = 5,
                                      .head = 4,
                                      .outputs = 2},
                &rng);
    stir(params, &rng);
    return params;
}

static void seqnet_gradient(enum seqnet_kind kind)
{
    struct sample s;
    struct params *params = seqnet_sample(&s, kind);

    check(params, seqnet_loss, &s);
    params_destroy(params);
}

static void gru_gradient_matches_differences(void **state)
{
    (void)state;
    seqnet_gradient(SEQNET_GRU);
}

static void transformer_gradient_matches_differences(void **state)
{
    (void)state;
    seqnet_gradient(SEQNET_TRANSFORMER);
}

/* The state after two steps written out for one unit and one input. */
static void gru_follows_its_formula(void **state)
{
    struct params *params = params_create();
    struct tape *tape = tape_create();
    const nn_real tokens[2] = {0.7, -0.4};
    struct gru gru;
    struct rng rng;
    double h = 0;

    (void)state;
    rng_init(&rng, 4);
    gru_init(&gru, params, "gru", 1, 1, &rng);
    stir(params, &rng);
    for (int t = 0; t < 2; t++) {
        const nn_real *wx = params_value(params, gru.token.weight);
        const nn_real *bx = params_value(params, gru.token.bias);
        const nn_real *wh = params_value(params, gru.state.weight);
        const nn_real *bh = params_value(params, gru.state.bias);
        double x = tokens[t];
        double r = 1 / (1 + exp(-(x * wx[0] + bx[0] + h * wh[0] + bh[0])));
        double z = 1 / (1 + exp(-(x * wx[1] + bx[1] + h * wh[1] + bh[1])));
        double n = tanh(x * wx[2] + bx[2] + r * (h * wh[2] + bh[2]));

        h = (1 - z) * n + z * h;
    }
    assert_true(
        fabs(gru_forward(&gru, tape, params, tape_input(tape, 2, 1, tokens), NULL, 1)
                 ->value[0] -
             h) < 1e-12);
    tape_destroy(tape);
    params_destroy(params);
}

static void padding_never_reaches_the_answer(void **state)
{
    (void)state;
    for (int kind = SEQNET_GRU; kind <= SEQNET_TRANSFORMER; kind++) {
        struct sample s;
        struct params *params = seqnet_sample(&s, (enum seqnet_kind)kind);
        struct tape *tape = tape_create();
        struct var *before = seqnet_out(tape, params, &s), *after;

        for (int i = 0; i < SEQUENCES * LENGTH; i++)
            for (int j = 0; mask[i] == 0 && j < TOKEN; j++)
                s.tokens[i * TOKEN + j] = 100 + i;
        after = seqnet_out(tape, params, &s);
        for (size_t i = 0; i < var_count(after); i++)
            assert_true(fabs(after->value[i] - before->value[i]) < 1e-12);
        s.tokens[0] += 1;
        after = seqnet_out(tape, params, &s);
        assert_true(fabs(after->value[0] - before->value[0]) > 1e-6);
        tape_destroy(tape);
        params_destroy(params);
    }
}

static void transformer_ignores_the_order_of_tokens(void **state)
{
    struct sample s;
    struct params *params = seqnet_sample(&s, SEQNET_TRANSFORMER);
    struct tape *tape = tape_create();
    struct var *before = seqnet_out(tape, params, &s), *after;

    (void)state;
    for (int j = 0; j < TOKEN; j++) {
        nn_real kept = s.tokens[j];

        s.tokens[j] = s.tokens[2 * TOKEN + j];
        s.tokens[2 * TOKEN + j] = kept;
    }
    after = seqnet_out(tape, params, &s);
    for (size_t i = 0; i < var_count(after); i++)
        assert_true(fabs(after->value[i] - before->value[i]) < 1e-12);
    tape_destroy(tape);
    params_destroy(params);
}

static void softmax_rows_sum_to_one_or_nothing(void **state)
{
    struct tape *tape = tape_create();
    const nn_real x[6] = {1000, 999, -1000, 3, 2, 1};
    const nn_real only_second[6] = {1, 1, 1, 0, 0, 0};
    struct var *y = rowwise_softmax(tape, tape_input(tape, 2, 3, x), only_second, 2);

    (void)state;
    assert_true(fabs(y->value[0] - 1 / (1 + exp(-1))) < 1e-12);
    assert_true(fabs(y->value[0] + y->value[1] + y->value[2] - 1) < 1e-12);
    for (int j = 3; j < 6; j++)
        assert_true(y->value[j] == 0);
    tape_destroy(tape);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mlp_gradient_matches_differences),
        cmocka_unit_test(gru_gradient_matches_differences),
        cmocka_unit_test(transformer_gradient_matches_differences),
        cmocka_unit_test(gru_follows_its_formula),
        cmocka_unit_test(padding_never_reaches_the_answer),
        cmocka_unit_test(transformer_ignores_the_order_of_tokens),
        cmocka_unit_test(softmax_rows_sum_to_one_or_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
