/* promise_guard.c - see promise_guard.h */
#include "service/promise_guard.h"

#include "base/log.h"
#include "loop/estimate/predict.h"
#include "model/queueing.h"
#include "loop/requirement.h"
#include "service/daemon_metrics.h"
#include "service/decisions.h"
#include "service/lifecycle.h"
#include "service/rounds.h"
#include "service/views.h"

#include <math.h>
#include <stdio.h>

/* A lifted cap stays off for this long. */
#define UNCAPPED_S 3600.0

enum stage { STAGE_NONE, STAGE_CAP, STAGE_PLAN, STAGE_NEIGHBOUR, STAGE_MOVE, STAGE_LOST };

bool guard_is_broken(const struct record *r)
{
    return isfinite(r->watch.below_since_s);
}

/* What it must have now: never more than was promised. */
static double promised(const struct service *s, const struct record *r,
                       const struct job_status *status)
{
    double needed = requirement_rate_now(status, service_now_s(s));

    return isfinite(r->promised_rate) ? fmin(needed, fmax(r->promised_rate, 0)) : 0;
}

static void count_time(struct service *s, struct record *r, bool kept)
{
    double now_s = service_now_s(s);

    if (isfinite(r->watch.checked_s)) {
        s->promised_s += now_s - r->watch.checked_s;
        s->kept_s += kept ? now_s - r->watch.checked_s : 0;
    }
    r->watch.checked_s = now_s;
}

/* The 99th percentile is above what was asked for. */
static bool is_late(const struct service *s, const struct job_status *status,
                    const struct record *r)
{
    double limit = status->job.need.latency_s;

    return limit > 0 && r->latency_s > limit * (1 + s->config.guard.tolerance);
}

static bool is_kept(const struct service *s, const struct job_status *status,
                    const struct record *r, double wanted)
{
    double useful = queueing_useful(&status->job, r->rate);

    /* What was measured of latency itself says more than what follows from a rate. */
    if (status->job.need.latency_s > 0 && r->latency_s > 0)
        return !is_late(s, status, r) &&
               !(r->rate < wanted * (1 - s->config.guard.tolerance));
    return useful >= wanted * (1 - s->config.guard.tolerance);
}

/* ---- acts ------------------------------------------------------------------------- */

static bool lift_caps(struct service *s, const struct job_status *status)
{
    const struct cluster *c = loop_cluster(s->loop);
    double now_s = service_now_s(s);
    bool any = false;

    for (int i = 0; i < status->device_count; i++) {
        int d = status->devices[i];

        if (c->devices[d].cap_watts <= 0)
            continue;
        any = true;
        loop_uncap(s->loop, d, now_s + UNCAPPED_S);
        if (s->engine.ops->cap(s->engine.self, d, 0, NULL) == 0)
            loop_set_cap(s->loop, d, 0, now_s, NULL);
    }
    return any;
}

/* The neighbour that may move and matters least. */
static struct record *neighbour_to_go(struct service *s, const struct record *r,
                                      const struct job_status *status)
{
    const struct cluster *c = loop_cluster(s->loop);
    struct record *found = NULL;

    for (int i = 0; i < status->device_count; i++) {
        const struct device *d = &c->devices[status->devices[i]];

        for (int k = 0; k < d->job_count; k++) {
            struct record *other = records_get(s->records, d->jobs[k]);

            if (!other || other == r || !record_job(other)->may_move ||
                record_job(other)->priority > record_job(r)->priority)
                continue;
            if (!found || record_job(other)->priority < record_job(found)->priority ||
                record_job(other)->need.kind == NEED_BEST_EFFORT)
                found = other;
        }
    }
    return found;
}

static bool has_neighbours(const struct service *s, const struct job_status *status)
{
    for (int i = 0; i < status->device_count; i++)
        if (loop_cluster(s->loop)->devices[status->devices[i]].job_count > 1)
            return true;
    return false;
}

/* Is some other type believed to keep the promise? */
static bool better_elsewhere(struct service *s, const struct job_status *status,
                             double wanted)
{
    const struct cluster *c = loop_cluster(s->loop);
    int here = c->devices[status->devices[0]].type;

    for (int t = 0; t < c->type_count; t++) {
        struct prediction p;

        if (t == here ||
            (status->job.types_allowed && !(status->job.types_allowed >> t & 1)))
            continue;
        p = predict_alone_now(service_model(s), status, t);
        if (p.fits >= PREDICT_FITS_LEAST && p.rate[0].value >= wanted)
            return true;
    }
    return false;
}

struct act {
    const char *action; /* as in the store */
    const char *broken; /* what does not hold: rate or latency */
    double promised, measured;
    char reason[208];
    struct record *evict;
    bool move;
};

