/* handle_samples.c - POST /v1/measurements: what jobs tell of themselves
 *
 * For jobs that no probe can read, and for front doors of services that know what is
 * asked.  loop/record says which windows may be taken, engine_events.c takes them as if
 * the engine had told them. */
#include "service/handlers.h"

#include "loop/record/record.h"
#include "service/replica_jobs.h"

#include <math.h>

/* Where the engine has a meter its word goes before the job's. */
static double watts_of(struct service *s, const struct record *r,
                       const struct json_value *v)
{
    const struct job_status *status = loop_job(s->loop, r->id);
    double metered = NAN;

    if (status && status->device_count > 0)
        metered = s->devices[status->devices[0]].watts;
    return metered > 0 ? metered : json_member_number(v, "device_watts", NAN);
}

/* True: it was taken, all of it or the demand it tells of. */
static bool take_sample(struct service *s, struct record *r, const struct json_value *v,
                        struct err *err)
{
    double demand = json_member_number(v, "demand_rate", NAN);
    const struct record_attempt attempt = {.began_s = r->began_s,
                                           .now_s = service_now_s(s),
                                           .told_s = r->told_s,
                                           .measured = r->measured_attempt == r->attempt};
    enum record_refusal refusal;
    struct engine_event e = {
        .kind = ENGINE_MEASURED,
        .job = r->id,
        .attempt = r->attempt,
        .measurement = {.job = r->id,
                        .at_s = json_member_number(v, "at_s", 0),
                        .window_s = json_member_number(v, "window_s", 0),
                        .rate = json_member_number(v, "rate", NAN),
                        .device_watts = watts_of(s, r, v),
                        .out_of_memory = json_member_bool(v, "out_of_memory", false),
                        .busy = json_member_number(v, "busy", 0),
                        .latency_s = json_member_number(v, "latency_s", 0),
                        .median_s = json_member_number(v, "median_s", 0),
                        .held = json_member_number(v, "held", 0)},
        .steps = json_member_number(v, "steps", NAN),
        .source = json_member_string(v, "source"),
        .confidence = json_member_number(v, "confidence", 1)};

    refusal = record_own_word(&e.measurement, &attempt, err);
    if (refusal == RECORD_TAKEN) {
        r->told_s = e.measurement.at_s;
        return engine_events_measured(s, r, &e, demand, err) == 0;
    }
    if (isfinite(demand)) /* no window is needed for that, nor can an engine tell it */
        engine_events_demand(s, r, demand);
    else
        engine_events_refused(s, r, refusal);
    return isfinite(demand);
}

/* Of a service without a replica only whoever takes its requests can tell that there are
 * some: that wakes it. */
static void answer_at_zero(struct service *s, struct request *r, struct record *record,
                           const struct json_value *samples)
{
    struct str text = {0};
    double asked = 0;
    int accepted = 0;

    for (size_t i = 0; i < json_value_count(samples); i++) {
        double demand = json_member_number(json_value_item(samples, i), "demand_rate", 0);

        accepted += demand > 0;
        asked = fmax(asked, demand);
    }
    replica_jobs_asked(s, record, asked);
    str_addf(&text, "{\"accepted\":%d}", accepted);
    request_answer(r, 202, &text);
}

void handle_report_measurements(void *ctx, struct request *r)
{
    struct service *s = ctx;
    const struct json_value *body = r->body;
    const struct json_value *samples = json_value_get(body, "samples");
    uint64_t id = (uint64_t)json_member_number(body, "job", 0);
    struct record *record = records_get(s->records, id);
    struct str text = {0};
    struct err err = {0};
    int accepted = 0, attempt;

    if (!handlers_writable(s, r))
        return;
    if (!record || record->phase == PHASE_PENDING) {
        request_answer_error(r, 404, "not_found", "job", "job %llu does not run",
                             (unsigned long long)id);
        return;
    }
    if (!service_may_touch(&r->identity, record_user(record))) {
        request_answer_error(r, 403, "forbidden", "job", "job %llu is another user's",
                             (unsigned long long)id);
        return;
    }
    attempt = (int)json_member_number(body, "attempt", record->attempt);
    if (record_at_zero(record)) {
        answer_at_zero(s, r, record, samples);
        return;
    }
    if (attempt != record->attempt || record->phase != PHASE_RUNNING) {
        request_answer_error(r, 409, "exists", "attempt",
                             "attempt %d of job %llu does not run", attempt,
                             (unsigned long long)id);
        return;
    }
    for (size_t i = 0; i < json_value_count(samples); i++) {
        /* A broken promise may end the attempt in the middle of the list. */
        if (!records_get(s->records, id) || record->phase != PHASE_RUNNING)
            break;
        accepted += take_sample(s, record, json_value_item(samples, i), &err);
    }
    if (accepted == 0 && record->measured_attempt == attempt) {
        request_answer_error(r, 409, "measured", "job", "%s", err.text);
        return;
    }
    str_addf(&text, "{\"accepted\":%d}", accepted);
    request_answer(r, 202, &text);
}
