/* decisions.c - rounds.c hands over what loop_round_end() decided, in the transaction
 * that stores what was done; `corgi why` reads it back */
#include "service/decisions.h"

#include "base/log.h"
#include "service/daemon_metrics.h"
#include "service/views.h"

#include <math.h>

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

void decisions_reference(struct service *s, struct record *r)
{
    const struct job_status *status = loop_job(s->loop, r->id);
    struct decision_reference usual = {.rate = NAN, .watts = NAN};

    if (status && status->device_count > 0)
        usual = loop_reference(s->loop, r->id, service_now_s(s));
    r->reference_watts = usual.watts;
    r->reference_rate = usual.rate;
}

static void expect(struct service *s, struct record *r, const struct decision *d)
{
    r->predicted_rate = d->rate;
    r->watts = d->watts;
    r->expected_end_s = d->at_s + d->joules / d->watts;
    decisions_reference(s, r);
}

/* A promise is broken: rows and events of their own besides the decision. */
static void take_guard(struct service *s, struct tx *tx, struct record *r,
                       const struct decision *d, const char *device)
{
    struct str data = {0};
    struct json_out out;

    store_add_guard(tx_batch(tx), &(struct store_guard){
                                      .job = r->id,
                                      .at_s = d->at_s,
                                      .kind = "rate",
                                      .promised = d->needed,
                                      .measured = d->rate,
                                      .window_s = isfinite(r->watch.below_since_s)
                                                      ? d->at_s - r->watch.below_since_s
                                                      : 0,
                                      .device = device,
                                      .action = d->help,
                                      .reason = d->reason});
    json_out_init(&out, &data, false);
    json_out_begin_object(&out);
    json_out_key_int(&out, "job", (int64_t)r->id);
    json_out_key_number(&out, "at_s", d->at_s);
    json_out_key_string(&out, "broken", "rate");
    json_out_key_number(&out, "promised", d->needed);
    json_out_key_number(&out, "measured", d->rate);
    json_out_key_string(&out, "action", d->help);
    json_out_key_string(&out, "reason", d->reason);
    json_out_end(&out);
    tx_event(tx, "guard", r, &data);
    log_warn("promise_broken", LOG_U64("job", r->id), LOG_NUM("needed", d->needed),
             LOG_NUM("measured", d->rate), LOG_STR("action", d->help));
    daemon_metrics_guard(s, d->help);
}

void decisions_take(struct service *s, struct tx *tx, const struct decision *d)
{
    struct record *r = records_get(s->records, d->job);
    struct str devices = {0}, others = {0};
    struct json_out out;
    struct store_decision row = {.id = store_take_id(s->store, STORE_DECISION_ID),
                                 .job = d->job,
                                 .at_s = d->at_s,
                                 .round = s->rounds,
                                 .what = d->kind,
                                 .rate = d->rate,
                                 .watts = d->watts,
                                 .joules = d->joules,
                                 .reason = d->reason};

    if (!r)
        return;
    for (int i = 0; i < d->device_count; i++)
        str_addf(&devices, "%s%s", i ? "," : "", s->devices[d->devices[i]].name);
    if (d->alternative_count > 0) {
        json_out_init(&out, &others, false);
        decision_alternatives_json(&out, loop_cluster(s->loop), d);
    }
    row.devices = devices.text;
    row.alternatives = others.text;
    if (isfinite(d->watts))
        expect(s, r, d);
    if (d->help)
        take_guard(s, tx, r, d, devices.text);
    store_add_decision(tx_batch(tx), &row);
    tell(s, tx, r, &row);
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
