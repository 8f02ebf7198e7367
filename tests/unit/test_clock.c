/* test_clock.c - virtual time stands still, real time does not */
#include "base/clock.h"
#include "support/test.h"

#include <time.h>

CASE(a_virtual_clock_stands_where_it_was_put)
{
    struct clock clock = clock_virtual(100);

    assert_true(clock_now_s(&clock) == 100);
    assert_true(clock_now_s(&clock) == 100);
    clock_set(&clock, 250.5);
    assert_true(clock_now_s(&clock) == 250.5);
    clock_set(&clock, 250.5); /* standing still is not going back */
}

CASE(a_real_clock_counts_from_when_it_was_made)
{
    struct clock clock = clock_real();
    struct timespec nap = {.tv_nsec = 20 * 1000 * 1000};
    double first = clock_now_s(&clock), later;

    assert_true(first >= 0 && first < 5);
    nanosleep(&nap, NULL);
    later = clock_now_s(&clock);
    assert_true(later - first >= 0.019);
}

CASE(sleeping_costs_wall_time_and_no_processor_time)
{
    struct timespec nap = {.tv_nsec = 50 * 1000 * 1000};
    double cpu = clock_cpu_s(), wall = clock_wall_s();

    nanosleep(&nap, NULL);
    wall = clock_wall_s() - wall;
    cpu = clock_cpu_s() - cpu;
    assert_true(wall >= 0.049);
    assert_true(cpu >= 0 && cpu < wall / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_virtual_clock_stands_where_it_was_put),
        cmocka_unit_test(a_real_clock_counts_from_when_it_was_made),
        cmocka_unit_test(sleeping_costs_wall_time_and_no_processor_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
