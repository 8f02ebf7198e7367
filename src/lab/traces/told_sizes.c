/* told_sizes.c - see told_sizes.h */
#include "lab/traces/told_sizes.h"

#include "base/rng.h"

#include <math.h>

#define STREAM_TOLD 41
#define TOLD_SHARE  0.5
#define TOLD_SD     0.5

static void tell(struct sim_request *r, double factor)
{
    if (r->job.kind == JOB_TRAINING)
        r->job.total_steps = fmax(1, r->steps * factor);
    else
        r->job.duration_s = r->serve_s * factor;
}

void told_sizes_true(struct workload *w)
{
    for (size_t i = 0; i < w->count; i++)
        tell(&w->requests[i], 1);
}

void told_sizes_apply(struct workload *w, uint64_t seed)
{
    struct rng rng;

    rng_stream(&rng, seed, STREAM_TOLD);
    for (size_t i = 0; i < w->count; i++) {
        struct sim_request *r = &w->requests[i];
        bool told = rng_uniform(&rng) < TOLD_SHARE;
        double factor = exp(TOLD_SD * rng_normal(&rng));

        r->job.total_steps = r->job.duration_s = 0;
        if (told || r->job.need.kind == NEED_DEADLINE)
            tell(r, factor);
    }
}
