/* queueing.c - see queueing.h */
#include "model/queueing.h"

#include <math.h>

/* One in a hundred may be late. */
#define LATE         0.01

#define HALVINGS     40
#define LOAD_MOST    0.999
#define NEWTON_STEPS 7
#define BRACKET      1e-12

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

/* Where the latency reaches its limit, as a share of the capacity: from here ... to here.
 * In x = load / capacity that is log(x / LATE) = 2 (1 - x) spare, which Newton's steps
 * come to from below: the left side less the right one rises and bends down. */
static void bracket(double spare, double *least, double *most)
{
    double x = LATE;

    for (int i = 0; i < NEWTON_STEPS; i++) {
        double up = (2 * (1 - x) * spare - log(x / LATE)) / (1 / x + 2 * spare);

        x += up;
        if (up < x * BRACKET)
            break;
    }
    *least = x * (1 - BRACKET);
    *most = x * (1 + BRACKET);
}

double queueing_rate_within(double capacity, int devices, double latency_s)
{
    double low = 0, high = LOAD_MOST, least, most;

    if (!(capacity > 0) || queueing_latency_s(capacity, devices, 0) > latency_s)
        return 0;
    if (queueing_latency_s(capacity, devices, high * capacity) <= latency_s)
        return high * capacity;
    bracket(latency_s * capacity - devices, &least, &most);
    if (!(queueing_latency_s(capacity, devices, least * capacity) <= latency_s) ||
        queueing_latency_s(capacity, devices, most * capacity) <= latency_s) {
        least = 0;
        most = LOAD_MOST;
    }
    for (int i = 0; i < HALVINGS; i++) {
        double middle = (low + high) / 2;

        if (middle <= least ||
            (middle < most &&
             queueing_latency_s(capacity, devices, middle * capacity) <= latency_s))
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
