/* quote.c - loop_quote() calls it with the present and the planner; the daemon and the
 * simulator get the same answer, and promise nothing else */
#include "loop/admit/quote.h"

#include "base/str.h"
#include "loop/admit/admit_check.h"
#include "loop/admit/quote_private.h"
#include "loop/estimate/predict.h"
#include "loop/cluster.h"
#include "loop/requirement.h"
#include "loop/unplaced.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Least power among the types that keep the requirement; the surest rate if none does. */
static bool better(const struct quote_option *a, double needed,
                   const struct quote_option *b)
{
    bool a_meets = a->sure >= needed, b_meets = b->sure >= needed;

    if (b->type < 0)
        return true;
    if (a_meets != b_meets)
        return a_meets;
    if (a_meets)
        return a->watts.value < b->watts.value;
    return a->sure > b->sure;
}

/* Measurements of this very kind leave open whether the type gives so much. */
static bool is_open(const struct estimate *rate, double needed)
{
    if (rate->source == ESTIMATE_INITIAL || needed <= rate->high)
        return true;
    return rate->source == ESTIMATE_CORRELATED && !rate->of_kind;
}

/* What must the job have, could it run here at all, and what could be promised of it at
 * best? */
void quote_survey(struct quote_search *f, double steps_done)
{
    const struct job_status asked = {.job = *f->job,
                                     .required_rate = f->job->need.rate,
                                     .demand = NAN,
                                     .steps_done = steps_done};
    const struct cluster *c = f->ground->now.cluster;

    f->needed = requirement_rate_kept(&asked, f->ground->now.now_s);
    f->confidence = requirement_confidence(f->ground->now.settings, f->job);
    f->best = (struct quote_option){.type = -1};
    f->any_type = f->open = false;
    f->chance = 0;
    for (int t = 0; t < c->type_count; t++) {
        struct quote_option option = {.type = t};
        struct prediction p;

        if (!requirement_allows_type(f->job, t) ||
            cluster_devices_of_type(c, t, false) < f->job->devices)
            continue;
        f->any_type = true;
        p = predict_alone(f->ground->now.model, f->job, t);
        if (p.fits < PREDICT_FITS_LEAST)
            continue; /* no planner would try it there: better said now than never */
        option.rate = p.rate[0];
        option.watts = p.watts;
        option.sure = estimate_at_confidence(&p.rate[0], f->confidence);
        f->open = f->open || is_open(&p.rate[0], f->needed);
        f->chance = fmax(f->chance, estimate_chance(&p.rate[0], f->needed));
        if (better(&option, f->needed, &f->best))
            f->best = option;
    }
}

/* The planner's own answer, with the job as the last to have come. */
static bool ask_planner(const struct quote_search *f, const struct job *job,
                        struct place_offer *offer)
{
    const struct planner *planner = f->ground->planner;
    struct job_status fresh = {.job = *job,
                               .state = JOB_WAITING,
                               .required_rate = job->need.rate,
                               .demand = NAN,
                               .started_s = NAN,
                               .placed_s = NAN};
    struct optimize_input in = f->ground->now;

    if (!planner->ops->offer)
        return false;
    fresh.job.submitted_s = in.now_s;
    if (f->ground->stamps)
        f->ground->stamps[in.job_count] =
            (struct job_stamp){.admitted = LONG_MAX, .id = job->id, .waits = true};
    f->ground->jobs[in.job_count++] = &fresh;
    planner->ops->offer(planner->self, &in, f->ground->terms, offer);
    return true;
}

/* ---- the place ---- */

const struct job_status *quote_status_of(const struct optimize_input *in, uint64_t id)
{
    for (size_t i = 0; i < in->job_count; i++)
        if (in->jobs[i]->job.id == id)
            return in->jobs[i];
    return NULL;
}

/* What is believed of the job on the first device of a place, beside whoever is there;
 * its watts are what the device draws more than without it. */
