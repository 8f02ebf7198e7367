/* test_model_pairs.c - pairs: what is left out, what is forgotten, who answers */
#include "base/mem.h"
#include "model/learned_lesson.h"
#include "model/pairs_game.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

enum { KINDS = 8, CARDS = 2 };

static struct pairs *create(void)
{
    struct pairs *p = pairs_create();

    for (int g = 0; g < CARDS; g++)
        pairs_add_gpu(p, &(struct gpu_trait){g, g});
    for (int j = 0; j < KINDS; j++) {
        double rates[CARDS] = {0.3 * j, 0.2 * j + 0.1 * (j % 3)};

        pairs_add_job(p, &(struct job_trait){j / 2, 2 + j % 3, 7 + 0.2 * j, 0});
        if (j != 5)
            pairs_set_rates(p, j, rates);
    }
    return p;
}

static double value_of(int a, int b, int gpu)
{
    return -0.2 - 0.1 * a - 0.07 * b - 0.05 * gpu - 0.02 * ((a * b) % 3);
}

static void see_all(struct pairs *p)
{
    for (int g = 0; g < CARDS; g++)
        for (int a = 0; a < KINDS; a++)
            for (int b = 0; b < KINDS; b++)
                if (a != b)
                    pairs_put(p, (struct cell){a, g, b}, value_of(a, b, g), 0.001);
}

static void of_too_many_those_that_tell_least_go(void **state)
{
    struct pairs *p = create();
    int idle = 0, here = 0;
    struct pairs_guess g;

    (void)state;
    p->limit = 60;
    for (int j = 4; j < KINDS; j++)
        p->idle.items[j] = true;
    see_all(p);
    pairs_settle(p);
    assert_true(p->core->count <= 60);
    assert_true(p->core->count >= 45); /* a quarter goes at a time */
    for (size_t i = 0; i < p->core->count; i++) {
        struct cell cell = p->core->cells[i];
        size_t at;

        /* What is left is found, with the value it had. */
        assert_true(map_get(p->index, cell_key(cell), &at));
        assert_int_equal(at, i);
        assert_float_equal(p->core->values[i], value_of(cell.job, cell.other, cell.gpu),
                           1e-9);
        if (cell.job < 4 && cell.other < 4)
            here++;
        else
            idle++;
    }
    /* 24 of 112 cells are of jobs that are here: they are kept more often. */
    assert_true((double)here / 24 > (double)idle / 88);
    pairs_predict(p, &(struct cell){1, 1, 2}, 1, &g);
    assert_true(fabs(g.mean - value_of(1, 2, 1)) < 0.15);
    pairs_destroy(p);
}

/* What a cell is answered does not depend on what else is asked. */
static void a_cell_is_answered_alike_alone_and_among_others(void **state)
{
    struct pairs *p = create();
    struct cell cells[KINDS * (KINDS - 1)];
    struct pairs_guess all[KINDS * (KINDS - 1)], one;
    size_t count = 0;

    (void)state;
    pairs_put(p, (struct cell){0, 0, 1}, -0.4, 0.001); /* only one job was measured */
    pairs_put(p, (struct cell){0, 1, 2}, -0.6, 0.001);
    pairs_settle(p);
    for (int a = 0; a < KINDS; a++)
        for (int b = 0; b < KINDS; b++)
            if (a != b)
                cells[count++] = (struct cell){a, 0, b};
    pairs_predict(p, cells, count, all);
    for (size_t i = 0; i < count; i++) {
        pairs_predict(p, &cells[i], 1, &one);
        assert_float_equal(all[i].mean, one.mean, 1e-6);
        assert_float_equal(all[i].sd, one.sd, 1e-6);
        one = pairs_predict_guest(p, &(struct gp_guests){NULL, 0}, cells[i]);
        assert_float_equal(all[i].mean, one.mean, 1e-6);
    }
    pairs_destroy(p);
}

static void study(struct pairs *p)
{
    struct learned_lesson *lesson = learned_lesson_begin(p, 1);

    learned_lesson_study(lesson);
    learned_lesson_end(lesson, p);
}

enum { NEW = 7 };

/* Everything but a job, and a lesson on it. */
static struct pairs *without_new(void)
{
    struct pairs *p = create();

