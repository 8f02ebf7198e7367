/* arrival_stream.c - jobs in the order they arrive: eval_online.c plays the stream,
 * train_data.c learns from such */
#include "lab/eval/arrival_stream.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

#define ACTIVE   8    /* jobs of the last arrivals that may still be running */
#define NOISE_SD 0.02 /* of a measured log speed */

static void add(struct arrival_stream *s, struct cell cell, double truth, int arrival,
                struct rng *rng)
{
    s->cells[s->count] = cell;
    s->values[s->count] = truth + NOISE_SD * rng_normal(rng);
    s->arrival[s->count++] = arrival;
}

struct arrival_stream *arrival_stream_create(const struct measured *table, int arrivals,
                                             struct rng *rng)
{
    struct arrival_stream *s = mem_new(struct arrival_stream);
    int active[ACTIVE];

    s->cells = mem_array(struct cell, 2 * (size_t)arrivals + 1);
    s->values = mem_array(double, 2 * (size_t)arrivals + 1);
    s->arrival = mem_array(int, 2 * (size_t)arrivals + 1);
    for (int t = 0; t < arrivals && table->jobs > 0; t++) {
        int j = (int)rng_below(rng, (size_t)table->jobs);
        int g = (int)rng_below(rng, (size_t)table->gpus);
        int k = t > 0 ? active[rng_below(rng, (size_t)(t < ACTIVE ? t : ACTIVE))] : j;
        double own = measured_pair(table, j, g, k), other = measured_pair(table, k, g, j);

        if (t > 0 && !isnan(own) && !isnan(other)) {
            add(s, (struct cell){j, g, k}, own, t, rng);
            add(s, (struct cell){k, g, j}, other, t, rng);
        }
        active[t % ACTIVE] = j;
    }
    return s;
}

void arrival_stream_destroy(struct arrival_stream *s)
{
    if (!s)
        return;
    free(s->cells);
    free(s->values);
    free(s->arrival);
    free(s);
}
