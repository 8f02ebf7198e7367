/* ledger.c - views.c and the handlers write answers with it, tx.c and lab/sim/sim_run.c
 * the lines of the ledger */
#include "service/ledger.h"

#include "loop/estimate/predict.h"

#include <math.h>

/* ---- names ------------------------------------------------------------------------ */

const char *ledger_verdict_name(enum quote_verdict verdict)
{
    static const char *const names[] = {"accepted", "queued", "counter", "refused",
                                        "unpromised"};

    return names[verdict];
}

const char *ledger_action_name(enum action_kind kind)
{
    static const char *const names[] = {"wake", "sleep", "cap", "start", "move", "stop"};

    return names[kind];
}

const char *ledger_source_name(enum estimate_source source)
{
    static const char *const names[] = {"initial", "correlated", "measured"};

    return names[source];
}

/* ---- quotes ----------------------------------------------------------------------- */

void ledger_estimate_json(struct json_out *out, const struct estimate *e)
{
    if (!e || e->value <= PREDICT_LEAST) {
        json_out_null(out);
        return;
    }
    json_out_begin_object(out);
    json_out_key_number(out, "value", e->value);
    json_out_key_number(out, "low", e->low > PREDICT_LEAST ? e->low : 0);
    json_out_key_number(out, "high", e->high);
    json_out_key_string(out, "source", ledger_source_name(e->source));
    json_out_key_int(out, "observations", e->observations);
    json_out_end(out);
}

static void offers_json(struct json_out *out, const struct cluster *c,
                        const struct quote *q)
{
    json_out_key_array(out, "counter_offers");
    for (int i = 0; i < q->offer_count; i++) {
        const struct quote_offer *o = &q->offers[i];

        json_out_begin_object(out);
        json_out_key_string(out, "kind", o->kind);
        json_out_key_string(out, "text", o->text);
        json_out_key_number(out, "rate", o->rate);
        json_out_key_number(out, "start_s", o->start_s);
        json_out_key_number(out, "gpus", o->gpus > 0 ? o->gpus : NAN);
        json_out_key_string(out, "type", o->type >= 0 ? c->types[o->type].name : NULL);
        json_out_key_number(out, "joules", NAN); /* not known of an offer */
        json_out_end(out);
    }
    json_out_end(out);
}

static void joules_json(struct json_out *out, const struct quote *q)
{
    json_out_key(out, "joules");
    if (!isfinite(q->joules)) {
        json_out_null(out);
        return;
    }
    json_out_begin_object(out);
    json_out_key_number(out, "value", q->joules);
    json_out_key_number(out, "low", q->joules_low);
    json_out_key_number(out, "high", q->joules_high);
    json_out_end(out);
}

void ledger_quote_json(struct json_out *out, const struct cluster *c,
                       const struct quote *q)
{
    bool placed = q->type >= 0;

    json_out_begin_object(out);
    json_out_key_string(out, "verdict", ledger_verdict_name(q->verdict));
    json_out_key_string(out, "reason", q->reason);
    json_out_key_number(out, "promised_rate", q->promised_rate);
    json_out_key_number(out, "confidence", q->confidence);
    json_out_key_number(out, "chance", q->chance);
    json_out_key_int(out, "replicas", q->replicas > 0 ? q->replicas : 1);
    json_out_key(out, "rate");
    ledger_estimate_json(out, placed ? &q->rate : NULL);
    json_out_key(out, "watts");
    ledger_estimate_json(out, placed ? &q->watts : NULL);
    joules_json(out, q);
    json_out_key_number(out, "joules_per_step", q->joules_per_step);
    json_out_key_string(out, "type", placed ? c->types[q->type].name : NULL);
    json_out_key_string(out, "node", q->node >= 0 ? c->nodes[q->node].name : NULL);
    json_out_key(out, "neighbour");
    if (q->neighbour) {
        json_out_begin_object(out);
        json_out_key_int(out, "job", (int64_t)q->neighbour);
        json_out_end(out);
    } else {
        json_out_null(out);
    }
    json_out_key_number(out, "start_s", q->start_s);
    json_out_key_number(out, "end_s", q->end_s);
    offers_json(out, c, q);
    json_out_end(out);
}