/* The next thing to try that is possible. */
static struct act choose(struct service *s, struct record *r,
                         const struct job_status *status, double wanted)
{
    struct act act = {.action = "none"};
    bool late = is_late(s, status, r);
    const char *rate =
        late ? "answers later than promised" : "measured below the promise";

    act.broken = late ? "latency" : "rate";
    act.promised = late ? status->job.need.latency_s : wanted;
    act.measured = late ? r->latency_s : r->rate;

    if (r->watch.stage < STAGE_CAP && lift_caps(s, status)) {
        r->watch.stage = STAGE_CAP;
        act.action = "lift_cap";
        snprintf(act.reason, sizeof(act.reason), "%s: the power limit is lifted", rate);
        return act;
    }
    if (r->watch.stage < STAGE_PLAN && has_neighbours(s, status)) {
        r->watch.stage = STAGE_PLAN;
        act.action = "replan";
        snprintf(act.reason, sizeof(act.reason),
                 "%s beside its neighbour: a new plan is made", rate);
        return act;
    }
    act.evict = r->watch.stage < STAGE_NEIGHBOUR ? neighbour_to_go(s, r, status) : NULL;
    if (act.evict) {
        r->watch.stage = STAGE_NEIGHBOUR;
        act.action = "move_neighbour";
        snprintf(act.reason, sizeof(act.reason), "%s: job %llu beside it has to leave",
                 rate, (unsigned long long)act.evict->id);
        return act;
    }
    if (r->watch.stage < STAGE_MOVE && status->job.may_move &&
        better_elsewhere(s, status, wanted)) {
        r->watch.stage = STAGE_MOVE;
        act.action = "move_job";
        act.move = true;
        snprintf(act.reason, sizeof(act.reason), "%s: it goes elsewhere", rate);
        return act;
    }
    r->watch.stage = STAGE_LOST;
    snprintf(act.reason, sizeof(act.reason), "%s, and nothing is left to try here", rate);
    return act;
}

static void record_act(struct service *s, struct tx *tx, struct record *r,
                       const struct job_status *status, const struct act *act)
{
    double now_s = service_now_s(s);
    const char *device = s->devices[status->devices[0]].name;
    struct str data = {0};
    struct json_out out;

    store_add_guard(tx_batch(tx),
                    &(struct store_guard){.job = r->id,
                                          .at_s = now_s,
                                          .kind = act->broken,
                                          .promised = act->promised,
                                          .measured = act->measured,
                                          .window_s = now_s - r->watch.below_since_s,
                                          .device = device,
                                          .action = act->action,
                                          .reason = act->reason});
    decisions_note(s, tx, r, "guard", device, act->reason);
    json_out_init(&out, &data, false);
    json_out_begin_object(&out);
    json_out_key_int(&out, "job", (int64_t)r->id);
    json_out_key_number(&out, "at_s", now_s);
    json_out_key_string(&out, "broken", act->broken);
    json_out_key_number(&out, "promised", act->promised);
    json_out_key_number(&out, "measured", act->measured);
    json_out_key_string(&out, "action", act->action);
    json_out_key_string(&out, "reason", act->reason);
    json_out_end(&out);
    tx_event(tx, "guard", r, &data);
    log_warn("promise_broken", LOG_U64("job", r->id), LOG_STR("broken", act->broken),
             LOG_NUM("promised", act->promised), LOG_NUM("measured", act->measured),
             LOG_STR("action", act->action));
    daemon_metrics_guard(s, act->action);
}

static void act_on(struct service *s, struct record *r, const struct job_status *status,
                   double wanted)
{
    struct act act = choose(s, r, status, wanted);
    struct tx *tx = tx_begin(s);

    r->watch.acted_s = service_now_s(s);
    record_act(s, tx, r, status, &act);
    if (act.evict)
        lifecycle_requeue(s, tx, act.evict,
                          &(struct why){.code = "policy",
                                        .text = "had to leave: it slowed down a job that "
                                                "was promised more"});
    if (act.move)
        lifecycle_requeue(
            s, tx, r,
            &(struct why){.code = "policy",
                          .text = "too slow where it was: it goes elsewhere"});
    tx_commit(tx, NULL, NULL);
    rounds_poke(s);
}

void guard_check(struct service *s, struct record *r)
{
    const struct service_guard_config *g = &s->config.guard;
    const struct job_status *status = loop_job(s->loop, r->id);
    double now_s = service_now_s(s), wanted;

    if (!status || status->state != JOB_RUNNING)
        return;
    wanted = promised(s, r, status);
    if (!(wanted > 0)) {
        r->watch.below_since_s = NAN;
        return;
    }
    if (is_kept(s, status, r, wanted)) {
        count_time(s, r, true);
        r->watch.below_since_s = NAN;
        r->watch.stage = STAGE_NONE;
        return;
    }
    count_time(s, r, false);
    if (!isfinite(r->watch.below_since_s))
        r->watch.below_since_s = now_s;
    if (!g->on || now_s - r->watch.below_since_s < g->window_s ||
        (isfinite(r->watch.acted_s) && now_s - r->watch.acted_s < g->cooldown_s) ||
        r->watch.stage == STAGE_LOST)
        return;
    act_on(s, r, status, wanted);
}
