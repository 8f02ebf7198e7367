/* quote.c - see quote.h */
#include "service/quote.h"

#include "loop/admit/admit.h"
#include "loop/estimate/predict.h"
#include "loop/cluster.h"
#include "loop/requirement.h"
#include "service/forecast.h"
#include "service/views.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Ids of jobs that are only asked about: no job ever has one of these. */
#define ASKED_ID UINT64_MAX

/* Devices with a job that are looked at as places to share, on each type. */
#define SHARE_TRIES 6

struct option { /* a place it could have now */
    int type, node;
    uint64_t neighbour;
    struct estimate rate, watts; /* watts beyond what is drawn anyway */
    double sure;
    double wait_s; /* for its nodes to wake */
};

struct search {
    struct service *s;
    const struct job *job;
    double needed, confidence;
    int ahead;                    /* jobs that wait and would go first */
    struct option best, fallback; /* meets the need; is free but does not */
    bool found, free_but_slow;
};

static bool type_allowed(const struct job *job, int type)
{
    return !job->types_allowed || job->types_allowed >> type & 1;
}

/* Free devices of a type, awake ones counted first, and a node to name. */
static int free_devices(const struct service *s, int type, int *node, double *wait_s)
{
    const struct cluster *c = loop_cluster(s->loop);
    int count = 0;

    *node = -1;
    *wait_s = 0;
    for (int d = 0; d < c->device_count; d++) {
        const struct node *n = &c->nodes[c->devices[d].node];
        bool awake = n->state == NODE_AWAKE;

        if (c->devices[d].type != type || c->devices[d].job_count > 0 ||
            !cluster_device_usable(c, d))
            continue;
        count++;
        if (*node < 0 || (awake && *wait_s > 0)) {
            *node = c->devices[d].node;
            *wait_s = awake ? 0 : n->wake_s;
        }
    }
    return count;
}

static void consider(struct search *f, const struct option *o)
{
    bool meets = o->sure >= f->needed;

    if (meets && (!f->found || o->watts.value < f->best.watts.value)) {
        f->best = *o;
        f->found = true;
    }
    if (!meets && (!f->free_but_slow || o->sure > f->fallback.sure)) {
        f->fallback = *o;
        f->free_but_slow = true;
    }
}

static void try_alone(struct search *f, int type)
{
    struct prediction p = predict_alone(service_model(f->s), f->job, type);
    struct option o = {.type = type, .rate = p.rate[0], .watts = p.watts};

    if (p.fits < PREDICT_FITS_LEAST ||
        free_devices(f->s, type, &o.node, &o.wait_s) < f->job->devices + f->ahead)
        return;
    o.sure = estimate_at_confidence(&o.rate, f->confidence);
    consider(f, &o);
}

/* Beside one that runs alone on a device, if both keep what they need. */
static bool try_beside(struct search *f, int device)
{
    const struct cluster *c = loop_cluster(f->s->loop);
    const struct device *d = &c->devices[device];
    const struct job_status *other = loop_job(f->s->loop, d->jobs[0]);
    struct combination where = {.type = d->type, .cap_watts = d->cap_watts, .count = 2};
    struct prediction both, alone;
    struct option o = {.type = d->type, .node = d->node, .neighbour = d->jobs[0]};

    if (!other || !other->job.may_share || other->job.devices != 1)
        return false;
    where.members[0] = (struct member){
        .job = &other->job, .nodes = 1, .demand = requirement_demand(other)};
    where.members[1] =
        (struct member){.job = f->job,
                        .nodes = 1,
                        .demand = f->job->kind == JOB_INFERENCE ? f->job->need.rate : 0};
    predict(service_model(f->s), &where, &both);
    where.count = 1;
    predict(service_model(f->s), &where, &alone);
    if (both.fits < PREDICT_FITS_LEAST ||
        estimate_at_confidence(&both.rate[0], f->confidence) <
            requirement_rate_now(other, service_now_s(f->s)))
        return true;
    o.rate = both.rate[1];
    o.sure = estimate_at_confidence(&o.rate, f->confidence);
    o.watts = both.watts;
    o.watts.value = fmax(0, both.watts.value - alone.watts.value);
    o.watts.low = fmin(o.watts.value, fmax(0, both.watts.low - alone.watts.value));
    o.watts.high = fmax(o.watts.value, both.watts.high - alone.watts.value);
    consider(f, &o);
    return true;
}

static void try_sharing(struct search *f, int type)
{
    const struct cluster *c = loop_cluster(f->s->loop);
    int tries = 0;

    if (!f->job->may_share || f->job->devices != 1 || f->ahead > 0 ||
        loop_settings(f->s->loop)->share_max < 2)
        return;
    for (int d = 0; d < c->device_count && tries < SHARE_TRIES; d++)
        if (c->devices[d].type == type && c->devices[d].job_count == 1 &&
            cluster_device_usable(c, d))
            tries += try_beside(f, d);
}

