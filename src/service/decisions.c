/* decisions.c - see decisions.h */
#include "service/decisions.h"

#include "loop/estimate/predict.h"
#include "loop/cluster.h"
#include "loop/requirement.h"
#include "service/views.h"

#include <math.h>
#include <stdio.h>

/* What is believed of a job where it sits, or alone on a type. */
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

/* The device with most neighbours sets the pace of a gang. */
static struct outlook outlook_here(struct service *s, const struct job_status *status)
{
    const struct cluster *c = loop_cluster(s->loop);
    struct outlook o = {.rate = {.value = INFINITY}};

    for (int i = 0; i < status->device_count; i++) {
        const struct device *d = &c->devices[status->devices[i]];
        struct combination where = {
            .type = d->type, .cap_watts = d->cap_watts, .count = d->job_count};
        struct prediction p;
        int at = 0;

        for (int k = 0; k < d->job_count; k++) {
            const struct job_status *other = loop_job(s->loop, d->jobs[k]);

            where.members[k] = (struct member){
                .job = &other->job,
                .nodes = cluster_nodes_spanned(c, other->devices, other->device_count),
                .demand = requirement_demand(other)};
            if (d->jobs[k] == status->job.id)
                at = k;
        }
        predict(service_model(s), &where, &p);
        if (p.rate[at].value < o.rate.value)
            o.rate = p.rate[at];
        o.watts += p.watts.value / d->job_count;
    }
    o.joules = o.watts * seconds_left(status, o.rate.value, service_now_s(s));
    return o;
}

static int free_of_type(const struct cluster *c, int type)
{
    int count = 0;

    for (int d = 0; d < c->device_count; d++)
        count += c->devices[d].type == type && c->devices[d].job_count == 0 &&
                 cluster_device_usable(c, d);
    return count;
}

void decisions_reference(struct service *s, struct record *r)
{
    const struct cluster *c = loop_cluster(s->loop);
    const struct job_status *status = loop_job(s->loop, r->id);
    int here =
        status && status->device_count > 0 ? c->devices[status->devices[0]].type : -1;

    r->reference_watts = r->reference_rate = NAN;
    for (int t = 0; t < c->type_count && here >= 0; t++) {
        struct prediction p;

        if ((status->job.types_allowed && !(status->job.types_allowed >> t & 1)) ||
            (t != here && free_of_type(c, t) < status->job.devices))
            continue;
        p = predict_alone_now(service_model(s), status, t);
        if (p.fits < PREDICT_FITS_LEAST || p.rate[0].value <= r->reference_rate)
            continue;
        r->reference_rate = p.rate[0].value;
        r->reference_watts = p.watts.value;
    }
}

static void alternative(struct service *s, struct json_out *out,
                        const struct job_status *status, const struct outlook *here,
                        int type)
{
    const struct cluster *c = loop_cluster(s->loop);
    struct prediction p = predict_alone_now(service_model(s), status, type);
    double confidence =
        fmax(loop_settings(s->loop)->confidence, status->job.need.confidence);
    double now_s = service_now_s(s), watts = p.watts.value * status->job.devices;
    bool fast =
        p.fits >= PREDICT_FITS_LEAST && estimate_at_confidence(&p.rate[0], confidence) >=
                                            requirement_rate_now(status, now_s);
    bool is_free = free_of_type(c, type) >= status->job.devices;
    char text[160];

    snprintf(text, sizeof(text), "alone on %s: %.4g/s for %.0f W%s", c->types[type].name,
             p.rate[0].value, watts,
             p.fits < PREDICT_FITS_LEAST ? ", too little memory"
             : !fast                     ? ", below what it needs"
             : !is_free                  ? ", none free"
                                         : "");
    json_out_begin_object(out);
    json_out_key_string(out, "type", c->types[type].name);
    json_out_key_string(out, "verdict",
                        !fast      ? "too_slow"
                        : !is_free ? "taken"
                                   : "possible");
    json_out_key_number(out, "rate", p.rate[0].value);
    json_out_key_number(out, "more_watts", watts - here->watts);
    json_out_key_number(out, "more_joules",
                        watts * seconds_left(status, p.rate[0].value, now_s) -
                            here->joules);
    json_out_key_string(out, "text", text);
    json_out_end(out);
}

static void alternatives(struct service *s, const struct job_status *status,
                         const struct outlook *here, struct str *text)
{
    const struct cluster *c = loop_cluster(s->loop);
    const struct device *d = &c->devices[status->devices[0]];
    bool alone = d->job_count == 1 && d->cap_watts == 0;
    struct json_out out;

    json_out_init(&out, text, false);
    json_out_begin_array(&out);
    for (int t = 0; t < c->type_count; t++) {
        if ((status->job.types_allowed && !(status->job.types_allowed >> t & 1)) ||
            (t == d->type && alone))
            continue;
        alternative(s, &out, status, here, t);
    }
    json_out_end(&out);
}

static void names_of(const struct service *s, const struct job_status *status,
                     struct str *out)
{
    for (int i = 0; i < status->device_count; i++)
        str_addf(out, "%s%s", i ? "," : "", s->devices[status->devices[i]].name);
}

static void tell(struct service *s, struct tx *tx, const struct record *r,
                 const struct store_decision *d)
{
    struct str data = {0};
    struct json_out out;

    json_out_init(&out, &data, false);
    json_out_begin_object(&out);
    json_out_key_int(&out, "id", (int64_t)d->id);
    json_out_key_int(&out, "job", (int64_t)d->job);
    json_out_key_number(&out, "at_s", d->at_s);
    json_out_key_string(&out, "kind", d->what);
    json_out_key_string(&out, "reason", d->reason);
    views_number(&out, "rate", d->rate);
    views_number(&out, "watts", d->watts);
    views_number(&out, "joules", d->joules);
    json_out_key(&out, "devices");
    views_places_named(&out, s, d->devices);
    json_out_end(&out);
    tx_event(tx, "decision", r, &data);
}

void decisions_placed(struct service *s, struct tx *tx, struct record *r,
                      const char *what, const char *reason)
{
    const struct job_status *status = loop_job(s->loop, r->id);
    struct outlook here = outlook_here(s, status);
    struct str devices = {0}, others = {0};
    double left_s = seconds_left(status, here.rate.value, service_now_s(s));
    struct store_decision d = {.id = store_take_id(s->store, STORE_DECISION_ID),
                               .job = r->id,
                               .at_s = service_now_s(s),
                               .round = s->rounds,
                               .what = what,
                               .rate = here.rate.value,
                               .watts = here.watts,
                               .joules = here.joules,
                               .reason = reason};

    r->predicted_rate = here.rate.value;
    decisions_reference(s, r);
    r->watts = here.watts;
    r->expected_end_s = service_now_s(s) + left_s;
    names_of(s, status, &devices);
    alternatives(s, status, &here, &others);
    d.devices = devices.text;
    d.alternatives = others.text;
    store_add_decision(tx_batch(tx), &d);
    tell(s, tx, r, &d);
    str_fini(&devices);
    str_fini(&others);
}

void decisions_note(struct service *s, struct tx *tx, const struct record *r,
                    const char *what, const char *devices, const char *reason)
{
    struct store_decision d = {.id = store_take_id(s->store, STORE_DECISION_ID),
                               .job = r->id,
                               .at_s = service_now_s(s),
                               .round = s->rounds,
                               .what = what,
                               .devices = devices,
                               .rate = NAN,
                               .watts = NAN,
                               .joules = NAN,
                               .reason = reason};

    store_add_decision(tx_batch(tx), &d);
    tell(s, tx, r, &d);
}
