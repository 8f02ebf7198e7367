/* telemetry.c - see telemetry.h */
#include "store/telemetry.h"

#include "store/batch.h"
#include "store/reader_private.h"

#include <math.h>

#define NO_END 1e300

/* ---- measurements ------------------------------------------------------------------ */

void store_add_measurement(struct store_batch *batch, const struct store_measurement *m)
{
    batch_statement(
        batch,
        "INSERT INTO measurements (job, attempt, device, at_s, window_s, rate,"
        " watts, steps, source, confidence, out_of_memory, latency_s)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        NULL);
    batch_u64(batch, m->job);
    batch_int(batch, m->attempt);
    batch_text_or(batch, m->device, "");
    batch_real(batch, m->at_s);
    batch_real(batch, m->window_s);
    batch_real(batch, m->rate);
    batch_real(batch, m->watts);
    batch_real(batch, m->steps);
    batch_text(batch, m->source);
    batch_real(batch, m->confidence);
    batch_bool(batch, m->out_of_memory);
    batch_real(batch, m->latency_s > 0 ? m->latency_s : NAN);
}

struct measurement_walk {
    store_measurement_row row;
    void *ctx;
};

static int visit_measurement(void *ctx, struct db_query *q)
{
    const struct measurement_walk *walk = ctx;
    struct store_measurement m = {
        .job = db_u64(q, 0),
        .attempt = (int)db_int(q, 1),
        .device = db_text(q, 2),
        .at_s = db_real(q, 3),
        .window_s = db_real(q, 4),
        .rate = db_real(q, 5),
        .watts = db_real(q, 6),
        .steps = db_real(q, 7),
        .source = db_text(q, 8),
        .confidence = db_real(q, 9),
        .out_of_memory = db_int(q, 10) != 0,
        .windows = db_u64(q, 11),
        .rate_low = db_real(q, 12),
        .rate_high = db_real(q, 13),
        .latency_s = db_real(q, 14),
        .latency_high_s = db_real(q, 15),
    };

    return walk->row(walk->ctx, &m);
}

/* A sum over no seconds divides to NULL, which is read as NaN: not measured. */
int store_read_measurements(struct store_reader *reader, uint64_t job, double from_s,
                            double to_s, int limit, store_measurement_row row, void *ctx,
                            struct err *err)
{
    static const char sql[] =
        "SELECT job, attempt, nullif(device, ''), hour_s + 3600 AS at_s, window_s,"
        " rate_sum / nullif(rated_s, 0), watts_sum / nullif(powered_s, 0), steps, NULL,"
        " NULL, out_of_memory, windows, rate_low, rate_high,"
        " latency_sum / nullif(timed_s, 0), latency_high FROM measurement_hours"
        " WHERE job = ?1 AND hour_s + 3600 >= ?2 AND hour_s < ?3"
        " UNION ALL "
        "SELECT job, attempt, nullif(device, ''), at_s, window_s, rate, watts, steps,"
        " source, confidence, out_of_memory, 1, rate, rate, latency_s, latency_s"
        " FROM measurements"
        " WHERE job = ?1 AND at_s >= ?2 AND at_s <= ?3 ORDER BY at_s LIMIT ?4";
    struct measurement_walk walk = {row, ctx};
    struct db_query *q = db_query(reader->db, sql, err);

    if (!q)
        return -1;
    db_bind_int(q, 1, (int64_t)job);
    db_bind_real(q, 2, from_s);
    db_bind_real(q, 3, to_s > 0 ? to_s : NO_END);
    db_bind_int(q, 4, reader_limit(limit, 10000));
    return reader_walk(q, visit_measurement, &walk, err) < 0 ? -1 : 0;
}

/* ---- power ------------------------------------------------------------------------- */

void store_add_power(struct store_batch *batch, const struct store_power *power)
{
    batch_statement(batch,
                    "INSERT INTO power (device, at_s, window_s, watts, joules, modelled)"
                    " VALUES (?, ?, ?, ?, ?, ?)",
                    NULL);
    batch_text(batch, power->device);
    batch_real(batch, power->at_s);
    batch_real(batch, power->window_s);
    batch_real(batch, power->watts);
    batch_real(batch, power->joules);
    batch_bool(batch, power->modelled);
}

struct power_walk {
    store_power_row row;
    void *ctx;
};

static int visit_power(void *ctx, struct db_query *q)
{
    const struct power_walk *walk = ctx;
    struct store_power power = {
        .device = db_text(q, 0),
        .at_s = db_real(q, 1),
        .window_s = db_real(q, 2),
        .watts = db_real(q, 3),
        .joules = db_real(q, 4),
        .modelled = db_int(q, 5) != 0,
        .windows = db_u64(q, 6),
        .watts_high = db_real(q, 7),
    };

    return walk->row(walk->ctx, &power);
}

int store_read_power(struct store_reader *reader, const char *device, double from_s,
                     double to_s, int limit, store_power_row row, void *ctx,
                     struct err *err)
{
    static const char sql[] =
        "SELECT device, hour_s + 3600 AS at_s, window_s,"
        " watts_sum / nullif(window_s, 0), joules, modelled, windows, watts_high"
        " FROM power_hours"
        " WHERE device = ?1 AND hour_s + 3600 >= ?2 AND hour_s < ?3"
        " UNION ALL "
        "SELECT device, at_s, window_s, watts, joules, modelled, 1, watts FROM power"
        " WHERE device = ?1 AND at_s >= ?2 AND at_s <= ?3 ORDER BY at_s LIMIT ?4";
    struct power_walk walk = {row, ctx};
    struct db_query *q = db_query(reader->db, sql, err);

    if (!q)
        return -1;
    db_bind_text(q, 1, device);
    db_bind_real(q, 2, from_s);
    db_bind_real(q, 3, to_s > 0 ? to_s : NO_END);
    db_bind_int(q, 4, reader_limit(limit, 10000));
    return reader_walk(q, visit_power, &walk, err) < 0 ? -1 : 0;
}
