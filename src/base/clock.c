/* clock.c - programs, the daemon's timers and the probe ask the system's clocks here */
#include "base/clock.h"

#include <time.h>

static double read_s(clockid_t id)
{
    struct timespec t;

    clock_gettime(id, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
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
