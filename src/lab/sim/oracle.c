/* oracle.c - a model that knows the truth: the bound that estimates are compared with */
#include "lab/sim/sim_private.h"

#include "engine/sim/sim_engine.h"
#include "loop/estimate/predict.h"

#include <stdlib.h>

struct oracle {
    const struct engine *engine;
};

static void oracle_predict(const void *self, struct prediction_cache *cache,
                           const struct combination *where, struct prediction *out)
{
    const struct oracle *oracle = self;
    struct truth_member members[LOOP_MAX_SHARE];
    struct truth_outcome outcome;

    (void)cache;
    for (int i = 0; i < where->count; i++) {
        struct sim_inspect_job job;

        if (!sim_inspect_job(oracle->engine, where->members[i].job->id,
                             sim_engine_now_s(oracle->engine), &job)) {
            *out = (struct prediction){0}; /* a job that is only asked about */
            return;
        }
        members[i] = (struct truth_member){.request = job.request,
                                           .nodes = where->members[i].nodes,
                                           .demand = job.demand};
    }
    truth_outcome(sim_inspect_truth(oracle->engine), where->type, where->cap_watts,
                  members, where->count, &outcome);
    for (int i = 0; i < where->count; i++)
        out->rate[i] = (struct estimate){.value = outcome.rate[i],
                                         .low = outcome.rate[i],
                                         .high = outcome.rate[i],
                                         .source = ESTIMATE_MEASURED};
    out->watts = (struct estimate){.value = outcome.watts,
                                   .low = outcome.watts,
                                   .high = outcome.watts,
                                   .source = ESTIMATE_MEASURED};
    out->fits = outcome.fits ? 1 : 0;
}

static void oracle_job(void *self, const struct job *job)
{
    (void)self;
    (void)job;
}

static void oracle_absorb(void *self, const struct observation *seen)
{
    (void)self;
    (void)seen;
}

static const struct model_ops oracle_ops = {
    .name = "oracle",
    .begin = oracle_job,
    .end = oracle_job,
    .predict = oracle_predict,
    .absorb = oracle_absorb,
    .destroy = free,
};

struct model sim_oracle_create(const struct engine *engine)
{
    struct oracle *oracle = mem_new(struct oracle);

    oracle->engine = engine;
    return (struct model){.ops = &oracle_ops, .self = oracle};
}
