/* test_model_network_lesson.c - P1 and P2 learn what a cluster is like, and nothing that
 * makes them worse */
#include "model/learned_lesson.h"
#include "model/network_lesson.h"
#include "model/p2.h"
#include "model/pairs.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

enum { FAMILIES = 15, BATCHES = 2, KINDS = FAMILIES * BATCHES, CARDS = 2 };

/* Unlike any world the networks were trained on: who is fast on the newer card is slowed
 * down by those who are not, and hardly by its like. */
static double lean_of(int job)
{
    return 1.4 * sin(2.4 * (job / BATCHES) + 0.3) + 0.1 * (job % BATCHES);
}

static double value_of(int a, int b, int gpu)
{
    double apart = lean_of(a) - lean_of(b);

    return -0.05 - 0.45 * apart * apart / (1 + 0.5 * apart * apart) - 0.05 * gpu;
}

static struct pairs *create(void)
{
    struct pairs *p = pairs_create();

    for (int g = 0; g < CARDS; g++)
        pairs_add_gpu(p, &(struct gpu_trait){g, g});
    for (int j = 0; j < KINDS; j++) {
        double rates[CARDS] = {1 - 0.4 * lean_of(j), 2 + 0.4 * lean_of(j)};

        pairs_add_job(p, &(struct job_trait){j / BATCHES, 2 + j % BATCHES, 7, 0});
        pairs_set_rates(p, j, rates);
    }
    return p;
}

static void see(struct pairs *p, double (*value)(int a, int b, int gpu))
{
    for (int g = 0; g < CARDS; g++)
        for (int a = 0; a < KINDS; a++)
            for (int b = 0; b < KINDS; b++)
                if (a != b && (a + b + g) % 2 == 0)
                    pairs_put(p, (struct cell){a, g, b}, value(a, b, g), 0.001);
    pairs_settle(p);
}

static void lessons_improve_what_is_said_of_families_never_learned_from(void **state)
{
    struct pairs *p = create();
    double first[PAIR_NETWORKS];

    (void)state;
    see(p, value_of);
    for (uint64_t i = 0; i < 3; i++) {
        network_lesson_study(p, i);
        for (int n = 0; n < PAIR_NETWORKS && i == 0; n++)
            first[n] = p->progress[n].before;
    }
    for (int n = 0; n < PAIR_NETWORKS; n++) {
        assert_int_equal(p->progress[n].taken + p->progress[n].rolled_back, 3);
        assert_true(p->progress[n].taken >= 2);
        assert_true(p->progress[n].after < 0.8 * first[n]);
    }
    pairs_destroy(p);
}

/* Families that judge were measured well, all others wrong. */
static double garbage_of(int a, int b, int gpu)
{
    bool judged = a / BATCHES % 3 == 2 || b / BATCHES % 3 == 2;

    return judged ? value_of(a, b, gpu) : -0.9 * ((a * 7 + b * 13 + gpu * 5) % 3);
}

static bool same_network(const struct attention *a, const struct attention *b)
{
    return !memcmp(a->params->value, b->params->value,
                   a->params->count * sizeof(*a->params->value));
}

static void what_makes_answers_worse_is_rolled_back(void **state)
{
    struct pairs *p = create();
    struct attention *p1 = attention_dup(p->p1), *p2 = attention_dup(p->p2);

    (void)state;
    see(p, garbage_of);
    network_lesson_study(p, 1);
    for (int n = 0; n < PAIR_NETWORKS; n++) {
        assert_int_equal(p->progress[n].rolled_back, 1);
        assert_int_equal(p->progress[n].taken, 0);
    }
    assert_true(same_network(p->p1, p1));
    assert_true(same_network(p->p2, p2));
    attention_destroy(p1);
    attention_destroy(p2);
    pairs_destroy(p);
}

static void the_same_measurements_teach_the_same(void **state)
{
    struct pairs *a = create(), *b = create();

    (void)state;
    see(a, value_of);
    see(b, value_of);
    network_lesson_study(a, 5);
    network_lesson_study(b, 5);
    assert_true(same_network(a->p1, b->p1) && same_network(a->p2, b->p2));
    pairs_destroy(a);
    pairs_destroy(b);
}

/* Of few cells in the core and the others in the replay buffer as much is learned. */
static void what_the_core_forgot_is_learned_from(void **state)
{
    struct pairs *p = create();

    (void)state;
    p->limit = 100;
    see(p, value_of);
    assert_true(p->core->count <= 100);
    assert_true(p->replay.kept.count > 500 && p->replay.kept.count <= PAIR_REPLAY_MAX);
    network_lesson_study(p, 1);
    assert_int_equal(p->progress[PAIR_P1].taken, 1);
    pairs_destroy(p);
}

static void few_families_teach_nothing(void **state)
{
    struct pairs *p = create();

    (void)state;
    for (int a = 0; a < 4; a++)
        for (int b = 0; b < 4; b++)
            pairs_put(p, (struct cell){a, 0, b}, value_of(a, b, 0), 0.001);
    pairs_settle(p);
    network_lesson_study(p, 1);
    assert_int_equal(p->progress[PAIR_P1].taken + p->progress[PAIR_P1].rolled_back, 0);
    pairs_destroy(p);
}

static void the_model_takes_what_its_copy_learned(void **state)
{
    struct pairs *p = create();
    struct attention *shipped = p1_shipped(SET_READER_FF);
    struct learned_lesson *lesson;

    (void)state;
    see(p, value_of);
    lesson = learned_lesson_begin(p, 1);
    learned_lesson_study(lesson);
    assert_true(same_network(p->p1, shipped));
    learned_lesson_end(lesson, p);
    assert_int_equal(p->progress[PAIR_P1].taken, 1);
    assert_false(same_network(p->p1, shipped));
    attention_destroy(shipped);
    pairs_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lessons_improve_what_is_said_of_families_never_learned_from),
        cmocka_unit_test(what_makes_answers_worse_is_rolled_back),
        cmocka_unit_test(the_same_measurements_teach_the_same),
        cmocka_unit_test(what_the_core_forgot_is_learned_from),
        cmocka_unit_test(few_families_teach_nothing),
        cmocka_unit_test(the_model_takes_what_its_copy_learned),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