static void look_at_place(const struct quote_search *f, const struct job *job,
                          const struct place_offer *offer, struct quote *q)
{
    const struct optimize_input *in = &f->ground->now;
    const struct device *d = &in->cluster->devices[offer->devices[0]];
    struct combination where = {.type = d->type};
    struct prediction with, without;

    for (int k = 0; k < d->job_count && where.count < LOOP_MAX_SHARE - 1; k++) {
        const struct job_status *other = quote_status_of(in, d->jobs[k]);

        if (!other)
            continue;
        q->neighbour = other->job.id;
        where.members[where.count++] = (struct member){
            .job = &other->job, .nodes = 1, .demand = requirement_demand(other)};
    }
    if (where.count > 0)
        predict(in->model, &where, &without);
    where.members[where.count++] = (struct member){
        .job = job,
        .nodes = cluster_nodes_spanned(in->cluster, offer->devices, offer->device_count),
        .demand = job->kind == JOB_INFERENCE ? job->need.rate : 0};
    predict(in->model, &where, &with);
    q->type = d->type;
    q->node = d->node;
    q->rate = with.rate[where.count - 1];
    q->watts = with.watts;
    if (where.count == 1)
        return;
    q->watts.value = fmax(0, with.watts.value - without.watts.value);
    q->watts.low = fmin(q->watts.value, fmax(0, with.watts.low - without.watts.value));
    q->watts.high = fmax(q->watts.value, with.watts.high - without.watts.value);
}

static double wake_s(const struct cluster *c, const struct place_offer *offer)
{
    double wait_s = 0;

    for (int k = 0; k < offer->device_count; k++) {
        const struct node *n = &c->nodes[c->devices[offer->devices[k]].node];

        if (n->state != NODE_AWAKE)
            wait_s = fmax(wait_s, n->wake_s);
    }
    return wait_s;
}

static void take_place(const struct quote_search *f, const struct place_offer *offer,
                       struct quote *q)
{
    double wait_s = wake_s(f->ground->now.cluster, offer);

    q->verdict = QUOTE_ACCEPTED;
    q->device_count = offer->device_count;
    memcpy(q->devices, offer->devices, sizeof(q->devices));
    look_at_place(f, f->job, offer, q);
    q->start_s = offer->start_s + wait_s;
    snprintf(q->reason, sizeof(q->reason), "can start %s",
             wait_s > 0         ? "as soon as its node is awake"
             : q->neighbour > 0 ? "now, beside another job"
                                : "now");
}

/* ---- offers ---- */

static struct quote_offer *add_offer(struct quote *q, const char *kind)
{
    struct quote_offer *o;

    if (q->offer_count == QUOTE_MAX_OFFERS)
        return NULL;
    o = &q->offers[q->offer_count++];
    *o = (struct quote_offer){.kind = kind, .rate = NAN, .start_s = NAN, .type = -1};
    return o;
}

static void offer_lower(const struct quote_search *f, struct quote *q, double rate,
                        int type, const char *when)
{
    struct quote_offer *o = rate > PREDICT_LEAST ? add_offer(q, "lower_rate") : NULL;

    if (!o)
        return;
    o->rate = rate;
    o->type = type;
    snprintf(o->text, sizeof(o->text), "%.4g/s on a %s%s", rate,
             f->ground->now.cluster->types[type].name, when);
}

/* The same need on another number of GPUs: more when none is fast enough, fewer when not
 * so many are free. */
static void offer_gpus(const struct quote_search *f, struct quote *q)
{
    struct job other = *f->job;
    bool more = q->verdict == QUOTE_COUNTER;

    for (int tries = 0; tries < 3; tries++) {
        struct place_offer place;
        struct quote there = {0};
        struct quote_offer *o;

        other.devices = more ? other.devices * 2 : other.devices / 2;
        other.id = (f->job->id ^ (uint64_t)other.devices << 40) | QUOTE_ASKED;
        if (other.devices < 1 || other.devices > LOOP_MAX_GANG)
            return;
        if (!ask_planner(f, &other, &place) || !place.placed)
            continue;
        look_at_place(f, &other, &place, &there);
        if (estimate_at_confidence(&there.rate, f->confidence) < f->needed)
            continue;
        o = add_offer(q, "other_gpus");
        if (!o)
            return;
        o->gpus = other.devices;
        o->type = there.type;
        o->rate = there.rate.value;
        snprintf(o->text, sizeof(o->text), "the same rate on %d GPUs of type %s",
                 other.devices, f->ground->now.cluster->types[there.type].name);
        return;
    }
}

