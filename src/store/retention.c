/* retention.c - old rows are folded and removed, a little at a time
 *
 * The writer calls the next step whenever it has a moment.  Each step looks only at the
 * oldest rows of one table, so it takes milliseconds however large the table is. */
#include "store/store_private.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

#define DAY_S       86400.0
#define KEPT_MODELS 3

/* Run constant statements that all take the same cut-off as ?1; the number of rows the
 * last one changed, or -1. */
static int64_t run_all(struct db *db, const char *const *sql, double cut, struct err *err)
{
    struct db_value value = db_value_real(cut);

    for (; *sql; sql++) {
        sqlite3_stmt *q = db_query(db, *sql, err);

        if (!q)
            return -1;
        db_bind(q, 1, &value);
        if (db_run(db, q, err) < 0)
            return -1;
    }
    return sqlite3_changes64(db->handle);
}

/* ---- the phases -------------------------------------------------------------------- */

/* Rows have the order of their numbers, nearly that of their times: only the first few
 * thousand are looked at. */
#define OLDEST(table)                                                                    \
    " FROM " table " WHERE id IN (SELECT id FROM (SELECT id, at_s FROM " table           \
    " ORDER BY id LIMIT 2000) WHERE at_s < ?1)"
#define OLD_MEASUREMENTS OLDEST("measurements")
#define OLD_POWER        OLDEST("power")

static const char fold_measurements[] =
    "INSERT INTO measurement_hours (job, device, hour_s, attempt, windows, window_s,"
    " rated_s, rate_sum, rate_low, rate_high, powered_s, watts_sum, steps, out_of_memory,"
    " timed_s, latency_sum, latency_high)"
    " SELECT job, device, CAST(at_s / 3600 AS INTEGER) * 3600, max(attempt), count(*),"
    " sum(window_s), sum(iif(rate IS NULL, 0.0, window_s)),"
    " ifnull(sum(rate * window_s), 0.0), min(rate), max(rate),"
    " sum(iif(watts IS NULL, 0.0, window_s)), ifnull(sum(watts * window_s), 0.0),"
    " max(steps), max(out_of_memory), sum(iif(latency_s IS NULL, 0.0, window_s)),"
    " ifnull(sum(latency_s * window_s), 0.0), max(latency_s)" OLD_MEASUREMENTS
    " GROUP BY 1, 2, 3 ON CONFLICT (job, hour_s, device) DO UPDATE SET"
    " attempt = max(attempt, excluded.attempt), windows = windows + excluded.windows,"
    " window_s = window_s + excluded.window_s, rated_s = rated_s + excluded.rated_s,"
    " rate_sum = rate_sum + excluded.rate_sum,"
    " rate_low = min(ifnull(rate_low, excluded.rate_low),"
    "  ifnull(excluded.rate_low, rate_low)),"
    " rate_high = max(ifnull(rate_high, excluded.rate_high),"
    "  ifnull(excluded.rate_high, rate_high)),"
    " powered_s = powered_s + excluded.powered_s,"
    " watts_sum = watts_sum + excluded.watts_sum,"
    " steps = max(ifnull(steps, excluded.steps), ifnull(excluded.steps, steps)),"
    " out_of_memory = max(out_of_memory, excluded.out_of_memory),"
    " timed_s = timed_s + excluded.timed_s,"
    " latency_sum = latency_sum + excluded.latency_sum,"
    " latency_high = max(ifnull(latency_high, excluded.latency_high),"
    "  ifnull(excluded.latency_high, latency_high))";

static const char fold_power[] =
    "INSERT INTO power_hours (device, hour_s, windows, window_s, watts_sum, watts_high,"
    " joules, modelled)"
    " SELECT device, CAST(at_s / 3600 AS INTEGER) * 3600, count(*), sum(window_s),"
    " sum(watts * window_s), max(watts), sum(joules), max(modelled)" OLD_POWER
    " GROUP BY 1, 2 ON CONFLICT (device, hour_s) DO UPDATE SET"
    " windows = windows + excluded.windows, window_s = window_s + excluded.window_s,"
    " watts_sum = watts_sum + excluded.watts_sum,"
    " watts_high = max(watts_high, excluded.watts_high),"
    " joules = joules + excluded.joules, modelled = max(modelled, excluded.modelled)";

/* Days add up; ?1 is the start of the first day that keeps its hours. */
#define OLD_HOURS                                                                        \
    " FROM energy WHERE (start_s, span_s, device, job) IN (SELECT start_s, span_s,"      \
    " device, job FROM energy WHERE span_s = 3600 AND start_s < ?1"                      \
    " ORDER BY start_s, device, job LIMIT 2000)"

static const char fold_energy[] =
    "INSERT INTO energy (start_s, span_s, device, job, user, joules, error_joules,"
    " modelled_joules, busy_s, saved_joules, saved_error, unknown_joules)"
    " SELECT start_s / 86400 * 86400, 86400, device, job, max(user), sum(joules),"
    " sum(error_joules), sum(modelled_joules), sum(busy_s), sum(saved_joules),"
    " sum(saved_error), sum(unknown_joules)" OLD_HOURS
    " GROUP BY 1, device, job" ENERGY_ADDS_UP;

#define OLD_JOBS "(SELECT id FROM jobs WHERE ended_s < ?1 ORDER BY ended_s, id LIMIT 50)"

