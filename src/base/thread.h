/* thread.h - helper threads, and waits that end on the monotonic clock
 *
 * A thread started here blocks all signals: they are for the program's main thread. */
#pragma once

#include <pthread.h>
#include <stdbool.h>

/* 0, or the number of the error as pthread_create() returns it. */
int thread_start(pthread_t *thread, void *(*run)(void *), void *arg);

/* A condition to wait on with thread_wait_until(). */
void thread_cond_init(pthread_cond_t *cond);

/* With the mutex held: false when the time, as of clock_wall_s(), is over. */
bool thread_wait_until(pthread_cond_t *cond, pthread_mutex_t *mutex, double until_s);
