/* promises.c - quotes and the guard's events: the other half of history.h */
#include "store/history.h"

#include "store/batch.h"
#include "store/reader_private.h"

/* ---- quotes ------------------------------------------------------------------------ */

#define QUOTE_COLUMNS                                                                    \
    "id, job, user, at_s, verdict, rate, confidence, joules, joules_low, joules_high,"   \
    " start_s, valid_until_s, devices, neighbour, detail"

void store_add_quote(struct store_batch *batch, const struct store_quote *quote)
{
    batch_statement(batch,
                    "INSERT INTO quotes (" QUOTE_COLUMNS
                    ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    NULL);
    batch_u64(batch, quote->id);
    if (quote->job > 0)
        batch_u64(batch, quote->job);
    else
        batch_null(batch);
    batch_text_or(batch, quote->user, "");
    batch_real(batch, quote->at_s);
    batch_text(batch, quote->verdict);
    batch_real(batch, quote->rate);
    batch_real(batch, quote->confidence);
    batch_real(batch, quote->joules);
    batch_real(batch, quote->joules_low);
    batch_real(batch, quote->joules_high);
    batch_real(batch, quote->start_s);
    batch_real(batch, quote->valid_until_s);
    batch_text(batch, quote->devices);
    batch_text(batch, quote->neighbour);
    batch_text(batch, quote->detail);
}

struct quote_walk {
    store_quote_row row;
    void *ctx;
};

static int visit_quote(void *ctx, struct db_query *q)
{
    const struct quote_walk *walk = ctx;
    struct store_quote quote = {
        .id = db_u64(q, 0),
        .job = db_u64(q, 1),
        .user = db_text(q, 2),
        .at_s = db_real(q, 3),
        .verdict = db_text(q, 4),
        .rate = db_real(q, 5),
        .confidence = db_real(q, 6),
        .joules = db_real(q, 7),
        .joules_low = db_real(q, 8),
        .joules_high = db_real(q, 9),
        .start_s = db_real(q, 10),
        .valid_until_s = db_real(q, 11),
        .devices = db_text(q, 12),
        .neighbour = db_text(q, 13),
        .detail = db_text(q, 14),
    };

    return walk->row(walk->ctx, &quote);
}

static int read_quotes(struct store_reader *reader, const char *sql, uint64_t id,
                       store_quote_row row, void *ctx, struct err *err)
{
    struct quote_walk walk = {row, ctx};
    struct db_query *q = db_query(reader->db, sql, err);

    if (!q)
        return -1;
    db_bind_int(q, 1, (int64_t)id);
    return reader_walk(q, visit_quote, &walk, err);
}

int store_read_quotes(struct store_reader *reader, uint64_t job, store_quote_row row,
                      void *ctx, struct err *err)
{
    static const char sql[] =
        "SELECT " QUOTE_COLUMNS " FROM quotes WHERE job = ?1 ORDER BY id";

    return read_quotes(reader, sql, job, row, ctx, err) < 0 ? -1 : 0;
}

int store_read_quote(struct store_reader *reader, uint64_t id, store_quote_row row,
                     void *ctx, struct err *err)
{
    static const char sql[] = "SELECT " QUOTE_COLUMNS " FROM quotes WHERE id = ?1";
    int rows = read_quotes(reader, sql, id, row, ctx, err);

    if (rows == 0)
        return err_set(err, ERR_NOT_FOUND, "there is no quote %llu",
                       (unsigned long long)id);
    return rows < 0 ? -1 : 0;
}

/* ---- the guard --------------------------------------------------------------------- */

void store_add_guard(struct store_batch *batch, const struct store_guard *guard)
{
    batch_statement(batch,
                    "INSERT INTO guard_events (job, at_s, kind, promised, measured,"
                    " window_s, device, action, reason)"
                    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    NULL);
    batch_u64(batch, guard->job);
    batch_real(batch, guard->at_s);
    batch_text(batch, guard->kind);
    batch_real(batch, guard->promised);
    batch_real(batch, guard->measured);
    batch_real(batch, guard->window_s);
    batch_text(batch, guard->device);
    batch_text(batch, guard->action);
    batch_text(batch, guard->reason);
}

struct guard_walk {
    store_guard_row row;
    void *ctx;
};

static int visit_guard(void *ctx, struct db_query *q)
{
    const struct guard_walk *walk = ctx;
    struct store_guard guard = {
        .job = db_u64(q, 0),
        .at_s = db_real(q, 1),
        .kind = db_text(q, 2),
        .promised = db_real(q, 3),
        .measured = db_real(q, 4),
        .window_s = db_real(q, 5),
        .device = db_text(q, 6),
        .action = db_text(q, 7),
        .reason = db_text(q, 8),
    };

    return walk->row(walk->ctx, &guard);
}

#define SELECT_GUARDS                                                                    \
    "SELECT job, at_s, kind, promised, measured, window_s, device, action, reason"       \
    " FROM guard_events WHERE at_s >= ?1"

int store_read_guards(struct store_reader *reader, uint64_t job, double from_s, int limit,
                      store_guard_row row, void *ctx, struct err *err)
{
    static const char of_all[] = SELECT_GUARDS " ORDER BY id LIMIT ?2";
    static const char of_one[] = SELECT_GUARDS " AND job = ?3 ORDER BY id LIMIT ?2";
    struct guard_walk walk = {row, ctx};
    struct db_query *q = db_query(reader->db, job > 0 ? of_one : of_all, err);

    if (!q)
        return -1;
    db_bind_real(q, 1, from_s);
    db_bind_int(q, 2, reader_limit(limit, 1000));
    if (job > 0)
        db_bind_int(q, 3, (int64_t)job);
    return reader_walk(q, visit_guard, &walk, err) < 0 ? -1 : 0;
}
