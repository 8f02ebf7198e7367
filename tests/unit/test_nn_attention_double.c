/* test_nn_attention_double.c - the gradient of the network behind P1 and P2, in double */
#include "base/mem.h"
#include "nn/attention.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

enum { KNOWN = 5, CELLS = 6, SHOWN = 2, CASES = 3 };

#define STEP 1e-6

static nn_real *draw(struct rng *rng, size_t count, double scale)
{
    nn_real *x = mem_array(nn_real, count + 1);

    for (size_t i = 0; i < count; i++)
        x[i] = scale * rng_normal(rng);
    return x;
}

/* shown 0: as P1 sees it.  Some cells have no residual, some jobs several. */
static void draw_case(struct attention_case *c, int shown, struct rng *rng)
{
    *c = (struct attention_case){
        .known = KNOWN,
        .cells = CELLS,
        .shown = shown,
        .alike = draw(rng, KNOWN * ATTENTION_ALIKE, 0.6),
        .about = draw(rng, CELLS * ATTENTION_ABOUT, 0.6),
        .centre = draw(rng, CELLS, 0.3),
        .error = draw(rng, (size_t)shown, 0.3),
        .update = draw(rng, (size_t)(CELLS * shown), 0.4),
        .target = draw(rng, CELLS, 0.4),
        .residuals = mem_array(struct attention_residual, KNOWN * (CELLS + SHOWN)),
    };
    for (int r = 0; r < KNOWN; r++)
        for (int q = 0; q < CELLS + shown; q++)
            if ((r + q) % 3 && q != 1)
                c->residuals[c->residual_count++] =
                    (struct attention_residual){r, q, 0.5 * rng_normal(rng)};
}

static void check_gradient(enum set_reader_kind kind)
{
    struct attention_case cases[CASES], *batch[CASES];
    struct attention_trainer *trainer;
    struct attention *net;
    nn_real *gradient;
    struct rng rng;
    double largest = 0;

    rng_init(&rng, 3);
    net = attention_create("p2", kind, &rng);
    for (size_t i = 0; i < net->params->count; i++)
        net->params->value[i] += 0.2 * rng_normal(&rng);
    for (int i = 0; i < CASES; i++) {
        draw_case(&cases[i], i ? SHOWN : 0, &rng);
        batch[i] = &cases[i];
    }
    trainer = attention_trainer_create(net, 1e-3, 0);
    params_zero_grad(net->params);
    attention_gradient(trainer, batch, CASES);
    gradient = mem_dup(net->params->grad, net->params->count, sizeof(nn_real));
    for (size_t i = 0; i < net->params->count; i += i < 2000 ? 7 : 1) {
        nn_real kept = net->params->value[i];
        double above, below, numeric;

        net->params->value[i] = kept + STEP;
        above = attention_gradient(trainer, batch, CASES);
        net->params->value[i] = kept - STEP;
        below = attention_gradient(trainer, batch, CASES);
        net->params->value[i] = kept;
        numeric = (above - below) / (2 * STEP);
        if (!(fabs(numeric - gradient[i]) < 1e-4 * (1e-2 + fabs(numeric))))
            fail_msg("%s, parameter %zu: %.10g, by differences %.10g",
                     set_reader_names[kind], i, gradient[i], numeric);
        largest = fmax(largest, fabs(gradient[i]));
    }
    assert_true(largest > 1e-2);
    free(gradient);
    for (int i = 0; i < CASES; i++)
        attention_case_fini(&cases[i]);
    attention_trainer_destroy(trainer);
    attention_destroy(net);
}

static void gradients_are_those_of_finite_differences(void **state)
{
    (void)state;
    for (int kind = 0; kind < SET_READER_KINDS; kind++)
        check_gradient((enum set_reader_kind)kind);
}

static void without_known_jobs_there_is_an_answer(void **state)
{
    struct attention_guess out[CELLS];
    struct attention_case c;
    struct attention *net;
    struct rng rng;

    (void)state;
    rng_init(&rng, 4);
    draw_case(&c, 0, &rng);
    c.known = 0;
    c.residual_count = 0;
    for (int kind = 0; kind < SET_READER_KINDS; kind++) {
        net = attention_create("p1", (enum set_reader_kind)kind, &rng);
        attention_answer(net, &c, out);
        for (int q = 0; q < CELLS; q++)
            assert_true(isfinite(out[q].mean) && out[q].sd > 0);
        attention_destroy(net);
    }
    attention_case_fini(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_are_those_of_finite_differences),
        cmocka_unit_test(without_known_jobs_there_is_an_answer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
