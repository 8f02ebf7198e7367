/* clock.c - the time: the system's, of the processor, or one that is set */
#include "base/clock.h"

#include <assert.h>
#include <time.h>

static double read_s(clockid_t id)
{
    struct timespec t;

    clock_gettime(id, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double real_now_s(const struct clock *clock)
{
    return clock_wall_s() - clock->value_s;
}

static double virtual_now_s(const struct clock *clock)
{
    return clock->value_s;
}

struct clock clock_real(void)
{
    return (struct clock){.now_s = real_now_s, .value_s = clock_wall_s()};
}

struct clock clock_virtual(double now_s)
{
    return (struct clock){.now_s = virtual_now_s, .value_s = now_s};
}

double clock_now_s(const struct clock *clock)
{
    return clock->now_s(clock);
}

void clock_set(struct clock *clock, double now_s)
{
    assert(clock->now_s == virtual_now_s && now_s >= clock->value_s);
    clock->value_s = now_s;
}

double clock_cpu_s(void)
{
    return read_s(CLOCK_THREAD_CPUTIME_ID);
}

double clock_wall_s(void)
{
    return read_s(CLOCK_MONOTONIC);
}

double clock_epoch_s(void)
{
    return read_s(CLOCK_REALTIME);
}
