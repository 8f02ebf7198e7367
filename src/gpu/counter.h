/* counter.h - a hardware counter that wraps, as a running sum
 *
 * RAPL counts microjoules up to a range and begins again; a package at full load does so
 * every few minutes to hours.  A step that no processor could have made in that time is
 * not believed, and then the sum begins at zero again, which is how whoever takes
 * differences notices. */
#ifndef CORGI_GPU_COUNTER_H
#define CORGI_GPU_COUNTER_H

#include <stdbool.h>

struct gpu_counter {
    double range; /* counts before it wraps; 0: it does not */
    double raw;
    double at_s;
    double sum;
    bool started;
    unsigned wraps, resets;
};

/* Take the next raw value; most_rate is the most it can count a second. */
void gpu_counter_add(struct gpu_counter *counter, double raw, double at_s,
                     double most_rate);

#endif
