/* test_services.c - what a service can do, from windows of a probe */
#include "model/services.h"

#include "base/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define CAPACITY 200.0
#define WINDOW_S 60.0

static struct rng rng;

static double noisy(double value, double sd)
{
    return value * exp(sd * rng_normal(&rng));
}

static double count(double rate)
{
    double n = rate * WINDOW_S;

    return fmax(0, round(n + sqrt(n) * rng_normal(&rng))) / WINDOW_S;
}

/* Requests are worked on one at a time, on one device; they come at random. */
static struct service_window one_at_a_time(double asked)
{
    double answered = fmin(count(asked), CAPACITY), busy = answered / CAPACITY;
    double left = fmax(1 - asked / CAPACITY, 1e-3);

    return (struct service_window){
        .window_s = WINDOW_S,
        .answered = answered,
        .asked = asked,
        .owed = asked,
        .busy = fmin(1, noisy(busy, 0.03)),
        .median_s = noisy((1 + fmax(0, log(2 * busy)) / (2 * left)) / CAPACITY, 0.05),
        .latency_s = noisy((1 + fmax(0, log(100 * busy)) / (2 * left)) / CAPACITY, 0.1),
        .held = noisy(busy * (1 + busy / (2 * left)), 0.1),
        .workers = 1};
}

/* Thirty at once: the device never rests, answers take as long until it is nearly full.
 */
static struct service_window batching(double asked)
{
    double answered = fmin(count(asked), CAPACITY), busy = asked / CAPACITY;
    double left = fmax(1 - busy, 1e-3), wait_s = log(100 * busy) / (2 * left) / CAPACITY;

    return (struct service_window){.window_s = WINDOW_S,
                                   .answered = answered,
                                   .asked = asked,
                                   .owed = asked,
                                   .busy = fmin(1, noisy(0.97, 0.02)),
                                   .median_s = noisy(30 / CAPACITY, 0.05),
                                   .latency_s = noisy(40 / CAPACITY + wait_s, 0.1),
                                   .held = noisy(answered * 30 / CAPACITY, 0.1),
                                   .workers = 1};
}

static struct service_capacity after(int windows, double asked,
                                     struct service_window (*see)(double))
{
    struct service_seen seen = {0};

    for (int i = -windows; i < windows; i++) {
        struct service_window w = see(i < 0 ? asked / 2 : asked);

        services_note(&seen, &w);
    }
    return services_capacity(&seen);
}

static double off(struct service_capacity c)
{
    return fabs(log(c.rate / CAPACITY)) / c.sd_log;
}

static void the_busy_share_tells_what_one_at_a_time_can_do(void **state)
{
    static const double loads[] = {0.01, 0.1, 0.3, 0.6, 0.9};
    double before = INFINITY;

    (void)state;
    for (int i = 0; i < 5; i++) {
        int held = 0;

        for (int n = 0; n < 200; n++) {
            struct service_capacity c = after(8, loads[i] * CAPACITY, one_at_a_time);

            assert_false(c.floor);
            held += off(c) <= 1.645;
            if (n == 0) { /* surer as the load comes near */
                assert_true(c.sd_log < before);
                before = c.sd_log;
            }
        }
        assert_true(held >= 180);
    }
    assert_true(before < 0.08);
}

static void a_server_that_batches_is_known_only_to_do_what_it_does(void **state)
{
    (void)state;
    for (double load = 0.02; load < 0.7; load += 0.04)
        for (int n = 0; n < 50; n++) {
            struct service_capacity c = after(8, load * CAPACITY, batching);

            assert_true(c.floor);
            assert_true(c.rate <= CAPACITY);
            assert_true(c.rate > 0.6 * load * CAPACITY);
        }
}

static void a_server_that_batches_is_known_once_it_is_full(void **state)
{
    int held = 0;

    (void)state;
    for (int n = 0; n < 200; n++) {
        struct service_seen seen = {0};
        struct service_capacity c;

        for (int i = 0; i < 12; i++) {
            struct service_window w = batching(i < 6 ? 60 : 260);

            services_note(&seen, &w);
        }
        c = services_capacity(&seen);
        assert_false(c.floor);
        held += off(c) <= 1.645;
    }
    assert_true(held >= 180);
}

static void late_answers_of_a_batch_say_that_it_is_nearly_full(void **state)
{
    struct service_seen seen = {0};
    struct service_capacity c;

    (void)state;
    for (int i = 0; i < 12; i++) {
        struct service_window w = batching(i < 6 ? 60 : 0.97 * CAPACITY);

        services_note(&seen, &w);
    }
    c = services_capacity(&seen);
    assert_false(c.floor);
    assert_true(off(c) < 2);
}

static void without_latency_nor_requests_inside_a_busy_share_is_not_believed(void **state)
{
    struct service_seen seen = {0};
    struct service_window w = {
        .window_s = WINDOW_S, .answered = 20, .asked = 20, .busy = 0.1, .workers = 1};

    (void)state;
    services_note(&seen, &w);
    assert_true(services_capacity(&seen).floor);
    assert_true(services_capacity(&seen).rate <= 20);
}

