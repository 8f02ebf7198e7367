/* decision.c - loop_round_end() calls it after a plan was applied, for each action and
 * each job that falls short; what it fills goes to the daemon's ledger or the
 * simulator's */
#include "loop/place/decision.h"

#include "loop/estimate/predict.h"
#include "loop/cluster.h"
#include "loop/requirement.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* What is believed of a job where it sits. */
struct outlook {
    struct estimate rate;
    double watts;  /* of all its devices, its own share */
    double joules; /* for the rest of the job; NaN: not known */
};

static double seconds_left(const struct job_status *status, double rate, double now_s)
{
    const struct job *job = &status->job;

    if (job->kind == JOB_TRAINING && job->total_steps > 0)
        return fmax(0, job->total_steps - status->steps_done) / rate;
    if (job->kind == JOB_INFERENCE && job->duration_s > 0)
        return job->duration_s -
               (isfinite(status->started_s) ? now_s - status->started_s : 0);
    return NAN;
}

static struct combination combination_on(const struct decision_ground *g, int device)
{
    const struct device *d = &g->cluster->devices[device];
    struct combination where = {
        .type = d->type, .cap_watts = d->cap_watts, .count = d->job_count};

    for (int k = 0; k < d->job_count; k++) {
        const struct job_status *other = jobs_get(g->jobs, d->jobs[k]);

        where.members[k] =
            (struct member){.job = &other->job,
                            .nodes = cluster_nodes_spanned(g->cluster, other->devices,
                                                           other->device_count),
                            .demand = requirement_demand(other)};
    }
    return where;
}

/* The slowest device sets the pace of a gang. */
static struct outlook outlook_here(const struct decision_ground *g,
                                   const struct job_status *status)
{
    struct outlook o = {.rate = {.value = INFINITY}};

    for (int i = 0; i < status->device_count; i++) {
        struct combination where = combination_on(g, status->devices[i]);
        struct prediction p;
        int at = 0;

        while (where.members[at].job != &status->job)
            at++;
        predict(g->model, &where, &p);
        if (p.rate[at].value < o.rate.value)
            o.rate = p.rate[at];
        o.watts += p.watts.value / where.count;
    }
    o.joules = o.watts * seconds_left(status, o.rate.value, g->now_s);
    return o;
}

static void alternative(const struct decision_ground *g, const struct job_status *status,
                        const struct outlook *here, int type,
                        struct decision_alternative *out)
{
    struct prediction p = predict_alone_now(g->model, status, type);
    double confidence = requirement_confidence(g->settings, &status->job);
    double watts = p.watts.value * status->job.devices;
    bool fits = p.fits >= PREDICT_FITS_LEAST;
    bool fast = fits && estimate_at_confidence(&p.rate[0], confidence) >=
                            requirement_rate_now(status, g->now_s);
    bool is_free = cluster_devices_of_type(g->cluster, type, true) >= status->job.devices;

    *out = (struct decision_alternative){
        .type = type,
        .verdict = !fast      ? "too_slow"
                   : !is_free ? "taken"
                              : "possible",
        .rate = p.rate[0].value,
        .more_watts = watts - here->watts,
        .more_joules =
            watts * seconds_left(status, p.rate[0].value, g->now_s) - here->joules,
    };
    snprintf(out->text, sizeof(out->text), "alone on %s: %.4g/s for %.0f W%s",
             g->cluster->types[type].name, p.rate[0].value, watts,
             !fits      ? ", too little memory"
             : !fast    ? ", below what it needs"
             : !is_free ? ", none free"
                        : "");
}

static void list_alternatives(const struct decision_ground *g,
                              const struct job_status *status, const struct outlook *here,
                              struct decision *out)
{
    const struct device *d = &g->cluster->devices[status->devices[0]];
    bool alone = d->job_count == 1 && d->cap_watts == 0;

    for (int t = 0; t < g->cluster->type_count; t++)
        if (requirement_allows_type(&status->job, t) && !(t == d->type && alone) &&
            out->alternative_count < DECISION_ALTERNATIVES)
            alternative(g, status, here, t, &out->alternatives[out->alternative_count++]);
}

static void begin(const struct decision_ground *g, uint64_t job, const char *kind,
                  struct decision *out)
{
    *out = (struct decision){.job = job,
                             .kind = kind,
                             .at_s = g->now_s,
                             .rate = NAN,
                             .watts = NAN,
                             .joules = NAN};
}

static void fill_placed(const struct decision_ground *g, const struct action *a,
                        struct decision *out)
{
    const struct job_status *status = jobs_get(g->jobs, a->job);
    struct outlook here = outlook_here(g, status);
    bool moved = a->kind == ACTION_MOVE;

    begin(g, a->job, moved ? "move" : "start", out);
    out->device_count = a->device_count;
    memcpy(out->devices, a->devices, sizeof(out->devices));
    out->rate = here.rate.value;
    out->watts = here.watts;
    out->joules = here.joules;
    snprintf(out->reason, sizeof(out->reason), "%s",
             moved ? "costs less, or keeps a promise, even with the work a move loses"
                   : "the least cost that keeps what was promised");
    list_alternatives(g, status, &here, out);
}

static bool fill_cap(const struct decision_ground *g, const struct action *a,
                     struct decision *out)
{
    const struct device *d = &g->cluster->devices[a->device];

    if (d->job_count == 0)
        return false;
    begin(g, d->jobs[0], "cap", out);
    out->device_count = 1;
    out->devices[0] = a->device;
    if (a->cap_watts > 0)
        snprintf(out->reason, sizeof(out->reason),
                 "power limit of %.0f W: the work there takes the least energy with it",
                 a->cap_watts);
    else
        snprintf(out->reason, sizeof(out->reason), "power limit lifted");
    return true;
}

bool decision_of_action(const struct decision_ground *g, const struct action *a,
                        struct decision *out)
{
    switch (a->kind) {
    case ACTION_START:
    case ACTION_MOVE:
        fill_placed(g, a, out);
        return true;
    case ACTION_STOP:
        begin(g, a->job, "stop", out);
        snprintf(out->reason, sizeof(out->reason),
                 "stopped to make room; it goes on later");
        return true;
    case ACTION_CAP:
        return fill_cap(g, a, out);
    case ACTION_WAKE:
    case ACTION_SLEEP:
        break;
    }
    return false;
}

void decision_of_mend(const struct decision_ground *g, const struct plan_mend *mend,
                      struct decision *out)
{
    static const char *const names[] = {"move_job", "move_neighbour", "lift_cap", "none",
                                        "none"};
    static const char *const helps[] = {
        "it goes to a better place",
        "a job beside it goes elsewhere",
        "the power limit is lifted",
        "no better place is free, so it keeps what it has",
        "it may not be moved, so it keeps what it has",
    };
    const struct job_status *status = jobs_get(g->jobs, mend->job);

    begin(g, mend->job, "guard", out);
    out->help = names[mend->help];
    out->needed = mend->needed;
    out->rate = mend->rate;
    out->device_count = status->device_count;
    memcpy(out->devices, status->devices, sizeof(out->devices));
    if (status->job.need.latency_s > 0 &&
        status->pace.latency_s > status->job.need.latency_s)
        snprintf(out->reason, sizeof(out->reason),
                 "answers later than promised, after %.3g s instead of %.3g s: %s",
                 status->pace.latency_s, status->job.need.latency_s, helps[mend->help]);
    else
        snprintf(out->reason, sizeof(out->reason),
                 "measured %.4g/s, below the promise of %.4g/s: %s", mend->rate,
                 mend->needed, helps[mend->help]);
}
