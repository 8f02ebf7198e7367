/* test_lengths.c - how long jobs are expected to run on */
#include "loop/estimate/lengths.h"

#include "base/bytes.h"
#include "base/rng.h"
#include "model/codec.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static struct lengths *l;

static int set_up(void **state)
{
    (void)state;
    l = lengths_create();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    lengths_destroy(l);
    return 0;
}

static struct job_status service(int owner, double told_s)
{
    return (struct job_status){
        .job = {.kind = JOB_INFERENCE, .owner = owner, .duration_s = told_s},
        .state = JOB_RUNNING,
        .started_s = 0};
}

/* Of one that has run for so long. */
static double left(int owner, double told_s, double age_s, double share)
{
    const struct job_status s = service(owner, told_s);

    return lengths_left_s(l, &s, 1, share, age_s);
}

static void run(int owner, double told_s, double length_s)
{
    struct job_status s = service(owner, told_s);

    for (double at_s = 0; at_s < length_s; at_s += 300)
        lengths_follow(l, &s, at_s);
    lengths_ended(l, &s, length_s);
}

static void what_is_told_is_believed_at_first(void **state)
{
    (void)state;
    assert_true(fabs(left(1, 1000, 0, 0.5) - 1000) < 1e-6);
    assert_true(fabs(left(1, 1000, 900, 0.5) - 100) < 1e-6);
    assert_true(left(1, 0, 0, 0.5) > 3600); /* not told */
}

static void who_is_past_what_was_told_runs_on_in_proportion(void **state)
{
    double soon = left(1, 1000, 1100, 0.5), later = left(1, 1000, 4400, 0.5);

    (void)state;
    assert_true(soon > 50 && soon < 1000);
    assert_true(later > 2 * soon && later < 5 * soon);
    assert_true(left(1, 0, 1e5, 0.5) > 5e4); /* the same of age alone */
    assert_true(isfinite(left(1, 1000, 1e9, 0.5)));
}

static void nothing_is_known_before_jobs_have_ended(void **state)
{
    const struct job_status told = service(1, 100), untold = service(1, 0);

    (void)state;
    assert_true(lengths_known(l, &told.job) && !lengths_known(l, &untold.job));
    assert_true(lengths_known(NULL, &told.job) && !lengths_known(NULL, &untold.job));
    for (int i = 0; i < 5; i++)
        run(1, 0, 600);
    assert_true(lengths_known(l, &untold.job));
}

/* Lengths are log-uniform from 600 to 60,000 s: what is left of them is known. */
static void what_is_left_follows_what_was_seen(void **state)
{
    struct rng rng;

    (void)state;
    rng_init(&rng, 1);
    for (int i = 0; i < 600; i++)
        run(i % 50, 0, rng_log_range(&rng, 600, 60000));
    for (double age_s = 300; age_s < 40000; age_s *= 2)
        for (double share = 0.2; share < 0.9; share += 0.3) {
            double from = fmax(age_s, 600), ends = from * pow(60000 / from, share);
            double off = log((age_s + left(99, 0, age_s, share)) / ends);

            if (fabs(off) > 0.35)
                fail_msg("at %g s and %g: off by %g", age_s, share, off);
        }
}

/* Users tell sizes that are off by a factor: the factor is learned, too. */
static void the_error_of_what_is_told_is_learned(void **state)
{
    struct rng rng;

    (void)state;
    rng_init(&rng, 2);
    for (int i = 0; i < 400; i++) {
        double length_s = rng_log_range(&rng, 600, 60000);

        run(i % 50, length_s * exp(0.5 * rng_normal(&rng)) * 2, length_s);
    }
    assert_true(fabs(log(left(99, 10000, 0, 0.5) / 5000)) < 0.15);
    assert_true(fabs(log(left(99, 10000, 0, 0.84) / 5000) - 0.5) < 0.2);
}

static void a_user_whose_word_holds_is_believed_whatever_others_do(void **state)
{
    struct rng rng;

    (void)state;
    rng_init(&rng, 3);
    for (int i = 0; i < 200; i++)
        run(1, 1000 * exp(0.5 * rng_normal(&rng)) * 3, 1000);
    for (int i = 0; i < 30; i++)
        run(2, 5000, 5000);
    assert_true(fabs(left(2, 8000, 0, 0.5) - 8000) < 1e-6);
    assert_true(left(1, 8000, 0, 0.5) < 4000);
}

/* Many short jobs have ended, and many long ones still run: those count. */
static void jobs_that_still_run_count_for_how_far_they_are(void **state)
{
    (void)state;
    for (int i = 0; i < 50; i++) {
        struct job_status s = service(1, 0);

        run(1, 0, 400);
        for (double at_s = 0; at_s <= 40000; at_s += 300)
            lengths_follow(l, &s, at_s);
    }
    assert_true(left(1, 0, 2000, 0.5) > 30000);
}

static void what_was_learned_comes_back_from_bytes(void **state)
{
    struct bytes_out out = {0}, again = {0};
    struct bytes_in in;
    struct lengths *read = lengths_create();
    const struct job_status s = service(3, 0);

    (void)state;
    for (int i = 0; i < 300; i++)
        run(i, i % 2 ? 900 : 0, 500 + 10 * i); /* more users than are kept apart */
    lengths_code(l, &(struct codec){.out = &out});
    in = (struct bytes_in){out.items, out.count, false};
    lengths_code(read, &(struct codec){.in = &in});
    assert_false(in.bad);
    assert_int_equal(in.left, 0);
    lengths_code(read, &(struct codec){.out = &again});
    assert_int_equal(again.count, out.count);
    assert_memory_equal(again.items, out.items, out.count);
    assert_true(lengths_left_s(read, &s, 1, 0.3, 700) == left(3, 0, 700, 0.3));
    in = (struct bytes_in){out.items, out.count - 1, false};
    lengths_code(read, &(struct codec){.in = &in});
    assert_true(in.bad);
    lengths_destroy(read);
    bytes_out_fini(&out);
    bytes_out_fini(&again);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(what_is_told_is_believed_at_first),
        TEST(who_is_past_what_was_told_runs_on_in_proportion),
        TEST(nothing_is_known_before_jobs_have_ended),
        TEST(what_is_left_follows_what_was_seen),
        TEST(the_error_of_what_is_told_is_learned),
        TEST(a_user_whose_word_holds_is_believed_whatever_others_do),
        TEST(jobs_that_still_run_count_for_how_far_they_are),
        TEST(what_was_learned_comes_back_from_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
