/* telemetry.c - measurements of jobs and power of devices, as the engine brings them;
 * retention.c folds them into hours, and GET of measurements reads both */
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
    BATCH(batch, DB(m->job), DB(m->attempt), DB(m->device ? m->device : ""), DB(m->at_s),
          DB(m->window_s), DB(m->rate), DB(m->watts), DB(m->steps), DB(m->source),
          DB(m->confidence), DB(m->out_of_memory),
          DB(m->latency_s > 0 ? m->latency_s : NAN));
}

READER_WALK(measurement);

static int visit_measurement(void *ctx, struct db_query *q)
{
    const struct measurement_walk *walk = ctx;
    struct store_measurement m = {0};

    DB_ROW(q, 0, DB_TO(m.job), DB_TO(m.attempt), DB_TO(m.device), DB_TO(m.at_s),
           DB_TO(m.window_s), DB_TO(m.rate), DB_TO(m.watts), DB_TO(m.steps),
           DB_TO(m.source), DB_TO(m.confidence), DB_TO(m.out_of_memory), DB_TO(m.windows),
           DB_TO(m.rate_low), DB_TO(m.rate_high), DB_TO(m.latency_s),
           DB_TO(m.latency_high_s));
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

    DB_BIND(q, DB((int64_t)job), DB(from_s), DB(to_s > 0 ? to_s : NO_END),
            DB(reader_limit(limit, 10000)));
    return reader_walk(q, visit_measurement, &walk, err) < 0 ? -1 : 0;
}

/* ---- power ------------------------------------------------------------------------- */

void store_add_power(struct store_batch *batch, const struct store_power *power)
{
    batch_statement(batch,
                    "INSERT INTO power (device, at_s, window_s, watts, joules, modelled)"
                    " VALUES (?, ?, ?, ?, ?, ?)",
                    NULL);
    BATCH(batch, DB(power->device), DB(power->at_s), DB(power->window_s),
          DB(power->watts), DB(power->joules), DB(power->modelled));
}