static void offer_later(struct quote *q, double now_s)
{
    struct quote_offer *o = isfinite(q->start_s) ? add_offer(q, "later") : NULL;

    if (!o)
        return;
    o->start_s = q->start_s;
    o->rate = q->rate.value;
    snprintf(o->text, sizeof(o->text), "the same rate in about %.0f minutes",
             fmax(1, ceil((q->start_s - now_s) / 60)));
}

/* ---- verdicts ---- */

static void refuse(const struct quote_search *f, struct quote *q)
{
    q->verdict = QUOTE_REFUSED;
    snprintf(q->reason, sizeof(q->reason),
             f->any_type ? "it does not fit into the memory of any allowed GPU type"
                         : "no allowed GPU type has %d devices here; ask for fewer",
             f->job->devices);
}

void quote_counter(const struct quote_search *f, struct quote *q)
{
    q->verdict = QUOTE_COUNTER;
    q->promised_rate = f->best.sure;
    q->start_s = f->ground->now.now_s;
    if (f->best.sure > PREDICT_LEAST)
        snprintf(q->reason, sizeof(q->reason),
                 "%.4g/s cannot be promised on any type; %.4g/s can", f->needed,
                 f->best.sure);
    else
        snprintf(q->reason, sizeof(q->reason), "%.4g/s cannot be promised on any type",
                 f->needed);
    offer_lower(f, q, f->best.sure, f->best.type, "");
}

static void queue_it(const struct quote_search *f, const struct place_offer *offer,
                     struct quote *q)
{
    struct quote slow = {0};

    q->verdict = QUOTE_QUEUED;
    q->start_s = offer->start_s;
    if (offer->ahead > 0)
        snprintf(q->reason, sizeof(q->reason), "waits for a device; %d job%s ahead",
                 offer->ahead, offer->ahead == 1 ? " is" : "s are");
    else
        unplaced_say(q->reason, sizeof(q->reason), offer->reason, f->job,
                     f->ground->now.cluster);
    offer_later(q, f->ground->now.now_s);
    if (offer->device_count > 0) {
        look_at_place(f, f->job, offer, &slow);
        offer_lower(f, q, estimate_at_confidence(&slow.rate, f->confidence), slow.type,
                    ", now");
    }
    if (f->job->devices > 1)
        offer_gpus(f, q);
}

/* Nobody knows whether it can be kept: it starts, and what it does decides. */
static void take_unpromised(struct quote_search *f, struct quote *q)
{
    struct place_offer offer = {.reason = UNPLACED_CAPACITY, .start_s = NAN};
    struct job asked = *f->job;
    char later[sizeof(q->reason)];
    bool placed;

    asked.unpromised = true;
    placed = ask_planner(f, &asked, &offer) && offer.placed;
    if (placed)
        take_place(f, &offer, q);
    else
        queue_it(f, &offer, q);
    str_copy(later, sizeof(later), q->reason);
    q->verdict = QUOTE_UNPROMISED;
    q->promised_rate = NAN;
    q->offer_count = 0;
    snprintf(q->reason, sizeof(q->reason), "not promised yet, %s: %.100s",
             f->best.rate.source == ESTIMATE_INITIAL ? "nothing like it was measured here"
                                                     : "what was measured leaves it open",
             later);
}

