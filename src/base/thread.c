/* thread.c - starting threads and waiting with a deadline, see thread.h
 *
 * Modules that keep a thread of their own (the GPU watchdog and sampler, the CPU
 * throttle, the probe's look at devices) start it and wait for it with these. */
#include "base/thread.h"

#include <math.h>
#include <signal.h>
#include <stddef.h>
#include <time.h>

int thread_start(pthread_t *thread, void *(*run)(void *), void *arg)
{
    sigset_t all, before;
    int rc;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(thread, NULL, run, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}

void thread_cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t attributes;

    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &attributes);
    pthread_condattr_destroy(&attributes);
}

bool thread_wait_until(pthread_cond_t *cond, pthread_mutex_t *mutex, double until_s)
{
    struct timespec until = {.tv_sec = (time_t)until_s,
                             .tv_nsec = (long)((until_s - floor(until_s)) * 1e9)};

    return pthread_cond_timedwait(cond, mutex, &until) == 0;
}