/* ---- decisions -------------------------------------------------------------------- */

void ledger_alternatives_json(struct json_out *out, const struct cluster *cluster,
                              const struct decision *d)
{
    json_out_begin_array(out);
    for (int i = 0; i < d->alternative_count; i++) {
        const struct decision_alternative *a = &d->alternatives[i];

        json_out_begin_object(out);
        json_out_key_string(out, "type", cluster->types[a->type].name);
        json_out_key_string(out, "verdict", decision_verdict(a->verdict));
        json_out_key_number(out, "rate", a->rate);
        json_out_key_number(out, "sure_rate", a->sure);
        json_out_key_number(out, "needed_rate", a->needed);
        json_out_key_number(out, "watts", a->watts);
        json_out_key_number(out, "fits", a->fits);
        json_out_key_number(out, "more_watts", a->more_watts);
        json_out_key_number(out, "more_joules", a->more_joules);
        json_out_key_string(out, "text", a->text);
        json_out_end(out);
    }
    json_out_end(out);
}

static void decision_json(struct json_out *out, const struct cluster *cluster,
                          const struct decision *d)
{
    json_out_begin_object(out);
    json_out_key_int(out, "job", (int64_t)d->job);
    json_out_key_number(out, "at_s", d->at_s);
    json_out_key_string(out, "kind", d->kind);
    json_out_key_string(out, "reason", d->reason);
    json_out_key_array(out, "devices");
    for (int i = 0; i < d->device_count; i++)
        json_out_int(out, d->devices[i]);
    json_out_end(out);
    json_out_key_number(out, "rate", d->rate);
    json_out_key_number(out, "watts", d->watts);
    json_out_key_number(out, "joules", d->joules);
    json_out_key(out, "alternatives");
    ledger_alternatives_json(out, cluster, d);
    json_out_end(out);
}

/* ---- lines ------------------------------------------------------------------------ */

static void begin(struct json_out *out, struct str *line, double now_s)
{
    json_out_init(out, line, false);
    json_out_begin_object(out);
    json_out_key_number(out, "at_s", now_s);
}

void ledger_quote(struct str *line, double now_s, const struct cluster *cluster,
                  const struct quote *quote)
{
    struct json_out out;

    begin(&out, line, now_s);
    json_out_key(&out, "quote");
    ledger_quote_json(&out, cluster, quote);
    json_out_end(&out);
}

static void action_json(struct json_out *out, const struct action *a)
{
    json_out_begin_object(out);
    json_out_key_string(out, "kind", ledger_action_name(a->kind));
    if (a->job)
        json_out_key_int(out, "job", (int64_t)a->job);
    if (a->by)
        json_out_key_int(out, "by", (int64_t)a->by);
    if (a->kind == ACTION_WAKE || a->kind == ACTION_SLEEP)
        json_out_key_int(out, "node", a->node);
    if (a->kind == ACTION_CAP) {
        json_out_key_int(out, "device", a->device);
        json_out_key_number(out, "cap_watts", a->cap_watts);
    }
    json_out_key_array(out, "devices");
    for (int i = 0; i < a->device_count; i++)
        json_out_int(out, a->devices[i]);
    json_out_end(out);
    json_out_end(out);
}

void ledger_round(struct str *line, double now_s, const struct cluster *cluster,
                  const struct round_result *result)
{
    struct json_out out;

    begin(&out, line, now_s);
    json_out_key_array(&out, "plan");
    for (size_t i = 0; i < result->action_count; i++)
        action_json(&out, &result->actions[i]);
    json_out_end(&out);
    json_out_key_array(&out, "decisions");
    for (size_t i = 0; i < result->decision_count; i++)
        decision_json(&out, cluster, &result->decisions[i]);
    json_out_end(&out);
    json_out_end(&out);
}
