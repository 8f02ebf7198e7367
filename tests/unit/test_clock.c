/* test_clock.c - time on the wall and time of the processor */
#include "base/clock.h"
#include "support/test.h"

#include <time.h>

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
        cmocka_unit_test(sleeping_costs_wall_time_and_no_processor_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