void quote_set_energy(struct quote *q, const struct job *job)
{
    double watts = q->watts.value * job->devices;
    double seconds = NAN, least = NAN, most = NAN;

    q->joules = q->joules_low = q->joules_high = q->joules_per_step = NAN;
    if (q->type < 0)
        return;
    q->joules_per_step = watts / q->rate.value;
    if (job->kind == JOB_INFERENCE && job->duration_s > 0)
        seconds = least = most = job->duration_s;
    if (job->kind == JOB_TRAINING && job->total_steps > 0) {
        seconds = job->total_steps / q->rate.value;
        least = job->total_steps / q->rate.high;
        most = job->total_steps / q->rate.low;
    }
    q->joules = watts * seconds;
    q->joules_low = q->watts.low * job->devices * least;
    q->joules_high = q->watts.high * job->devices * most;
    q->end_s = q->start_s + seconds;
}

static void add_spare(struct quote *q, const char *what, double minutes)
{
    size_t used = strlen(q->reason);

    snprintf(q->reason + used, sizeof(q->reason) - used,
             "; %sdone %.0f min %s its deadline", what, fabs(minutes),
             minutes < 0 ? "after" : "before");
}

/* A place that keeps the rate is not enough if it is free too late. */
static void judge_deadline(const struct job *job, struct quote *q)
{
    double spare_min = (job->need.deadline_s - q->end_s) / 60;

    if (job->need.kind != NEED_DEADLINE || !isfinite(spare_min) ||
        (q->verdict != QUOTE_ACCEPTED && q->verdict != QUOTE_QUEUED))
        return;
    if (spare_min >= 0) {
        add_spare(q, "", spare_min);
    } else if (q->verdict == QUOTE_QUEUED) {
        q->verdict = QUOTE_UNPROMISED;
        q->promised_rate = NAN;
        q->offer_count = 0;
        add_spare(q, "not promised: ", spare_min);
    }
}

static void quote_one(const struct quote_ground *ground, const struct job *job,
                      struct quote *q)
{
    struct quote_search f = {.ground = ground, .job = job};
    struct place_offer offer = {.reason = UNPLACED_CAPACITY, .start_s = NAN};

    quote_survey(&f, 0);
    *q = (struct quote){.replicas = 1,
                        .needed = f.needed,
                        .promised_rate = f.needed > 0 ? f.needed : NAN,
                        .confidence = f.confidence,
                        .chance = f.needed > 0 ? f.chance : NAN,
                        .rate = f.best.rate,
                        .watts = f.best.watts,
                        .type = f.best.type,
                        .node = -1,
                        .start_s = NAN,
                        .end_s = NAN};
    if (f.best.type < 0) {
        q->promised_rate = NAN;
        refuse(&f, q);
    } else if (f.needed > 0 && f.best.rate.source == ESTIMATE_INITIAL) {
        take_unpromised(&f, q);
    } else if (f.best.sure < f.needed && f.open) {
        take_unpromised(&f, q);
    } else if (f.best.sure < f.needed) {
        quote_counter(&f, q);
        offer_gpus(&f, q);
    } else if (ask_planner(&f, job, &offer) && offer.placed) {
        take_place(&f, &offer, q);
    } else {
        queue_it(&f, &offer, q);
    }
    quote_set_energy(q, job);
    judge_deadline(job, q);
}

static bool can_be_kept(const struct quote *q)
{
    return q->verdict == QUOTE_ACCEPTED || q->verdict == QUOTE_QUEUED;
}

int quote_make(const struct quote_ground *ground, const struct job *job, int max_replicas,
               const struct user_quota_ask *quota, struct quote *q, struct err *err)
{
    bool service = job->kind == JOB_INFERENCE && job->need.kind == NEED_SERVICE;
    struct quote shares;

    if (admit_check(job, ground->now.cluster, err) < 0 ||
        (quota && user_quota_admit(quota, err) < 0))
        return -1;
    quote_one(ground, job, q);
    for (int n = 2; n <= max_replicas && service && !can_be_kept(q); n++) {
        struct job share = *job;

        share.need.rate /= n;
        quote_one(ground, &share, &shares);
        if (!can_be_kept(&shares))
            continue;
        *q = shares;
        q->replicas = n;
        q->needed *= n;
        q->promised_rate *= n;
        q->joules *= n;
        q->joules_low *= n;
        q->joules_high *= n;
    }
    return 0;
}
