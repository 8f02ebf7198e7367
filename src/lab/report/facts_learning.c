/* facts_learning.c - how wrong first estimates were, over time; see facts.h */
#include "lab/report/facts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static long count_sights(const struct sim_recording *r)
{
    long count = 0;

    for (size_t i = 0; r && i < r->sights.count; i++)
        count += r->sights.items[i].count;
    return count;
}

void facts_learning(const struct sweep_row *row, int bins, double *percent, double *at_s)
{
    double *counts = mem_array(double, (size_t)bins);

    memset(percent, 0, (size_t)bins * sizeof(*percent));
    memset(at_s, 0, (size_t)bins * sizeof(*at_s));
    for (int s = 0; s < row->seeds; s++) {
        const struct sim_recording *r = row->runs[s].recording;
        long all = count_sights(r), before = 0;

        for (size_t i = 0; r && i < r->sights.count; i++) {
            const struct recording_sight *sight = &r->sights.items[i];
            int bin = (int)(bins * (before + 0.5 * sight->count) / (double)all);

            percent[bin] += sight->abs_log_error * sight->count;
            at_s[bin] += sight->at_s * sight->count;
            counts[bin] += sight->count;
            before += sight->count;
        }
    }
    for (int b = 0; b < bins; b++) {
        percent[b] = counts[b] > 0 ? 100 * (exp(percent[b] / counts[b]) - 1) : NAN;
        at_s[b] = counts[b] > 0 ? at_s[b] / counts[b] : NAN;
    }
    free(counts);
}
