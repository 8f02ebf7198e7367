/* recent_rate.c - loop_measure() notes each window, planners read what it comes to */
#include "loop/recent_rate.h"

#include "base/rng.h"
#include "loop/requirement.h"
#include "model/queueing.h"

#include <math.h>

/* The newest window weighs at least this much: noise is smoothed, change is seen. */
#define NEWEST_WEIGHT 0.25

/* One late window is noise, so evidence adds up: the log of how late each window was,
 * less some slack.  Once it comes to so much a promise on latency is broken: after one
 * window half as late again, or nine that are a tenth too late.  The 99th percentile of
 * few answers is the latest of them: so many count half. */
#define LATE_SLACK  0.05
#define LATE_ENOUGH 0.4
#define LATE_HALF   100.0

static uint64_t company_of(const struct job_status *status, const struct cluster *cluster)
{
    uint64_t others = 0;

    for (int k = 0; k < status->device_count; k++) {
        const struct device *dev = &cluster->devices[status->devices[k]];

        for (int i = 0; i < dev->job_count; i++)
            if (dev->jobs[i] != status->job.id)
                others += rng_mix(dev->jobs[i], 1); /* their order does not matter */
        others += rng_mix((uint64_t)status->devices[k], 2);
    }
    return others;
}

/* What a service answered counts less where that came later than was promised.  Answers
 * of one with too many requests come ever later: it could do so many in time. */
static double useful_rate(const struct job_status *status, const struct measurement *m)
{
    double limit_s = status->job.need.latency_s;

    if (!(limit_s > 0 && m->latency_s > limit_s))
        return m->rate;
    return fmax(m->rate * limit_s / m->latency_s, queueing_useful(&status->job, m->rate));
}

/* The evidence that it answers too late, with one more window. */
static double lateness(const struct job_status *status, const struct measurement *m)
{
    double answers = m->rate * m->window_s, limit_s = status->job.need.latency_s;
    double over = log(m->latency_s / limit_s) - LATE_SLACK;

    if (!(limit_s > 0 && m->latency_s > 0))
        return 0;
    return fmax(
        0, fmin(LATE_ENOUGH, status->pace.late + over * answers / (answers + LATE_HALF)));
}

/* A CPU device of a fifth of a core answers in bursts of a whole one, then rests. */
static double workers_of(const struct job_status *status, const struct cluster *cluster)
{
    double workers = 0;

    for (int i = 0; i < status->device_count; i++) {
        int type = cluster->devices[status->devices[i]].type;

        workers += cluster->types[type].cores > 0 ? cluster->types[type].cores : 1;
    }
    return workers;
}

static bool on_cores(const struct job_status *status, const struct cluster *cluster)
{
    return cluster->types[cluster->devices[status->devices[0]].type].cores > 0;
}

static void note_service(struct job_status *status, const struct cluster *cluster,
                         const struct measurement *m)
{
    struct recent_rate *p = &status->pace;
    struct service_window w = {.window_s = m->window_s,
                               .answered = m->rate,
                               .asked = NAN,
                               .busy = m->busy,
                               .latency_s = m->latency_s,
                               .median_s = m->median_s,
                               .held = m->held,
                               .workers = workers_of(status, cluster),
                               .shared = on_cores(status, cluster)};

    /* Demand that moved within the window was not all its time what it is now. */
    if (!isnan(status->demand))
        w.asked = fmin(status->asked, status->asked_least);
    w.owed = isnan(w.asked) ? NAN : fmin(w.asked, status->job.need.rate);
    status->asked_least = status->asked;
    services_note(&p->serving, &w);
    p->asked = w.owed;
    p->latency_s = m->latency_s;
    p->late = lateness(status, m);
}

/* Measured under other circumstances: what was is no more. */
static void begin_anew(struct recent_rate *p, uint64_t company, double cap_watts)
{
    struct service_seen serving = p->serving;

    services_moved(&serving);
    *p = (struct recent_rate){
        .company = company, .cap_watts = cap_watts, .serving = serving};
}

void recent_rate_note(struct job_status *status, const struct cluster *cluster,
                      const struct measurement *m)
{
    uint64_t company = company_of(status, cluster);
    double cap_watts = cluster->devices[status->devices[0]].cap_watts;
    struct recent_rate *p = &status->pace;
    double weight;

    if (p->company != company || p->cap_watts < cap_watts || p->cap_watts > cap_watts)
        begin_anew(p, company, cap_watts);
    p->windows++;
    weight = fmax(1.0 / p->windows, NEWEST_WEIGHT);
    p->rate += weight * (useful_rate(status, m) - p->rate);
    if (isfinite(m->device_watts))
        p->watts += (p->watts > 0 ? weight : 1) * (m->device_watts - p->watts);
    p->at_s = m->at_s;
    if (status->job.kind == JOB_INFERENCE)
        note_service(status, cluster, m);
    if (recent_rate_falls_short(status, requirement_rate_kept(status, m->at_s)))
        status->short_s += m->window_s;
}

bool recent_rate_falls_short(const struct job_status *status, double rate)
{
    const struct recent_rate *p = &status->pace;

    if (status->job.kind != JOB_INFERENCE)
        return p->rate < rate;
    return !services_keeps_up(&p->serving) ||
           (p->late >= LATE_ENOUGH && p->latency_s > status->job.need.latency_s);
}

double recent_rate_capacity(const struct job_status *status)
{
    struct service_capacity can = services_capacity(&status->pace.serving);

    return can.floor ? NAN : can.rate;
}

bool recent_rate_known(const struct job_status *status, const struct cluster *cluster)
{
    return status->pace.windows > 0 && status->device_count > 0 &&
           status->pace.company == company_of(status, cluster);
}
