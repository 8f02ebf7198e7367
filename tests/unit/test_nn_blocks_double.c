/* test_nn_blocks_double.c - formulas and masks of the networks over tokens */
#include "base/mem.h"
#include "lab/nn/seqnet.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { SEQUENCES = 3, LENGTH = 4, TOKEN = 3, QUERY = 2 };

struct sample {
    struct seqnet seqnet;
    nn_real tokens[SEQUENCES * LENGTH * TOKEN];
    nn_real query[SEQUENCES * QUERY];
};

/* Padding at the end, in the middle, and a sequence of nothing else. */
static const nn_real mask[SEQUENCES * LENGTH] = {1, 1, 1, 0, 1, 0, 1, 1, 0, 0, 0, 0};

static void fill(struct sample *s, struct rng *rng)
{
    for (int i = 0; i < SEQUENCES * LENGTH * TOKEN; i++)
        s->tokens[i] = rng_normal(rng);
    for (int i = 0; i < SEQUENCES * QUERY; i++)
        s->query[i] = rng_normal(rng);
}

/* Nothing starts at 0 or 1, or an answer could be right by chance. */
static void stir(struct params *params, struct rng *rng)
{
    for (size_t i = 0; i < params->count; i++)
        params->value[i] += 0.3 * rng_normal(rng);
}

static struct var *seqnet_out(struct arena *arena, struct params *params,
                              struct sample *s)
{
    return seqnet_forward(&s->seqnet, arena, params,
                          (struct seqnet_batch){.sequences = SEQUENCES,
                                                .length = LENGTH,
                                                .tokens = s->tokens,
                                                .mask = mask,
                                                .query = s->query});
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

/* The state after two steps written out for one unit and one input; the head hands it on:
 * relu(h) - relu(-h). */
static void gru_follows_its_formula(void **state)
{
    struct params *params = params_create();
    struct arena *arena = arena_create();
    const nn_real tokens[2] = {0.7, -0.4}, here[2] = {1, 1}, query[1] = {0};
    struct seqnet net;
    struct rng rng;
    double h = 0;

    (void)state;
    rng_init(&rng, 4);
    seqnet_init(&net, params, "net",
                (struct seqnet_shape){.kind = SEQNET_GRU,
                                      .token_inputs = 1,
                                      .query_inputs = 1,
                                      .width = 1,
                                      .head = 2,
                                      .outputs = 1},
                &rng);
    stir(params, &rng);
    memcpy(params_value(params, net.head.layers[0].weight), (nn_real[]){1, -1, 0, 0},
           4 * sizeof(nn_real));
    memset(params_value(params, net.head.layers[0].bias), 0, 2 * sizeof(nn_real));
    memcpy(params_value(params, net.head.layers[1].weight), (nn_real[]){1, -1},
           2 * sizeof(nn_real));
    params_value(params, net.head.layers[1].bias)[0] = 0;
    for (int t = 0; t < 2; t++) {
        const nn_real *wx = params_value(params, net.gru.token.weight);
        const nn_real *bx = params_value(params, net.gru.token.bias);
        const nn_real *wh = params_value(params, net.gru.state.weight);
        const nn_real *bh = params_value(params, net.gru.state.bias);
        double x = tokens[t];
        double r = 1 / (1 + exp(-(x * wx[0] + bx[0] + h * wh[0] + bh[0])));
        double z = 1 / (1 + exp(-(x * wx[1] + bx[1] + h * wh[1] + bh[1])));
        double n = tanh(x * wx[2] + bx[2] + r * (h * wh[2] + bh[2]));

        h = (1 - z) * n + z * h;
    }
    assert_true(fabs(seqnet_forward(&net, arena, params,
                                    (struct seqnet_batch){.sequences = 1,
                                                          .length = 2,
                                                          .tokens = tokens,
                                                          .mask = here,
                                                          .query = query})
                         ->value[0] -
                     h) < 1e-12);
    arena_destroy(arena);
    params_destroy(params);
}

static void padding_never_reaches_the_answer(void **state)
{
    (void)state;
    for (int kind = SEQNET_GRU; kind <= SEQNET_TRANSFORMER; kind++) {
        struct sample s;
        struct params *params = seqnet_sample(&s, (enum seqnet_kind)kind);
        struct arena *arena = arena_create();
        struct var *before = seqnet_out(arena, params, &s), *after;

        for (int i = 0; i < SEQUENCES * LENGTH; i++)
            for (int j = 0; mask[i] == 0 && j < TOKEN; j++)
                s.tokens[i * TOKEN + j] = 100 + i;
        after = seqnet_out(arena, params, &s);
        for (size_t i = 0; i < var_count(after); i++)
            assert_true(fabs(after->value[i] - before->value[i]) < 1e-12);
        s.tokens[0] += 1;
        after = seqnet_out(arena, params, &s);
        assert_true(fabs(after->value[0] - before->value[0]) > 1e-6);
        arena_destroy(arena);
        params_destroy(params);
    }
}

static void transformer_ignores_the_order_of_tokens(void **state)
{
    struct sample s;
    struct params *params = seqnet_sample(&s, SEQNET_TRANSFORMER);
    struct arena *arena = arena_create();
    struct var *before = seqnet_out(arena, params, &s), *after;

    (void)state;
    for (int j = 0; j < TOKEN; j++) {
        nn_real kept = s.tokens[j];

        s.tokens[j] = s.tokens[2 * TOKEN + j];
        s.tokens[2 * TOKEN + j] = kept;
    }
    after = seqnet_out(arena, params, &s);
    for (size_t i = 0; i < var_count(after); i++)
        assert_true(fabs(after->value[i] - before->value[i]) < 1e-12);
    arena_destroy(arena);
    params_destroy(params);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gru_follows_its_formula),
        cmocka_unit_test(padding_never_reaches_the_answer),
        cmocka_unit_test(transformer_ignores_the_order_of_tokens),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
