/* store_energy.c - the books of energy: service/energy.c adds to the hour that runs, and
 * GET /v1/energy reads sums over them */
#include "store/store_energy.h"

#include "base/str.h"
#include "store/batch.h"
#include "store/reader_private.h"

#include <math.h>

#define HOUR_S 3600

void store_add_energy(struct store_batch *batch, const struct store_energy *energy)
{
    double hour = floor(energy->at_s / HOUR_S) * HOUR_S;

    batch_statement(batch,
                    "INSERT INTO energy (start_s, span_s, device, job, user, joules,"
                    " error_joules, modelled_joules, busy_s, saved_joules)"
                    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
                    " ON CONFLICT (start_s, span_s, device, job) DO UPDATE SET"
                    " joules = joules + excluded.joules,"
                    " error_joules = error_joules + excluded.error_joules,"
                    " modelled_joules = modelled_joules + excluded.modelled_joules,"
                    " busy_s = busy_s + excluded.busy_s,"
                    " saved_joules = saved_joules + excluded.saved_joules",
                    NULL);
    if (fabs(hour) < 1e15)
        BATCH(batch, DB((int64_t)hour));
    else
        BATCH(batch, db_value_text(NULL)); /* refused: no such time */
    BATCH(batch, DB(HOUR_S), DB(energy->device ? energy->device : ""), DB(energy->job),
          DB(energy->user ? energy->user : ""), DB(energy->joules),
          DB(energy->error_joules), DB(energy->modelled_joules), DB(energy->busy_s),
          DB(energy->saved_joules));
}

/* ---- reading ----------------------------------------------------------------------- */

/* Columns that tell a sum apart, and how sums are grouped and sorted. */
static const struct {
    const char *columns; /* start_s, span_s, job, user, device */
    const char *group;
} shapes[] = {
    [STORE_ENERGY_TOTAL] = {"min(start_s), max(start_s + span_s) - min(start_s),"
                            " 0, NULL, NULL",
                            " HAVING count(*) > 0"},
    [STORE_ENERGY_BY_JOB] = {"min(start_s), max(start_s + span_s) - min(start_s),"
                             " job, nullif(max(user), ''), NULL",
                             " GROUP BY job ORDER BY sum(joules) DESC, job"},
    [STORE_ENERGY_BY_USER] = {"min(start_s), max(start_s + span_s) - min(start_s),"
                              " 0, nullif(user, ''), NULL",
                              " GROUP BY user ORDER BY sum(joules) DESC, user"},
    [STORE_ENERGY_BY_DEVICE] = {"min(start_s), max(start_s + span_s) - min(start_s),"
                                " 0, NULL, device",
                                " GROUP BY device ORDER BY sum(joules) DESC, device"},
    [STORE_ENERGY_BY_HOUR] = {"start_s, span_s, 0, NULL, NULL",
                              " GROUP BY start_s, span_s ORDER BY start_s, span_s"},
    [STORE_ENERGY_BY_DAY] = {"start_s / 86400 * 86400, 86400, 0, NULL, NULL",
                             " GROUP BY start_s / 86400 ORDER BY 1"},
};

struct sum_walk {
    store_energy_row row;
    void *ctx;
};

static int visit_sum(void *ctx, struct db_query *q)
{
    const struct sum_walk *walk = ctx;
    struct store_energy_sum sum = {0};

    DB_ROW(q, 0, DB_TO(sum.start_s), DB_TO(sum.span_s), DB_TO(sum.job), DB_TO(sum.user),
           DB_TO(sum.device), DB_TO(sum.joules), DB_TO(sum.error_joules),
           DB_TO(sum.modelled_joules), DB_TO(sum.busy_s), DB_TO(sum.saved_joules));
    return walk->row(walk->ctx, &sum);
}

/* The first term is for the index, no span is longer than a day. */
static void compose(struct str *sql, enum store_energy_by by,
                    const struct store_energy_filter *filter)
{
    str_addf(sql,
             "SELECT %s, sum(joules), sum(error_joules), sum(modelled_joules),"
             " sum(busy_s), sum(saved_joules) FROM energy"
             " WHERE start_s > ?1 - 86400 AND start_s + span_s > ?1 AND start_s < ?2",
             shapes[by].columns);
    if (filter->job > 0)
        str_add(sql, " AND job = ?3");
    if (filter->user)
        str_add(sql, " AND user = ?4");
    if (filter->device)
        str_add(sql, " AND device = ?5");
    str_addf(sql, "%s LIMIT ?6", shapes[by].group);
}

int store_read_energy(struct store_reader *reader, enum store_energy_by by,
                      const struct store_energy_filter *filter, store_energy_row row,
                      void *ctx, struct err *err)
{
    struct sum_walk walk = {row, ctx};
    struct str sql = {0};
    struct db_query *q;
    int rc;

    compose(&sql, by, filter);
    q = db_query_once(reader->db, str_text(&sql), err);
    str_fini(&sql);
    DB_BIND(q, DB(filter->from_s), DB(filter->to_s > 0 ? filter->to_s : 1e300),
            DB((int64_t)filter->job), DB(filter->user), DB(filter->device),
            DB(reader_limit(filter->limit, 10000)));
    rc = reader_walk(q, visit_sum, &walk, err);
    db_query_destroy(q);
    return rc < 0 ? -1 : 0;
}
