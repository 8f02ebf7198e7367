/* store_energy.c - see store_energy.h */
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
        batch_int(batch, (int64_t)hour);
    else
        batch_null(batch); /* refused: no such time */
    batch_int(batch, HOUR_S);
    batch_text_or(batch, energy->device, "");
    batch_u64(batch, energy->job);
    batch_text_or(batch, energy->user, "");
    batch_real(batch, energy->joules);
    batch_real(batch, energy->error_joules);
    batch_real(batch, energy->modelled_joules);
    batch_real(batch, energy->busy_s);
    batch_real(batch, energy->saved_joules);
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

struct walk {
    store_energy_row row;
    void *ctx;
};

static int visit_sum(void *ctx, struct db_query *q)
{
    const struct walk *walk = ctx;
    struct store_energy_sum sum = {
        .start_s = db_real(q, 0),
        .span_s = db_real(q, 1),
        .job = db_u64(q, 2),
        .user = db_text(q, 3),
        .device = db_text(q, 4),
        .joules = db_real(q, 5),
        .error_joules = db_real(q, 6),
        .modelled_joules = db_real(q, 7),
        .busy_s = db_real(q, 8),
        .saved_joules = db_real(q, 9),
    };

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
    struct walk walk = {row, ctx};
    struct str sql = {0};
    struct db_query *q;
    int rc;

    compose(&sql, by, filter);
    q = db_query_once(reader->db, str_text(&sql), err);
    str_fini(&sql);
    if (!q)
        return -1;
    db_bind_real(q, 1, filter->from_s);
    db_bind_real(q, 2, filter->to_s > 0 ? filter->to_s : 1e300);
    db_bind_int(q, 3, (int64_t)filter->job);
    db_bind_text(q, 4, filter->user);
    db_bind_text(q, 5, filter->device);
    db_bind_int(q, 6, reader_limit(filter->limit, 10000));
    rc = reader_walk(q, visit_sum, &walk, err);
    db_query_destroy(q);
    return rc < 0 ? -1 : 0;
}
