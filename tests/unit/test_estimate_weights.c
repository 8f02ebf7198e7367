/* test_estimate_weights.c - the shipped networks, and a short training of new ones */
#include "lab/eval/train_pairs.h"
#include "model/p2.h"

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

static double error_of_games(const struct attention *net, const struct train_games *games,
                             double *start)
{
    double sum = 0, cells = 0;

    *start = 0;
    for (size_t i = 0; i < games->count; i++) {
        const struct attention_case *c = games->cases[i];
        struct attention_guess *out = calloc((size_t)c->cells, sizeof(*out));

        assert_non_null(out);
        attention_answer(net, c, out);
        for (int q = 0; q < c->cells; q++) {
            assert_true(isfinite(out[q].mean) && out[q].sd > 0);
            sum += fabs(out[q].mean - (double)c->target[q]);
            *start += fabs((double)(c->centre[q] - c->target[q]));
            cells++;
        }
        free(out);
    }
    *start /= cells;
    return sum / cells;
}

static void p1_and_p2_beat_column_means_on_new_worlds(void **state)
{
    (void)state;
    for (int refined = 0; refined < 2; refined++) {
        struct train_games games;

        train_games_init(&games, 40, refined, 999, NULL);
        for (int kind = 0; kind < SET_READER_KINDS; kind++) {
            struct attention *net = refined ? p2_shipped((enum set_reader_kind)kind)
                                            : p1_shipped((enum set_reader_kind)kind);
            double start, error = error_of_games(net, &games, &start);

            assert_true(error < (refined ? 0.7 : 0.85) * start);
            attention_destroy(net);
        }
        train_games_fini(&games);
    }
}

static void the_network_of_rates_alone_beats_what_it_corrects_on_new_worlds(void **state)
{
    struct statnet *net = statnet_shipped();
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
    struct attention_trainer *trainer;
    struct train_games games;
    struct attention *net;
    double before, start;
    struct rng rng;

    (void)state;
    rng_init(&rng, 5);
    net = attention_create("p2", SET_READER_FF, &rng);
    train_games_init(&games, 20, true, 5, NULL);
    assert_true(games.count > 32);
    before = error_of_games(net, &games, &start);
    trainer = attention_trainer_create(net, 2e-3, 200);
    for (int t = 0; t < 200; t++)
        attention_train_step(trainer, games.cases + rng_below(&rng, games.count - 16),
                             16);
    attention_repack(net);
    assert_true(error_of_games(net, &games, &start) < 0.9 * before);
    attention_trainer_destroy(trainer);
    train_games_fini(&games);
    attention_destroy(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(p1_and_p2_beat_column_means_on_new_worlds),
        cmocka_unit_test(the_network_of_rates_alone_beats_what_it_corrects_on_new_worlds),
        cmocka_unit_test(a_short_training_lowers_the_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
