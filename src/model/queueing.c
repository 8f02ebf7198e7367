/* queueing.c - see queueing.h */
#include "model/queueing.h"

#include <math.h>

/* One in a hundred may be late. */
#define LATE      0.01

#define HALVINGS  40
#define LOAD_MOST 0.999

/* Waiting in a queue with random arrivals and even service times falls off
 * exponentially: more than t with probability load * exp(-2 (1 - load) t / service). */
double queueing_latency_s(double capacity, int devices, double load)
{
    double busy = load / capacity, service_s = devices / capacity, wait_s = 0;

    if (!(busy < 1))
        return INFINITY;
    if (busy > LATE)
        wait_s = log(busy / LATE) / (2 * (1 - busy)) / capacity;
    return service_s + wait_s;
}

double queueing_rate_within(double capacity, int devices, double latency_s)
{
    double low = 0, high = LOAD_MOST;

    if (!(capacity > 0) || queueing_latency_s(capacity, devices, 0) > latency_s)
        return 0;
    if (queueing_latency_s(capacity, devices, high * capacity) <= latency_s)
        return high * capacity;
    for (int i = 0; i < HALVINGS; i++) {
        double middle = (low + high) / 2;

        if (queueing_latency_s(capacity, devices, middle * capacity) <= latency_s)
            low = middle;
        else
            high = middle;
    }
    return low * capacity;
}

static bool limited(const struct job *job)
{
    return job->kind == JOB_INFERENCE && job->need.latency_s > 0;
}

double queueing_useful(const struct job *job, double rate)
{
    int devices = job->devices > 1 ? job->devices : 1;

    return limited(job) ? queueing_rate_within(rate, devices, job->need.latency_s) : rate;
}

void queueing_useful_estimate(const struct job *job, struct estimate *e)
{
    if (!limited(job))
        return;
    e->low = queueing_useful(job, e->low);
    e->value = queueing_useful(job, e->value);
    e->high = queueing_useful(job, e->high);
}