    for (int g = 0; g < CARDS; g++)
        for (int a = 0; a < NEW; a++)
            for (int b = 0; b < NEW; b++)
                pairs_put(p, (struct cell){a, g, b}, value_of(a, b, g), 0);
    pairs_settle(p);
    study(p);
    return p;
}

static size_t cells_of_new(struct cell *cells)
{
    size_t count = 0;

    for (int g = 0; g < CARDS; g++)
        for (int k = 0; k < NEW; k++) {
            cells[count++] = (struct cell){NEW, g, k};
            cells[count++] = (struct cell){k, g, NEW};
        }
    return count;
}

/* What `corgi eval` measures is what the daemon answers. */
static void a_game_answers_as_measuring_does(void **state)
{
    struct cell cells[2 * CARDS * NEW];
    size_t count = cells_of_new(cells), asked[2 * CARDS * NEW];
    const size_t seen[6] = {4, 5, 9, 16, 17, 21};
    struct pairs_guess played[2 * CARDS * NEW], told[2 * CARDS * NEW];

    (void)state;
    for (size_t i = 0; i < count; i++)
        asked[i] = i;
    for (size_t shown = 0; shown <= 6; shown++) {
        struct pairs *p = without_new();
        struct pairs_game *game = pairs_game_create(p, NEW, cells, count);
        double values[6];

        for (size_t i = 0; i < shown; i++)
            values[i] =
                value_of(cells[seen[i]].job, cells[seen[i]].other, cells[seen[i]].gpu) -
                0.05;
        pairs_game_play(game, seen, values, shown, asked, count, played, NULL);
        pairs_game_destroy(game);
        for (size_t i = 0; i < shown; i++)
            pairs_put(p, cells[seen[i]], values[i], 0);
        pairs_settle(p);
        pairs_predict(p, cells, count, told);
        for (size_t i = 0; i < count; i++) {
            if (told[i].times > 0)
                continue;
            assert_float_equal(played[i].mean, told[i].mean, 1e-5);
            assert_float_equal(played[i].low, told[i].low, 1e-5);
            assert_float_equal(played[i].sd, told[i].sd, 1e-5);
        }
        pairs_destroy(p);
    }
}

/* A new family's job that was measured far below its column: how far is noticed, and one
 * above is not taken for odd. */
static void a_row_far_below_the_others_is_noticed(void **state)
{
    struct cell seen = {NEW, 0, 2};

    (void)state;
    for (int d = -1; d <= 1; d++) {
        struct pairs *p = without_new();
        struct pair_catalogue from;
        struct pair_sight *v;

        pairs_put(p, seen, fmin(value_of(3, 2, 0) + 2.0 * d, 0), 0);
        pairs_settle(p);
        from = pairs_catalogue(p, NULL);
        v = pair_view_create(&from, NEW, NULL);
        if (d < 0)
            assert_true(pair_moments_below(v) > 4);
        else
            assert_true(pair_moments_below(v) < 2);
        pair_view_destroy(v);
        pairs_destroy(p);
    }
}

/* Widths come from games with jobs as if they had not been measured: they must not know
 * anything of them. */
static void a_job_held_out_was_never_measured(void **state)
{
    struct pairs *p = without_new(), *more = without_new();
    bool hidden[KINDS] = {false};
    double *fitted, *plain;
    const double *values;
    const struct cell *cells;
    struct pairs_game *game, *held;
    struct pairs_held out;
    struct pairs_guess told[2 * CARDS * NEW], played[2 * CARDS * NEW];
    size_t count, n, asked[2 * CARDS * NEW];

    (void)state;
    for (int g = 0; g < CARDS; g++)
        for (int k = 0; k < NEW; k++) {
            pairs_put(more, (struct cell){NEW, g, k}, -0.5 - 0.1 * k, 0);
            pairs_put(more, (struct cell){k, g, NEW}, -0.9 + 0.1 * k, 0);
        }
    pairs_settle(more);
    n = more->core->count;
    fitted = mem_array(double, n *n);
    plain = mem_array(double, n *n);
    gp_precision(more->core, fitted);
    gp_precision(more->plain, plain);
    hidden[NEW] = true;
    assert_int_equal(pairs_held_init(&out, more, fitted, plain, hidden), 0);
    held = pairs_game_of_held(&out, NEW);
    cells = pairs_game_cells(held, &count, &values);
    assert_int_equal(count, 2 * CARDS * NEW);
    for (size_t i = 0; i < count; i++)
        asked[i] = i;
    game = pairs_game_create(p, NEW, cells, count);
    pairs_game_play(held, asked, values, 2, asked, count, played, NULL);
    pairs_game_play(game, asked, values, 2, asked, count, told, NULL);
    for (size_t i = 2; i < count; i++) {
        assert_float_equal(played[i].mean, told[i].mean, 1e-5);
        assert_float_equal(played[i].sd, told[i].sd, 1e-5);
    }
    pairs_game_destroy(held);
    pairs_game_destroy(game);
    pairs_held_fini(&out);
    free(fitted);
    free(plain);
    pairs_destroy(p);
    pairs_destroy(more);
}

