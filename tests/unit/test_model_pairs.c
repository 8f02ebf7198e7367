/* test_model_pairs.c - pairs: what is left out, what is forgotten, who answers */
#include "base/mem.h"
#include "model/learned_lesson.h"
#include "model/pairs.h"

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
        gp_add_gpu(p->core, &(struct gpu_trait){g, g});
    for (int j = 0; j < KINDS; j++)
        pairs_add_job(p, &(struct job_trait){j / 2, 2 + j % 3, 7 + 0.2 * j, 0});
    return p;
}

static double value_of(int a, int b, int gpu)
{
    return -0.2 - 0.1 * a - 0.07 * b - 0.05 * gpu - 0.02 * ((a * b) % 3);
}

/* A cell judged by parts that saw its mirror would be judged too well. */
static void leaving_a_pair_out_leaves_both_directions_out(void **state)
{
    struct kernel_params params;
    struct gp *all, *rest;
    double *precision;
    struct cell cells[6] = {{0, 0, 1}, {2, 0, 3}, {1, 0, 0},
                            {4, 1, 5}, {0, 1, 1}, {2, 0, 1}};

    (void)state;
    kernel_default(&params);
    for (size_t left = 0; left < 6; left++) {
        struct blend_belief said;
        double mean, var;

        all = gp_create(&params, true);
        rest = gp_create(&params, true);
        for (int g = 0; g < CARDS; g++) {
            gp_add_gpu(all, &(struct gpu_trait){g, g});
            gp_add_gpu(rest, &(struct gpu_trait){g, g});
        }
        for (int j = 0; j < KINDS; j++) {
            gp_add_job(all, &(struct job_trait){j / 2, 2, 7 + 0.2 * j, 0});
            gp_add_job(rest, &(struct job_trait){j / 2, 2, 7 + 0.2 * j, 0});
        }
        for (size_t i = 0; i < 6; i++) {
            bool mirror = cells[i].gpu == cells[left].gpu &&
                          cells[i].job == cells[left].other &&
                          cells[i].other == cells[left].job;
            double value = value_of(cells[i].job, cells[i].other, cells[i].gpu);

            gp_observe(all, cells[i], value, 0.01);
            if (i != left && !mirror)
                gp_observe(rest, cells[i], value, 0.01);
        }
        precision = mem_array(double, 36);
        gp_precision(all, precision);
        said = learned_lesson_leave_out(all, precision, left);
        gp_predict(rest, &cells[left], 1, &mean, &var);
        assert_float_equal(said.mean, mean, 1e-6);
        assert_float_equal(said.sd, sqrt(var + 0.01), 1e-6);
        free(precision);
        gp_destroy(all);
        gp_destroy(rest);
    }
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
    pairs_predict(p, &(struct cell){1, 1, 2}, 1, NULL, &g);
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
    pairs_predict(p, cells, count, NULL, all);
    for (size_t i = 0; i < count; i++) {
        pairs_predict(p, &cells[i], 1, NULL, &one);
        assert_float_equal(all[i].mean, one.mean, 1e-6);
        assert_float_equal(all[i].sd, one.sd, 1e-6);
        one = pairs_predict_guest(p, &(struct gp_guests){NULL, 0}, cells[i]);
        assert_float_equal(all[i].mean, one.mean, 1e-6);
    }
    pairs_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leaving_a_pair_out_leaves_both_directions_out),
        cmocka_unit_test(of_too_many_those_that_tell_least_go),
        cmocka_unit_test(a_cell_is_answered_alike_alone_and_among_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
