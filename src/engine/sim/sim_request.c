/* sim_request.c - what a request is in the simulated world: the simulated engine, and the
 * generators and readers of workloads, fill and ask it */
#include "engine/sim/sim_request.h"

#include "base/str.h"

#include <math.h>

#define DAY_S 86400.0

int request_reference_gpu(const struct world *world)
{
    int best = 0;
    double best_mean = -INFINITY;

    for (int g = 0; g < world->gpu_count; g++) {
        double sum = 0;
        int counted = 0;

        for (int c = 0; c < world->class_count; c++) {
            float rate = *world_alone(world, g, c);

            if (rate > 0) {
                sum += log(rate);
                counted++;
            }
        }
        if (counted && sum / counted > best_mean) {
            best_mean = sum / counted;
            best = g;
        }
    }
    return best;
}

void request_describe(struct sim_request *r, const struct world *world, int cls,
                      int reference_gpu, double share)
{
    const struct world_class *c = &world->classes[cls];
    double rate = 0;

    r->cls = cls;
    r->base = world_find_class(world, c->name, 1);
    str_copy(r->job.name, sizeof(r->job.name), c->name);
    r->job.descriptor = c->descriptor;
    r->job.memory_gb = 0; /* users seldom know it */
    r->job.devices = c->scale;
    r->job.may_share = r->job.may_move = true;
    rate = *world_alone(world, reference_gpu, cls);
    /* A class that does not run on the reference GPU is measured by the best that runs
     * it. */
    for (int g = 0; g < world->gpu_count && !(rate > 0); g++)
        rate = *world_alone(world, g, cls);
    r->reference_rate = rate;
    r->job.need.rate = share * rate;
}

static double stepped(const struct sim_request *r, double at_s)
{
    double rate = 0;

    for (int i = 0; i < r->demand_steps; i++)
        if (at_s - r->job.submitted_s >= r->demand[i].after_s)
            rate = r->demand[i].rate;
    return rate;
}

static double waved(const struct sim_request *r, double at_s)
{
    double day = 0.65 + 0.35 * sin(2 * M_PI * at_s / DAY_S + r->phase);
    double beat =
        r->shape ? r->shape[((size_t)(at_s / 60) + r->shape_offset) % r->shape_minutes]
                 : 1 + 0.15 * sin(2 * M_PI * at_s / 5400 + 3 * r->phase);

    return r->peak_rate * fmin(1, fmax(0.02, day * beat));
}

double request_demand(const struct sim_request *r, double at_s)
{
    return r->demand_steps > 0 ? stepped(r, at_s) : waved(r, at_s);
}