static void rows_are_the_cells_of_the_less_known_job(void **state)
{
    struct pairs *p = without_new();
    struct pairs_guess row[KINDS * PAIR_KINDS * CARDS], one;
    double sd[KINDS * PAIR_KINDS * CARDS];

    (void)state;
    pairs_put(p, (struct cell){NEW, 0, 2}, -0.7, 0);
    pairs_settle(p);
    for (int widths = 1; widths >= 0; widths--) { /* the second time sds are kept */
        pairs_renew_row(p, NEW, 0, KINDS, widths, sd, row);
        for (int k = 0; k < NEW; k++)
            for (int g = 0; g < CARDS; g++)
                for (int kind = 0; kind < PAIR_KINDS; kind++) {
                    struct cell own = {NEW, g, k}, effect = {k, g, NEW};
                    struct cell cell = kind == PAIR_OWN ? own : effect;
                    const struct pairs_guess *r =
                        &row[(k * PAIR_KINDS + kind) * CARDS + g];

                    assert_int_equal(pairs_less_known(p, cell), NEW);
                    pairs_predict(p, &cell, 1, &one);
                    assert_float_equal(r->mean, one.mean, 1e-6);
                    assert_float_equal(r->sd, one.sd, 1e-6);
                }
    }
    pairs_destroy(p);
}

/* Jobs of different families whose speeds follow what was counted of them: the higher the
 * share, the slower.  Rates alone say nothing. */
static double by_counter(int job)
{
    return -0.1 - 0.15 * (job % 4);
}

static double asked_of_last(bool counted)
{
    struct pairs *p = pairs_create();
    struct cell cell = {KINDS - 1, 0, 2};
    struct pairs_guess g;

    for (int k = 0; k < CARDS; k++)
        pairs_add_gpu(p, &(struct gpu_trait){k, k});
    for (int j = 0; j < KINDS; j++) {
        struct job_counters counters = job_counters_none();

        counters.of[COUNTER_BUSY] = 0.2 + 0.2 * (j % 4);
        pairs_add_job(p, &(struct job_trait){j, 3, 8, 0});
        pairs_set_rates(p, j, (double[CARDS]){0, 0.1});
        if (counted)
            pairs_set_counters(p, j, &counters);
    }
    for (int k = 0; k < CARDS; k++)
        for (int a = 0; a + 1 < KINDS; a++)
            for (int b = 0; b + 1 < KINDS; b++)
                if (a != b)
                    pairs_put(p, (struct cell){a, k, b}, by_counter(a), 0.0001);
    pairs_settle(p);
    study(p);
    pairs_predict(p, &cell, 1, &g);
    pairs_destroy(p);
    return g.mean;
}

static void a_new_job_is_like_those_of_which_the_same_was_counted(void **state)
{
    double truth = by_counter(KINDS - 1);

    (void)state;
    assert_true(fabs(asked_of_last(true) - truth) <
                0.7 * fabs(asked_of_last(false) - truth));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_job_is_like_those_of_which_the_same_was_counted),
        cmocka_unit_test(a_game_answers_as_measuring_does),
        cmocka_unit_test(a_row_far_below_the_others_is_noticed),
        cmocka_unit_test(a_job_held_out_was_never_measured),
        cmocka_unit_test(rows_are_the_cells_of_the_less_known_job),
        cmocka_unit_test(of_too_many_those_that_tell_least_go),
        cmocka_unit_test(a_cell_is_answered_alike_alone_and_among_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
