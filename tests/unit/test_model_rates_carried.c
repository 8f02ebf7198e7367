/* test_model_rates_carried.c - rates carried over by the network, and what that is worth
 */
#include "base/rng.h"
#include "model/rates.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

enum { SLOW, MIDDLE, FAST, TYPES };

/* A catalogue of jobs that gain what the sheets promise, and one new job. */
static struct rates *create(int *asked)
{
    struct kernel_params params;
    struct rates *r;

    kernel_default(&params);
    r = rates_create(&params);
    for (int g = 0; g < TYPES; g++)
        rates_add_gpu(r, &(struct gpu_trait){g - 1.0, 0.8 * g - 0.8});
    for (int j = 0; j < 6; j++) {
        int job = rates_add_job(r, &(struct job_trait){j, 2.5, 7.5 + 0.1 * j, 0});

        for (int g = 0; g < TYPES; g++)
            rates_observe(r, job, g, 1 + 0.7 * g - 0.3 * j);
    }
    *asked = rates_add_job(r, &(struct job_trait){9, 2.5, 8, 0});
    return r;
}

static void a_device_that_idles_promises_less_from_a_faster_one(void **state)
{
    int asked;
    struct rates *r = create(&asked);
    struct rates_guess busy, idle;

    (void)state;
    rates_observe(r, asked, SLOW, 1);
    rates_observe_busy(r, asked, SLOW, 0.95);
    busy = rates_predict(r, asked, FAST);
    rates_observe_busy(r, asked, SLOW, 0.1); /* it waits for its host */
    idle = rates_predict(r, asked, FAST);
    assert_true(busy.corrected && idle.corrected);
    assert_true(idle.net.mean < busy.net.mean - 0.2);
    assert_true(idle.mean < busy.mean - 0.1);
    assert_true(isfinite(idle.sd) && idle.sd > 0);
    rates_destroy(r);
}

static void without_a_draw_the_network_has_no_say(void **state)
{
    int asked;
    struct rates *r = create(&asked);
    struct statnet_row row;
    struct rates_guess g;

    (void)state;
    rates_observe(r, asked, SLOW, 1);
    g = rates_predict(r, asked, FAST);
    assert_false(g.corrected);
    assert_true(g.mean == g.plain.mean && g.sd == g.plain.sd);
    assert_false(rates_transfer_row(r, asked, FAST, &row));
    rates_observe_busy(r, asked, SLOW, 0.5);
    assert_true(rates_transfer_row(r, asked, FAST, &row));
    assert_false(rates_transfer_row(r, asked, SLOW, &row)); /* measured */
    for (int i = 0; i < STATNET_INPUTS; i++)
        assert_true(fabsf(row.x[i]) <= 4);
    rates_destroy(r);
}

static void weights_move_between_the_parts(void **state)
{
    int asked;
    struct rates *r = create(&asked);
    struct rates_guess g;

    (void)state;
    rates_observe(r, asked, SLOW, 1);
    rates_observe_busy(r, asked, SLOW, 0.1);
    r->weight = 0;
    g = rates_predict(r, asked, FAST);
    assert_true(g.mean == g.plain.mean);
    r->weight = 1;
    g = rates_predict(r, asked, FAST);
    assert_true(g.mean == g.net.mean && g.sd == g.net.sd);
    rates_mix(&g, 0.5);
    assert_true(fabs(g.mean - (g.plain.mean + g.net.mean) / 2) < 1e-12);
    rates_destroy(r);
}

/* A network that is off by this much, where the rest is right, or the other way round. */
static double weight_after(int cells, double plain_off, double net_off)
{
    struct rates_evidence evidence = {0};

    for (int i = 0; i < cells; i++) {
        struct rates_guess g = {
            .corrected = true, .plain = {plain_off, 0.1}, .net = {net_off, 0.1}};

        rates_evidence_add(&evidence, &g, 0, i % 2 == 0);
    }
    return rates_evidence_weight(&evidence);
}

static void evidence_moves_the_weight(void **state)
{
    (void)state;
    assert_true(weight_after(0, 0, 0) == 0.5);
    assert_true(weight_after(40, 0, 0.4) < 0.11);
    assert_true(weight_after(40, 0.4, 0) > 0.89);
    assert_true(weight_after(40, 0.2, 0.2) == 0.5);
    /* Little of it moves little: a gain of three points from two jobs is chance. */
    assert_true(weight_after(4, 0.03, 0) == 0.5);
}

static void one_absurd_guess_does_not_decide(void **state)
{
    struct rates_evidence evidence = {0};
    struct rates_guess good = {.corrected = true, .plain = {0.3, 1}, .net = {0, 1}};
    struct rates_guess absurd = {.corrected = true, .plain = {0, 1}, .net = {20, 1}};

    (void)state;
    rates_evidence_add(&evidence, &absurd, 0, true);
    for (int i = 0; i < 40; i++)
        rates_evidence_add(&evidence, &good, 0, true);
    assert_true(rates_evidence_weight(&evidence) > 0.7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_device_that_idles_promises_less_from_a_faster_one),
        cmocka_unit_test(without_a_draw_the_network_has_no_say),
        cmocka_unit_test(weights_move_between_the_parts),
        cmocka_unit_test(evidence_moves_the_weight),
        cmocka_unit_test(one_absurd_guess_does_not_decide),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
