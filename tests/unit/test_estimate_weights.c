/* test_estimate_weights.c - the shipped networks, and a short training of new ones */
#include "lab/eval/train_data.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

static double error_of(const struct statnet *net, const struct train_data *data)
{
    struct statnet_guess *out = calloc(data->count, sizeof(*out));
    double sum = 0;

    assert_non_null(out);
    statnet_predict(net, data->rows, data->count, out);
    for (size_t i = 0; i < data->count; i++) {
        assert_true(isfinite(out[i].mean) && out[i].sd > 0);
        sum += fabs(out[i].mean - (double)data->rows[i].target);
    }
    free(out);
    return sum / (double)data->count;
}

static double start_error(const struct train_data *data)
{
    double sum = 0;

    for (size_t i = 0; i < data->count; i++)
        sum += fabs((double)(data->rows[i].base - data->rows[i].target));
    return sum / (double)data->count;
}

static void shipped_networks_beat_shrunk_means_on_new_worlds(void **state)
{
    const char *const names[] = {"p1", "p2"};

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct statnet *net = statnet_shipped(names[i]);
        struct train_data data;

        train_data_init(&data, 40, i == 0, 999, NULL);
        assert_true(error_of(net, &data) < 0.85 * start_error(&data));
        train_data_fini(&data);
        statnet_destroy(net);
    }
}

static void the_network_of_rates_alone_beats_what_it_corrects_on_new_worlds(void **state)
{
    struct statnet *net = statnet_shipped("alone");
    struct train_data data;

    (void)state;
    train_alone_init(&data, 40, 999, NULL);
    assert_true(data.count > 500);
    assert_true(error_of(net, &data) < 0.85 * start_error(&data));
    train_data_fini(&data);
    statnet_destroy(net);
}

static void a_short_training_lowers_the_error(void **state)
{
    struct statnet *net;
    struct statnet_trainer *trainer;
    struct train_data data;
    struct rng rng;
    double before;

    (void)state;
    rng_init(&rng, 5);
    net = statnet_create("p2", &rng);
    train_data_init(&data, 20, false, 5, NULL);
    assert_true(data.count > 256);
    before = error_of(net, &data);
    trainer = statnet_trainer_create(net, 2e-3, 200);
    for (int t = 0; t < 200; t++)
        statnet_train_step(trainer, data.rows + rng_below(&rng, data.count - 256), 256);
    statnet_repack(net);
    assert_true(error_of(net, &data) < 0.9 * before);
    statnet_trainer_destroy(trainer);
    train_data_fini(&data);
    statnet_destroy(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shipped_networks_beat_shrunk_means_on_new_worlds),
        cmocka_unit_test(the_network_of_rates_alone_beats_what_it_corrects_on_new_worlds),
        cmocka_unit_test(a_short_training_lowers_the_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