/* Statements that take the cut-off as ?1, up to the first NULL. */
static const struct {
    size_t age; /* offset of the age in struct store_retention */
    const char *sql[6];
} phases[] = {
    {offsetof(struct store_retention, telemetry_s),
     {fold_measurements, "DELETE" OLD_MEASUREMENTS}},
    {offsetof(struct store_retention, telemetry_s), {fold_power, "DELETE" OLD_POWER}},
    {offsetof(struct store_retention, hours_s),
     {"DELETE FROM measurement_hours WHERE (job, hour_s, device) IN (SELECT job, hour_s,"
      " device FROM measurement_hours WHERE hour_s < ?1 LIMIT 2000)"}},
    {offsetof(struct store_retention, hours_s),
     {"DELETE FROM power_hours WHERE (device, hour_s) IN"
      " (SELECT device, hour_s FROM power_hours WHERE hour_s < ?1 LIMIT 2000)"}},
    {offsetof(struct store_retention, hours_s), {fold_energy, "DELETE" OLD_HOURS}},
    {offsetof(struct store_retention, events_s), {"DELETE" OLDEST("events")}},
    {offsetof(struct store_retention, jobs_s),
     {"DELETE FROM transitions WHERE job IN " OLD_JOBS,
      "DELETE FROM decisions WHERE job IN " OLD_JOBS,
      "DELETE FROM quotes WHERE job IN " OLD_JOBS,
      "DELETE FROM guard_events WHERE job IN " OLD_JOBS,
      "DELETE FROM jobs WHERE id IN " OLD_JOBS}},
    /* Quotes that became jobs went with them. */
    {offsetof(struct store_retention, jobs_s),
     {"DELETE FROM quotes WHERE job IS NULL AND id IN"
      " (SELECT id FROM quotes WHERE job IS NULL AND at_s < ?1 LIMIT 2000)"}},
    {offsetof(struct store_retention, audit_s), {"DELETE" OLDEST("audit")}},
};
#define PHASE_COUNT (sizeof(phases) / sizeof(phases[0]))

/* A checkpoint with enough newer whole ones, or one that stayed in pieces; ?1: enough. */
#define OLD_MODEL                                                                        \
    "(SELECT id FROM models AS m WHERE (SELECT count(*) FROM models AS n"                \
    " WHERE n.name = m.name AND n.whole = 1 AND n.id > m.id)"                            \
    " >= iif(m.whole = 1, ?1, 1) ORDER BY id LIMIT 1)"
static const char *const drop_models[] = {
    "UPDATE models SET whole = 0 WHERE id = " OLD_MODEL,
    "DELETE FROM model_parts WHERE (model, part) IN (SELECT model, part FROM model_parts"
    " WHERE model = " OLD_MODEL " LIMIT 16)",
    "DELETE FROM models WHERE id = " OLD_MODEL
    " AND NOT EXISTS (SELECT 1 FROM model_parts WHERE model = models.id)",
    NULL,
};

/* ---- steps ------------------------------------------------------------------------- */

/* Rows of the present phase that a step has removed; 0: none is left. */
static int64_t by_age(struct db *db, const struct retention *r, struct err *err)
{
    const char *keep = (const char *)&r->keep;
    double age_s, cut;

    memcpy(&age_s, keep + phases[r->phase].age, sizeof(age_s));
    if (!(age_s > 0))
        return 0;
    cut = r->now_s - age_s;
    if (phases[r->phase].sql[0] == fold_energy)
        cut = floor(cut / DAY_S) * DAY_S;
    return run_all(db, phases[r->phase].sql, cut, err);
}

static int64_t old_models(struct db *db, const struct retention *r, struct err *err)
{
    int keep = r->keep.models > 0 ? r->keep.models : KEPT_MODELS;
    sqlite3_stmt *q = db_query(db, "SELECT EXISTS " OLD_MODEL, err);
    struct db_value enough = db_value_int(keep);
    int64_t found = -1;

    if (!q)
        return -1;
    db_bind(q, 1, &enough);
    if (db_next(db, q, err) > 0)
        found = sqlite3_column_int64(q, 0);
    db_reset(q);
    if (found > 0 && run_all(db, drop_models, keep, err) < 0)
        return -1;
    return found;
}

int retention_step(struct store *store, struct retention *r, struct err *err)
{
    int64_t removed;

    if (db_exec(store->db, "BEGIN IMMEDIATE", err) < 0)
        return -1;
    removed = r->phase < PHASE_COUNT ? by_age(store->db, r, err)
                                     : old_models(store->db, r, err);
    /* Numbers of rows that go must not be given again. */
    if (removed < 0 || (removed > 0 && store_keep_sequences(store, err) < 0) ||
        db_exec(store->db, "COMMIT", err) < 0)
        return -1;
    if (removed == 0)
        r->phase++;
    return r->phase <= PHASE_COUNT;
}

int store_retain(struct store *store, const struct store_retention *keep, double now_s,
                 store_done done, void *ctx, struct err *err)
{
    int rc = 0;

    pthread_mutex_lock(&store->lock);
    if (store->retention || store->closing) {
        rc = err_set(err, ERR_BUSY, "the store is being tidied already");
    } else {
        store->retention = mem_new(struct retention);
        *store->retention =
            (struct retention){.keep = *keep, .now_s = now_s, .done = done, .ctx = ctx};
        pthread_cond_signal(&store->changed);
    }
    pthread_mutex_unlock(&store->lock);
    return rc;
}
