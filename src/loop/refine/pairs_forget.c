/* pairs_forget.c - which observations of pairs are worth keeping, see pairs_state.h */
#include "loop/refine/pairs_state.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

/* What is known of jobs that left counts for less. */
#define IDLE_WORTH 0.5

static int by_worth(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* What an observation tells beyond the others: how much wider its cell would be believed
 * without it than the noise it has. */
static void weigh(const struct pairs *p, double *worth)
{
    size_t n = core_count(p->core);
    double *precision = mem_array(double, n *n + 1);

    core_precision(p->core, precision);
    for (size_t i = 0; i < n; i++) {
        struct cell cell = core_cell(p->core, i);
        double noise =
            kernel_noise(core_kernel(p->core), cell) + core_extra_var(p->core, i);
        double gain = -0.5 * log(fmax(precision[i * n + i] * noise, 1e-12));
        bool idle = p->idle.items[cell.job] || p->idle.items[cell.other];

        /* Of two that tell the same the older goes. */
        worth[i] = gain * (idle ? IDLE_WORTH : 1) *
                   (1 + 0.1 * (double)p->memory[i].stamp / (double)(p->stamp + 1));
    }
    free(precision);
}

void pairs_make_room(struct pairs *p)
{
    size_t n = core_count(p->core), kept = 0;
    double *worth = mem_array(double, n + 1), *sorted = mem_array(double, n + 1), least;
    bool *keep = mem_array(bool, n + 1);

    weigh(p, worth);
    for (size_t i = 0; i < n; i++)
        sorted[i] = worth[i];
    qsort(sorted, n, sizeof(*sorted), by_worth);
    least = sorted[n / 4];
    map_destroy(p->index);
    p->index = map_create();
    for (size_t i = 0; i < n; i++) {
        /* Always make room, whatever is alike. */
        keep[i] = worth[i] >= least && kept < n - n / 4;
        if (!keep[i])
            continue;
        map_put(p->index, pairs_key(core_cell(p->core, i)), kept);
        p->memory[kept++] = p->memory[i];
    }
    core_retain(p->core, keep);
    p->stale = true;
    free(worth);
    free(sorted);
    free(keep);
}
