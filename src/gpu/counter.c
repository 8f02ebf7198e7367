/* counter.c - see counter.h */
#include "gpu/counter.h"

#define SLACK_S 0.1 /* the hardware updates the counter when it likes */

void gpu_counter_add(struct gpu_counter *counter, double raw, double at_s,
                     double most_rate)
{
    double step = raw - counter->raw;
    double most = (at_s - counter->at_s + SLACK_S) * most_rate;
    bool first = !counter->started;

    if (step < 0 && counter->range > 0) {
        step += counter->range;
        counter->wraps += !first;
    }
    counter->raw = raw;
    counter->at_s = at_s;
    counter->started = true;
    if (first)
        return;
    if (step >= 0 && step <= most) {
        counter->sum += step;
        return;
    }
    counter->sum = 0;
    counter->resets++;
}
