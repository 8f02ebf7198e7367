/* requirement.c - see requirement.h */
#include "loop/requirement.h"

#include <math.h>

/* Nobody asks: hardly any requests/s, which is not the same as all there can be. */
#define DEMAND_LEAST 1e-9

double requirement_rate_now(const struct job_status *status, double now_s)
{
    const struct requirement *need = &status->job.need;
    double left_s, steps;

    switch (need->kind) {
    case NEED_BEST_EFFORT:
        return 0;
    case NEED_RATE:
    case NEED_SERVICE:
        return status->required_rate;
    case NEED_DEADLINE:
        left_s = need->deadline_s - now_s;
        steps = fmax(0, status->job.total_steps - status->steps_done);
        return left_s > 0 ? steps / left_s : 0;
    }
    return 0;
}

double requirement_rate_kept(const struct job_status *status, double now_s)
{
    if (status->job.need.kind == NEED_SERVICE && !isnan(status->demand))
        return status->demand;
    return requirement_rate_now(status, now_s);
}

double requirement_slack_s(const struct job_status *status, double now_s)
{
    const struct job *job = &status->job;
    double rate = status->pace.rate;

    if (job->need.kind != NEED_DEADLINE)
        return INFINITY;
    if (!(rate > 0) && status->quoted.given)
        rate = status->quoted.rate.value;
    return job->need.deadline_s - now_s -
           (rate > 0 ? fmax(0, job->total_steps - status->steps_done) / rate : 0);
}

double requirement_demand(const struct job_status *status)
{
    if (status->job.kind != JOB_INFERENCE)
        return 0;
    if (isnan(status->demand))
        return status->job.need.rate;
    return fmax(status->demand, DEMAND_LEAST);
}

double requirement_confidence(const struct optimize_settings *settings,
                              const struct job *job)
{
    bool can_leave = settings->moves && job->may_move && settings->trial_confidence > 0;

    return fmax(can_leave ? settings->trial_confidence : settings->confidence,
                job->need.confidence);
}

bool requirement_allows_type(const struct job *job, int type)
{
    return !job->types_allowed || job->types_allowed >> type & 1;
}

const char *const requirement_kind_names[] = {"best_effort", "rate", "service",
                                              "deadline", NULL};