static void set_energy(struct quote *q, const struct job *job)
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

/* ---- offers ----------------------------------------------------------------------- */

static struct quote_offer *add_offer(struct quote *q, const char *kind)
{
    struct quote_offer *o = &q->offers[q->offer_count];

    if (q->offer_count == QUOTE_MAX_OFFERS)
        return NULL;
    *o = (struct quote_offer){
        .kind = kind, .rate = NAN, .start_s = NAN, .joules = NAN, .type = -1};
    q->offer_count++;
    return o;
}

static void offer_lower(struct search *f, struct quote *q, double rate, int type)
{
    struct quote_offer *o = rate > 0 ? add_offer(q, "lower_rate") : NULL;

    if (!o)
        return;
    o->rate = rate;
    o->type = type;
    snprintf(o->text, sizeof(o->text), "%.4g/s on a %s%s", rate,
             loop_cluster(f->s->loop)->types[type].name,
             q->verdict == QUOTE_QUEUED ? ", now" : "");
}

/* The same need on another number of GPUs: more when none is fast enough, fewer when not
 * so many are free. */
static void offer_gpus(struct search *f, struct quote *q)
{
    const struct cluster *c = loop_cluster(f->s->loop);
    struct job other = *f->job;
    int step = q->verdict == QUOTE_COUNTER ? 2 : -2;

    other.id = ASKED_ID - 1;
    for (int tries = 0; tries < 3; tries++) {
        other.devices = step > 0 ? other.devices * 2 : other.devices / 2;
        if (other.devices < 1 || other.devices > LOOP_MAX_GANG)
            return;
        for (int t = 0; t < c->type_count; t++) {
            struct prediction p;
            struct quote_offer *o;
            double wait_s;
            int node;

            if (!type_allowed(&other, t) ||
                free_devices(f->s, t, &node, &wait_s) < other.devices)
                continue;
            p = predict_alone(service_model(f->s), &other, t);
            if (p.fits < PREDICT_FITS_LEAST ||
                estimate_at_confidence(&p.rate[0], f->confidence) < f->needed)
                continue;
            o = add_offer(q, "other_gpus");
            if (!o)
                return;
            o->gpus = other.devices;
            o->type = t;
            o->rate = p.rate[0].value;
            snprintf(o->text, sizeof(o->text), "the same rate on %d GPUs of type %s",
                     other.devices, c->types[t].name);
            return;
        }
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

/* ---- all of it -------------------------------------------------------------------- */

static void take_option(struct quote *q, const struct option *o, double now_s)
{
    q->verdict = QUOTE_ACCEPTED;
    q->type = o->type;
    q->node = o->node;
    q->neighbour = o->neighbour;
    q->rate = o->rate;
    q->watts = o->watts;
    q->start_s = now_s + o->wait_s;
    snprintf(q->reason, sizeof(q->reason), "can start %s",
             o->wait_s > 0      ? "as soon as its node is awake"
             : o->neighbour > 0 ? "now, beside another job"
                                : "now");
}

static void queue_it(struct search *f, struct quote *q, const struct admission *a,
                     double now_s)
{
    q->verdict = QUOTE_QUEUED;
    q->type = a->type;
    q->rate = a->rate;
    q->watts = a->watts;
    q->start_s = forecast_start_s(f->s, f->ahead + f->job->devices);
    if (f->ahead > 0)
        snprintf(q->reason, sizeof(q->reason), "waits for a device; %d jobs are ahead",
                 f->ahead);
    else
        snprintf(q->reason, sizeof(q->reason), "waits: %s",
                 f->free_but_slow ? "no free device keeps the requirement"
                                  : "all devices it could use are taken");
    offer_later(q, now_s);
    if (f->free_but_slow)
        offer_lower(f, q, f->fallback.sure, f->fallback.type);
    if (f->job->devices > 1)
        offer_gpus(f, q);
}

static void decide(struct search *f, struct quote *q, const struct admission *a,
                   double now_s)
{
    q->type = a->type;
    if (a->verdict == ADMIT_REFUSED) {
        q->verdict = QUOTE_REFUSED;
        str_copy(q->reason, sizeof(q->reason), a->reason);
        return;
    }
    if (f->needed > 0)
        q->promised_rate = a->verdict == ADMIT_COUNTER ? a->promised_rate : f->needed;
    if (a->verdict == ADMIT_COUNTER) {
        q->verdict = QUOTE_COUNTER;
        q->rate = a->rate;
        q->watts = a->watts;
        q->start_s = now_s;
        str_copy(q->reason, sizeof(q->reason), a->reason);
        offer_lower(f, q, a->promised_rate, a->type);
        offer_gpus(f, q);
        return;
    }
    for (int t = 0; t < loop_cluster(f->s->loop)->type_count; t++)
        if (type_allowed(f->job, t)) {
            try_alone(f, t);
            try_sharing(f, t);
        }
    if (f->found)
        take_option(q, &f->best, now_s);
    else
        queue_it(f, q, a, now_s);
}

void quote_make(struct service *s, const struct job *job, struct quote *q)
{
    struct model *model = service_model(s);
    const struct optimize_settings *settings = loop_settings(s->loop);
    double now_s = service_now_s(s);
    struct job asked = *job;
    struct job_status fresh = {.job = *job, .required_rate = job->need.rate};
    struct search f = {.s = s,
                       .job = &asked,
                       .confidence = fmax(settings->confidence, job->need.confidence)};
    struct admission answer;

    if (asked.id == 0)
        asked.id = ASKED_ID;
    asked.submitted_s = fmin(asked.submitted_s, now_s);
    *q = (struct quote){.promised_rate = NAN,
                        .confidence = f.confidence,
                        .type = -1,
                        .node = -1,
                        .start_s = NAN,
                        .end_s = NAN};
    f.needed = q->needed = requirement_rate_now(&fresh, now_s);
    f.ahead = forecast_ahead(s, job);
    admit_decide(&asked, loop_cluster(s->loop), model, settings, &answer);
    decide(&f, q, &answer, now_s);
    set_energy(q, job);
}

static bool can_be_kept(const struct quote *q)
{
    return q->verdict == QUOTE_ACCEPTED || q->verdict == QUOTE_QUEUED;
}

void quote_service(struct service *s, const struct job *job, int max_replicas,
                   struct quote *q)
{
    bool service = job->kind == JOB_INFERENCE && job->need.kind == NEED_SERVICE;
    struct quote first;

    quote_make(s, job, &first);
    *q = first;
    q->replicas = 1;
    for (int n = 2; n <= max_replicas && service && !can_be_kept(q); n++) {
        struct job share = *job;

        share.need.rate /= n;
        quote_make(s, &share, q);
        q->replicas = n;
        q->promised_rate *= n;
        q->joules *= n;
        q->joules_low *= n;
        q->joules_high *= n;
    }
    if (can_be_kept(q))
        return;
    *q = first;
    q->replicas = 1;
}

const char *quote_verdict_name(enum quote_verdict verdict)
{
    static const char *const names[] = {"accepted", "queued", "counter", "refused"};

    return names[verdict];
}

static void offers_json(struct json_out *out, const struct service *s,
                        const struct quote *q)
{
    json_out_key(out, "counter_offers");
    json_out_begin_array(out);
    for (int i = 0; i < q->offer_count; i++) {
        const struct quote_offer *o = &q->offers[i];

        json_out_begin_object(out);
        json_out_key_string(out, "kind", o->kind);
        json_out_key_string(out, "text", o->text);
        views_number(out, "rate", o->rate);
        views_number(out, "start_s", o->start_s);
        views_number(out, "gpus", o->gpus > 0 ? o->gpus : NAN);
        json_out_key_string(out, "type",
                            o->type >= 0 ? loop_cluster(s->loop)->types[o->type].name
                                         : NULL);
        views_number(out, "joules", o->joules);
        json_out_end(out);
    }
    json_out_end(out);
}

void quote_json(struct json_out *out, const struct service *s, const struct quote *q)
{
    const struct cluster *c = loop_cluster(s->loop);
    bool placed = q->type >= 0;

    json_out_begin_object(out);
    json_out_key_string(out, "verdict", quote_verdict_name(q->verdict));
    json_out_key_string(out, "reason", q->reason);
    views_number(out, "promised_rate", q->promised_rate);
    json_out_key_number(out, "confidence", q->confidence);
    json_out_key_int(out, "replicas", q->replicas > 0 ? q->replicas : 1);
    json_out_key(out, "rate");
    placed ? views_estimate(out, &q->rate) : json_out_null(out);
    json_out_key(out, "watts");
    placed ? views_estimate(out, &q->watts) : json_out_null(out);
    json_out_key(out, "joules");
    if (isfinite(q->joules)) {
        json_out_begin_object(out);
        json_out_key_number(out, "value", q->joules);
        json_out_key_number(out, "low", q->joules_low);
        json_out_key_number(out, "high", q->joules_high);
        json_out_end(out);
    } else {
        json_out_null(out);
    }
    views_number(out, "joules_per_step", q->joules_per_step);
    json_out_key_string(out, "type", placed ? c->types[q->type].name : NULL);
    json_out_key_string(out, "node", q->node >= 0 ? c->nodes[q->node].name : NULL);
    json_out_key(out, "neighbour");
    q->neighbour ? views_neighbour(out, s, q->neighbour, NULL) : json_out_null(out);
    views_number(out, "start_s", q->start_s);
    views_number(out, "end_s", q->end_s);
    offers_json(out, s, q);
    json_out_end(out);
}
