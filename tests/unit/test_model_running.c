/* test_model_running.c - running means that lean on wider levels until they have seen
 * enough */
#include "loop_fixture.h"

#include "model/running.h"

static const double level_sd[] = {1.0, 0.5, 0.1};
static const uint64_t here[] = {1, 2}, sibling[] = {1, 3}, stranger[] = {8, 9};

static void an_empty_book_knows_only_the_prior(void **state)
{
    struct mean_book *book = mean_book_create();
    struct mean_answer a = mean_book_ask(book, here, 2, level_sd);

    (void)state;
    assert_true(a.mean == 0 && a.sd == 1.0);
    assert_int_equal(a.deepest, -1);
    assert_int_equal(a.observations, 0);
    mean_book_destroy(book);
    mean_book_destroy(NULL);
}

/* One level, one observation: precisions 1 of the prior and 1 / (0.25 + 1e-4) of it. */
static void one_observation_is_shrunk_by_precision(void **state)
{
    struct mean_book *book = mean_book_create();
    double precision = 1 / (0.25 + 1e-4);
    struct mean_answer a;

    (void)state;
    mean_book_add(book, here, 1, 2.0, 1);
    a = mean_book_ask(book, here, 1, level_sd);
    assert_close(a.mean, 2.0 * precision / (1 + precision), 1e-12);
    assert_close(a.sd, sqrt(1 / (1 + precision) + 0.25), 1e-12);
    assert_int_equal(a.deepest, 0);
    assert_int_equal(a.observations, 1);
    mean_book_destroy(book);
}

static void the_narrowest_level_wins_the_more_it_has_seen(void **state)
{
    struct mean_book *book = mean_book_create();
    struct mean_answer a;
    double last_sd = 1;

    (void)state;
    for (int i = 1; i <= 10; i++) {
        mean_book_add(book, here, 2, 0.7, 1);
        a = mean_book_ask(book, here, 2, level_sd);
        assert_true(a.mean > 0 && a.mean < 0.7 && a.sd < last_sd);
        assert_int_equal(a.deepest, 1);
        assert_int_equal(a.observations, i);
        last_sd = a.sd;
    }
    assert_close(a.mean, 0.7, 0.01);
    mean_book_destroy(book);
}

static void siblings_are_moved_less_and_strangers_not_at_all(void **state)
{
    struct mean_book *book = mean_book_create();
    struct mean_answer own, near, far;

    (void)state;
    for (int i = 0; i < 5; i++)
        mean_book_add(book, here, 2, 0.7, 1);
    own = mean_book_ask(book, here, 2, level_sd);
    near = mean_book_ask(book, sibling, 2, level_sd);
    far = mean_book_ask(book, stranger, 2, level_sd);
    assert_true(near.mean > 0.3 && near.mean < own.mean);
    assert_true(near.sd > own.sd && near.sd < far.sd);
    assert_int_equal(near.deepest, 0);
    assert_true(far.mean == 0);
    mean_book_destroy(book);
}

static void own_measurements_overrule_those_of_siblings(void **state)
{
    struct mean_book *book = mean_book_create();

    (void)state;
    for (int i = 0; i < 20; i++) {
        mean_book_add(book, sibling, 2, 1.0, 1);
        mean_book_add(book, here, 2, -1.0, 1);
    }
    assert_close(mean_book_ask(book, here, 2, level_sd).mean, -1, 0.05);
    assert_close(mean_book_ask(book, sibling, 2, level_sd).mean, 1, 0.05);
    mean_book_destroy(book);
}

static void less_weight_moves_less(void **state)
{
    struct mean_book *light = mean_book_create(), *heavy = mean_book_create();

    (void)state;
    mean_book_add(light, here, 1, 1.0, 0.1);
    mean_book_add(heavy, here, 1, 1.0, 1);
    assert_true(mean_book_ask(light, here, 1, level_sd).mean <
                0.5 * mean_book_ask(heavy, here, 1, level_sd).mean);
    mean_book_destroy(light);
    mean_book_destroy(heavy);
}

static void drift_is_followed_after_a_long_past(void **state)
{
    struct mean_book *book = mean_book_create();

    (void)state;
    for (int i = 0; i < 1000; i++)
        mean_book_add(book, here, 2, 0, 1);
    for (int i = 0; i < 100; i++)
        mean_book_add(book, here, 2, 0.5, 1);
    assert_close(mean_book_ask(book, here, 2, level_sd).mean, 0.5, 0.03);
    mean_book_destroy(book);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_book_knows_only_the_prior),
        cmocka_unit_test(one_observation_is_shrunk_by_precision),
        cmocka_unit_test(the_narrowest_level_wins_the_more_it_has_seen),
        cmocka_unit_test(siblings_are_moved_less_and_strangers_not_at_all),
        cmocka_unit_test(own_measurements_overrule_those_of_siblings),
        cmocka_unit_test(less_weight_moves_less),
        cmocka_unit_test(drift_is_followed_after_a_long_past),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
