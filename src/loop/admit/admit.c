/* admit.c - see admit.h */
#include "loop/admit/admit.h"

#include "loop/cluster.h"
#include "loop/estimate/predict.h"
#include "loop/requirement.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define RATE_MAX  1e9
#define STEPS_MAX 1e15
#define TIME_MAX  (100 * 365.25 * 86400)

static bool within(double x, double low, double high)
{
    return isfinite(x) && x >= low && x <= high;
}

static int check_need(const struct job *job, struct err *err)
{
    const struct requirement *n = &job->need;

    if (!within(n->confidence, 0, 0.999))
        return err_set(err, ERR_INVALID, "confidence %g is not within 0 and 0.999",
                       n->confidence);
    if ((n->kind == NEED_RATE || n->kind == NEED_SERVICE) && !(n->rate > 0))
        return err_set(err, ERR_INVALID, "a required rate must be above 0, not %g",
                       n->rate);
    if (!within(n->rate, 0, RATE_MAX))
        return err_set(err, ERR_INVALID, "rate %g is not within 0 and %g", n->rate,
                       RATE_MAX);
    if (!within(n->latency_s, 0, 3600))
        return err_set(err, ERR_INVALID, "latency %g s is not within 0 and 3600",
                       n->latency_s);
    if (n->kind == NEED_DEADLINE && !(job->total_steps > 0))
        return err_set(err, ERR_INVALID, "a deadline needs the total number of steps");
    if (n->kind == NEED_DEADLINE && !within(n->deadline_s, -TIME_MAX, TIME_MAX))
        return err_set(err, ERR_INVALID, "deadline %g s is out of range", n->deadline_s);
    if (n->kind == NEED_DEADLINE && n->deadline_s <= job->submitted_s)
        return err_set(err, ERR_INVALID, "the deadline is not after the submission");
    if (n->kind == NEED_SERVICE && job->kind != JOB_INFERENCE)
        return err_set(err, ERR_INVALID,
                       "requests/s can only be asked of inference jobs");
    return 0;
}

int admit_check(const struct job *job, const struct cluster *cluster, struct err *err)
{
    if (job->devices < 1 || job->devices > LOOP_MAX_GANG)
        return err_set(err, ERR_INVALID, "%d GPUs asked for; 1 to %d are possible",
                       job->devices, LOOP_MAX_GANG);
    if (!within(job->submitted_s, -TIME_MAX, TIME_MAX))
        return err_set(err, ERR_INVALID, "submission time %g s is out of range",
                       job->submitted_s);
    if (!within(job->total_steps, 0, STEPS_MAX))
        return err_set(err, ERR_INVALID, "%g steps are not within 0 and %g",
                       job->total_steps, STEPS_MAX);
    if (!within(job->duration_s, 0, TIME_MAX))
        return err_set(err, ERR_INVALID, "duration %g s is out of range",
                       job->duration_s);
    if (!within(job->memory_gb, 0, 1e5))
        return err_set(err, ERR_INVALID, "%g GB of GPU memory is out of range",
                       job->memory_gb);
    if (job->types_allowed && cluster->type_count < 64 &&
        job->types_allowed >> cluster->type_count)
        return err_set(err, ERR_INVALID, "a GPU type is allowed that the cluster lacks");
    if (job->descriptor.batch < 0 || !within(job->descriptor.gmac_per_sample, 0, 1e9) ||
        !within(job->descriptor.params_millions, 0, 1e9) ||
        !within(job->descriptor.memory_mb_per_sample, 0, 1e9))
        return err_set(err, ERR_INVALID,
                       "a figure of the job's description is out of range");
    return check_need(job, err);
}

static int devices_of_type(const struct cluster *cluster, int type)
{
    int count = 0;

    for (int d = 0; d < cluster->device_count; d++)
        count += cluster->devices[d].type == type && !cluster->devices[d].failed;
    return count;
}

static bool type_possible(const struct job *job, const struct cluster *cluster, int type)
{
    return (!job->types_allowed || job->types_allowed >> type & 1) &&
           devices_of_type(cluster, type) >= job->devices;
}

/* Least power among the types that keep the requirement; the surest rate if none does. */
static bool better(const struct admission *a, double needed, const struct admission *b)
{
    bool a_meets = a->promised_rate >= needed, b_meets = b->promised_rate >= needed;

    if (b->type < 0)
        return true;
    if (a_meets != b_meets)
        return a_meets;
    if (a_meets)
        return a->watts.value < b->watts.value;
    return a->promised_rate > b->promised_rate;
}

static void explain(const struct job *job, double needed, bool any_type,
                    struct admission *out)
{
    if (out->type < 0) {
        out->verdict = ADMIT_REFUSED;
        snprintf(out->reason, sizeof(out->reason),
                 any_type ? "it does not fit into the memory of any allowed GPU type"
                          : "no allowed GPU type has %d devices here; ask for fewer",
                 job->devices);
    } else if (out->promised_rate < needed) {
        out->verdict = ADMIT_COUNTER;
        out->counter_rate = out->promised_rate;
        snprintf(out->reason, sizeof(out->reason),
                 "%.4g/s cannot be promised on any type; %.4g/s can", needed,
                 out->promised_rate);
    } else {
        out->verdict = ADMIT_ACCEPTED;
    }
}

void admit_decide(const struct job *job, const struct cluster *cluster,
                  struct model *model, const struct optimize_settings *settings,
                  struct admission *out)
{
    const struct job_status fresh = {.job = *job, .required_rate = job->need.rate};
    double needed = requirement_rate_now(&fresh, job->submitted_s);
    double confidence = fmax(settings->confidence, job->need.confidence);
    bool any_type = false;

    *out = (struct admission){.type = -1};
    for (int t = 0; t < cluster->type_count; t++) {
        struct admission offer = {.type = t};
        struct prediction p;

        if (!type_possible(job, cluster, t))
            continue;
        any_type = true;
        p = predict_alone(model, job, t);
        if (p.fits < PREDICT_FITS_LEAST)
            continue; /* no planner would try it there: better said now than never */
        offer.rate = p.rate[0];
        offer.watts = p.watts;
        offer.promised_rate = estimate_at_confidence(&p.rate[0], confidence);
        if (better(&offer, needed, out))
            *out = offer;
    }
    explain(job, needed, any_type, out);
}

const char *admit_verdict_name(enum verdict verdict)
{
    static const char *const names[] = {"accepted", "counter-offer", "refused"};

    return names[verdict];
}