static void counting_noise_is_no_shortage(void **state)
{
    static const double rates[] = {0.2, 1, 10, 150};
    int short_of = 0;

    (void)state;
    for (int i = 0; i < 4; i++)
        for (int n = 0; n < 100; n++) {
            struct service_seen seen = {0};

            for (int k = 0; k < 20; k++) {
                struct service_window w = one_at_a_time(rates[i]);

                w.asked = count(rates[i]); /* counted elsewhere */
                services_note(&seen, &w);
                short_of += !services_keeps_up(&seen);
            }
        }
    assert_true(short_of < 60); /* of 8000 */
}

static void answers_that_are_missing_are_a_shortage(void **state)
{
    struct service_seen seen = {0};
    struct service_window w = one_at_a_time(150);

    (void)state;
    services_note(&seen, &w);
    assert_true(services_keeps_up(&seen));
    w.answered = 120;
    services_note(&seen, &w);
    assert_false(services_keeps_up(&seen));
    w.answered = 150;
    for (int i = 0; i < 30; i++)
        services_note(&seen, &w);
    assert_true(services_keeps_up(&seen));
    w.answered = 0; /* stuck */
    w.median_s = w.latency_s = w.busy = 0;
    services_note(&seen, &w);
    assert_false(services_keeps_up(&seen));
}

/* Nobody promised to answer these, but they tell what it can do. */
static void requests_beyond_what_was_reserved_show_the_capacity(void **state)
{
    struct service_seen seen = {0};
    struct service_window w = batching(10 * CAPACITY);

    (void)state;
    w.owed = 1;
    for (int i = 0; i < 4; i++)
        services_note(&seen, &w);
    assert_true(services_keeps_up(&seen));
    assert_false(services_capacity(&seen).floor);
    assert_float_equal(services_capacity(&seen).rate, CAPACITY, 0.05 * CAPACITY);
}

static void another_place_leaves_only_how_it_works(void **state)
{
    struct service_seen seen = {0};
    struct service_window w;

    (void)state;
    for (int i = 0; i < 5; i++) {
        w = one_at_a_time(100);
        services_note(&seen, &w);
    }
    services_moved(&seen);
    assert_true(services_capacity(&seen).floor);
    w = one_at_a_time(20);
    services_note(&seen, &w);
    assert_false(services_capacity(&seen).floor);
}

static int set_up(void **state)
{
    (void)state;
    rng_init(&rng, 5);
    return 0;
}

/* A fifth of a core: it answers at the speed of a whole one, a fifth of the time. */
static struct service_window in_bursts(double asked)
{
    struct service_window w = one_at_a_time(asked);

    w.workers = 0.2;
    w.median_s *= 0.2;
    w.held = noisy(0.2 * w.busy, 0.1);
    return w;
}

static void a_part_of_a_core_does_not_look_like_batching(void **state)
{
    struct service_capacity can = after(10, 0.6 * CAPACITY, in_bursts);

    (void)state;
    assert_false(can.floor);
    assert_true(can.rate > 0.9 * CAPACITY && can.rate < 1.1 * CAPACITY);
}

/* On cores an answer costs more or less by what else the machine does: seen off by a
 * fifth of the capacity at 60 % of it, on a machine at work for others. */
static void on_cores_a_fifth_more_or_less_is_no_surprise(void **state)
{
    (void)state;
    for (int cores = 0; cores < 2; cores++) {
        struct service_seen s = {0};
        struct service_capacity c;

        for (int i = 0; i < 3; i++) {
            struct service_window w = one_at_a_time(0.6 * CAPACITY);

            w.shared = cores;
            services_note(&s, &w);
        }
        c = services_capacity(&s);
        assert_false(c.floor);
        if (cores)
            assert_true(1.645 * c.sd_log > log(1.25) && 1.645 * c.sd_log < log(1.4));
        else
            assert_true(1.645 * c.sd_log < log(1.25));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_part_of_a_core_does_not_look_like_batching),
        cmocka_unit_test(the_busy_share_tells_what_one_at_a_time_can_do),
        cmocka_unit_test(a_server_that_batches_is_known_only_to_do_what_it_does),
        cmocka_unit_test(a_server_that_batches_is_known_once_it_is_full),
        cmocka_unit_test(late_answers_of_a_batch_say_that_it_is_nearly_full),
        cmocka_unit_test(
            without_latency_nor_requests_inside_a_busy_share_is_not_believed),
        cmocka_unit_test(counting_noise_is_no_shortage),
        cmocka_unit_test(answers_that_are_missing_are_a_shortage),
        cmocka_unit_test(requests_beyond_what_was_reserved_show_the_capacity),
        cmocka_unit_test(another_place_leaves_only_how_it_works),
        cmocka_unit_test(on_cores_a_fifth_more_or_less_is_no_surprise),
    };

    return cmocka_run_group_tests(tests, set_up, NULL);
}
