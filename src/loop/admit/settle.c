/* settle.c - a job that was taken without a promise gets one, or an offer: loop_measure()
 * asks with every window once it has been measured for a minute */
#include "loop/admit/quote_private.h"
#include "loop/cluster.h"
#include "loop/estimate/predict.h"
#include "loop/recent_rate.h"
#include "loop/requirement.h"

#include <math.h>
#include <stdio.h>

static struct member member_of(const struct optimize_input *in,
                               const struct job_status *job)
{
    return (struct member){
        .job = &job->job,
        .nodes = cluster_nodes_spanned(in->cluster, job->devices, job->device_count),
        .demand = requirement_demand(job)};
}

/* What is believed of the job where it is, beside whoever is there. */
static struct estimate rate_here(const struct optimize_input *in,
                                 const struct job_status *status)
{
    const struct device *d = &in->cluster->devices[status->devices[0]];
    struct combination where = {.type = d->type, .cap_watts = d->cap_watts, .count = 1};
    struct prediction p;

    where.members[0] = member_of(in, status);
    for (int k = 0; k < d->job_count && where.count < LOOP_MAX_SHARE; k++) {
        const struct job_status *other = quote_status_of(in, d->jobs[k]);

        if (other && other != status)
            where.members[where.count++] = member_of(in, other);
    }
    predict(in->model, &where, &p);
    return p.rate[0];
}

static bool may_go_elsewhere(const struct quote_search *f)
{
    return f->ground->now.settings->moves && f->job->may_move &&
           f->chance >= QUOTE_CHANCE_LEAST;
}

bool quote_settle(const struct quote_ground *ground, const struct job_status *status,
                  struct quote *q)
{
    struct quote_search f = {.ground = ground, .job = &status->job};
    const struct cluster *c = ground->now.cluster;
    struct estimate here = rate_here(&ground->now, status);
    bool service = status->job.kind == JOB_INFERENCE;
    bool short_now =
        recent_rate_falls_short(status, requirement_rate_kept(status, ground->now.now_s));
    double confidence, sure;

    quote_survey(&f, status->steps_done);
    confidence = fmax(f.confidence, ground->now.settings->confidence);
    sure = estimate_at_confidence(&here, confidence);
    *q = (struct quote){.replicas = 1,
                        .needed = f.needed,
                        .promised_rate = f.needed,
                        .confidence = confidence,
                        .chance = f.chance,
                        .rate = here,
                        .watts = f.best.watts,
                        .type = c->devices[status->devices[0]].type,
                        .node = c->devices[status->devices[0]].node,
                        .start_s = status->started_s,
                        .end_s = NAN};
    if (sure >= f.needed && !short_now) {
        q->verdict = QUOTE_ACCEPTED;
        snprintf(q->reason, sizeof(q->reason), "promised after it was measured");
    } else if (may_go_elsewhere(&f) || (service && !short_now)) {
        return false; /* what a service could do that does all it is asked is not seen */
    } else {
        if (sure > f.best.sure)
            f.best = (struct quote_option){q->type, here, q->watts, sure};
        quote_counter(&f, q);
    }
    quote_set_energy(q, &status->job);
    return true;
}
