/* handle_history.c - what became of a job, and what was measured of it */
#include "service/handlers.h"

#include "service/views.h"
#include "store/rows.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct history {
    struct json_out *out;
    uint64_t skip, at;
    int limit, count;
    bool more;
};

static int history_row(void *ctx, const void *row)
{
    const struct store_transition *t = row;
    struct history *h = ctx;

    if (h->at++ < h->skip)
        return 0;
    if (h->count == h->limit) {
        h->more = true;
        return 1;
    }
    h->count++;
    json_out_begin_object(h->out);
    json_out_key_int(h->out, "id", (int64_t)h->at);
    json_out_key_number(h->out, "at_s", t->at_s);
    json_out_key_string(h->out, "kind", t->what);
    json_out_key_string(h->out, "from",
                        t->from == STORE_NO_STATE
                            ? NULL
                            : views_job_state((enum job_state)t->from, false));
    json_out_key_string(h->out, "to", views_job_state(t->to, false));
    json_out_key_string(h->out, "text", t->reason);
    json_out_key_int(h->out, "attempt", t->attempt);
    json_out_key_string(h->out, "devices", t->devices);
    json_out_end(h->out);
    return 0;
}

void handle_job_history(void *ctx, struct request *r)
{
    struct service *s = ctx;
    struct handlers_answer a;
    struct history h = {.out = &a.out};
    struct err err = {0};
    uint64_t id;

    if (!handlers_limit(r, &h.limit) || !handlers_after(r, &h.skip) ||
        !handlers_may_look(s, r, &id))
        return;
    handlers_begin(&a, r, "events");
    if (store_read(s->reader, STORE_TRANSITIONS, &(struct store_filter){.job = id},
                   history_row, &h, &err) < 0) {
        handlers_fail(&a, &err);
        return;
    }
    handlers_page(&a, h.more, h.skip + (uint64_t)h.count);
    handlers_answer(&a, 200);
}

struct points {
    struct json_out *out;
    double step_s, bucket_s; /* bucket: NaN before the first */
    double rate_sum, watts_sum, latency_sum;
    int rates, powers, latencies;
    double latency_high_s; /* of the bucket; NaN: none */
    char source_text[24];
};

static void point(struct points *p, const struct store_measurement *m)
{
    json_out_begin_object(p->out);
    json_out_key_number(p->out, "at_s", m->at_s);
    json_out_key_number(p->out, "rate", m->rate);
    json_out_key_number(p->out, "watts", m->watts);
    json_out_key_number(p->out, "latency_s", m->latency_s);
    json_out_key_number(p->out, "latency_high_s", m->latency_high_s);
    json_out_key_string(p->out, "source", m->source);
    json_out_end(p->out);
}

static double mean(double sum, int count)
{
    return count > 0 ? sum / count : NAN;
}

static void flush_bucket(struct points *p)
{
    if (p->rates + p->powers + p->latencies > 0)
        point(p, &(struct store_measurement){
                     .at_s = p->bucket_s + p->step_s,
                     .rate = mean(p->rate_sum, p->rates),
                     .watts = mean(p->watts_sum, p->powers),
                     .latency_s = mean(p->latency_sum, p->latencies),
                     .latency_high_s = p->latency_high_s,
                     .source = p->source_text,
                 });
    p->rates = p->powers = p->latencies = 0;
    p->rate_sum = p->watts_sum = p->latency_sum = 0;
    p->latency_high_s = NAN;
}

static int point_row(void *ctx, const void *row)
{
    const struct store_measurement *m = row;
    struct points *p = ctx;
    double bucket_s;

    if (!(p->step_s > 0)) {
        point(p, m);
        return 0;
    }
    bucket_s = floor(m->at_s / p->step_s) * p->step_s;
    if (bucket_s != p->bucket_s)
        flush_bucket(p);
    p->bucket_s = bucket_s;
    if (isfinite(m->rate)) {
        p->rate_sum += m->rate;
        p->rates++;
    }
    if (isfinite(m->watts)) {
        p->watts_sum += m->watts;
        p->powers++;
    }
    if (isfinite(m->latency_s)) {
        p->latency_sum += m->latency_s;
        p->latencies++;
        p->latency_high_s = fmax(p->latency_high_s, m->latency_high_s);
    }
    str_copy(p->source_text, sizeof(p->source_text), m->source ? m->source : "");
    return 0;
}

void handle_job_measurements(void *ctx, struct request *r)
{
    struct service *s = ctx;
    struct handlers_answer a;
    struct points p = {.out = &a.out, .bucket_s = NAN, .latency_high_s = NAN};
    struct store_filter filter = {0};
    struct err err = {0};

    if (!handlers_number(r, "from_s", 0, API_MAX_TIME_S, &filter.from_s) ||
        !handlers_number(r, "to_s", 0, API_MAX_TIME_S, &filter.to_s) ||
        !handlers_number(r, "step_s", 1, 1e9, &p.step_s) ||
        !handlers_limit(r, &filter.limit) || !handlers_may_look(s, r, &filter.job))
        return;
    handlers_begin(&a, r, "points");
    if (p.step_s > 0)
        filter.limit = 10000;
    if (store_read(s->reader, STORE_MEASUREMENTS, &filter, point_row, &p, &err) < 0) {
        handlers_fail(&a, &err);
        return;
    }
    flush_bucket(&p);
    handlers_answer(&a, 200);
}
