/* test_queueing.c - how much a service can be asked for and still answer in time */
#include "model/queueing.h"
#include "base/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define CASES 20000
#define CLOSE 1e-9

static void the_rate_within_is_the_largest_that_is_answered_in_time(void **state)
{
    struct rng rng;
    int limited = 0;

    (void)state;
    rng_init(&rng, 1);
    for (int i = 0; i < CASES; i++) {
        double capacity = rng_log_range(&rng, 1e-3, 1e3);
        int devices = 1 << rng_below(&rng, 4);
        double latency_s = devices / capacity * rng_log_range(&rng, 0.8, 30);
        double rate = queueing_rate_within(capacity, devices, latency_s);

        assert_true(rate >= 0 && rate < capacity);
        if (devices / capacity > latency_s) {
            assert_true(rate <= 0);
            continue;
        }
        assert_true(queueing_latency_s(capacity, devices, rate) <= latency_s);
        if (rate < 0.998 * capacity) {
            limited++;
            assert_true(queueing_latency_s(capacity, devices, rate * (1 + CLOSE)) >
                        latency_s);
        }
    }
    assert_true(limited > CASES / 4);
}

static void whoever_can_do_nothing_is_asked_for_nothing(void **state)
{
    (void)state;
    assert_true(queueing_rate_within(0, 1, 1) <= 0);
    assert_true(queueing_rate_within(NAN, 1, 1) <= 0);
    assert_true(queueing_rate_within(10, 1, 0.05) <= 0); /* one request takes 0.1 s */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rate_within_is_the_largest_that_is_answered_in_time),
        cmocka_unit_test(whoever_can_do_nothing_is_asked_for_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
