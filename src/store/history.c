/* history.c - what became of jobs, why, and what was promised: service/ adds a row with
 * each change, and GET of history, decisions and quotes reads them */
#include "store/history.h"

#include "store/batch.h"
#include "store/reader_private.h"
#include "store/store_jobs.h"

/* ---- transitions ------------------------------------------------------------------- */

void store_add_transition(struct store_batch *batch, const struct store_transition *t)
{
    batch_statement(batch,
                    "INSERT INTO transitions (job, at_s, from_state, to_state, what,"
                    " reason, attempt, devices) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    NULL);
    BATCH(batch, DB(t->job), DB(t->at_s), DB(t->first ? NULL : store_state_name(t->from)),
          DB(store_state_name(t->to)), DB(t->what), DB(t->reason), DB(t->attempt),
          DB(t->devices));
}

READER_WALK(transition);

static int visit_transition(void *ctx, struct db_query *q)
{
    const struct transition_walk *walk = ctx;
    const char *from = NULL, *to = NULL;
    struct store_transition t = {0};

    DB_ROW(q, 0, DB_TO(t.job), DB_TO(t.at_s), DB_TO(from), DB_TO(to), DB_TO(t.what),
           DB_TO(t.reason), DB_TO(t.attempt), DB_TO(t.devices));
    t.first = !from;
    t.from = store_state_named(from);
    t.to = store_state_named(to);
    return walk->row(walk->ctx, &t);
}

int store_read_transitions(struct store_reader *reader, uint64_t job,
                           store_transition_row row, void *ctx, struct err *err)
{
    struct transition_walk walk = {row, ctx};
    struct db_query *q =
        db_query(reader->db,
                 "SELECT job, at_s, from_state, to_state, what, reason, attempt, devices"
                 " FROM transitions WHERE job = ?1 ORDER BY id",
                 err);

    DB_BIND(q, DB((int64_t)job));
    return reader_walk(q, visit_transition, &walk, err) < 0 ? -1 : 0;
}

/* ---- decisions --------------------------------------------------------------------- */

void store_add_decision(struct store_batch *batch, const struct store_decision *d)
{
    batch_statement(batch,
                    "INSERT INTO decisions (id, job, at_s, round, what, devices, rate,"
                    " watts, joules, reason, alternatives)"
                    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    NULL);
    BATCH(batch, DB(d->id), DB(d->job), DB(d->at_s), DB(d->round), DB(d->what),
          DB(d->devices), DB(d->rate), DB(d->watts), DB(d->joules), DB(d->reason),
          DB(d->alternatives));
}

READER_WALK(decision);

static int visit_decision(void *ctx, struct db_query *q)
{
    const struct decision_walk *walk = ctx;
    struct store_decision d = {0};

    DB_ROW(q, 0, DB_TO(d.id), DB_TO(d.job), DB_TO(d.at_s), DB_TO(d.round), DB_TO(d.what),
           DB_TO(d.devices), DB_TO(d.rate), DB_TO(d.watts), DB_TO(d.joules),
           DB_TO(d.reason), DB_TO(d.alternatives));
    return walk->row(walk->ctx, &d);
}

#define SELECT_DECISIONS                                                                 \
    "SELECT id, job, at_s, round, what, devices, rate, watts, joules, reason,"           \
    " alternatives FROM decisions WHERE id < ?1 AND at_s >= ?2 AND at_s <= ?3"
#define NEWEST_FIRST " ORDER BY id DESC LIMIT ?4"

int store_read_decisions(struct store_reader *reader,
                         const struct store_decision_filter *filter,
                         store_decision_row row, void *ctx, struct err *err)
{
    static const char of_all[] = SELECT_DECISIONS NEWEST_FIRST;
    static const char of_one[] = SELECT_DECISIONS " AND job = ?5" NEWEST_FIRST;
    struct decision_walk walk = {row, ctx};
    struct db_query *q = db_query(reader->db, filter->job > 0 ? of_one : of_all, err);

    DB_BIND(q, DB(filter->before_id > 0 ? (int64_t)filter->before_id : INT64_MAX),
            DB(filter->from_s), DB(filter->to_s > 0 ? filter->to_s : 1e300),
            DB(reader_limit(filter->limit, 1000)), DB((int64_t)filter->job));
    return reader_walk(q, visit_decision, &walk, err) < 0 ? -1 : 0;
}

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
    BATCH(batch, DB(quote->id), db_value_id(quote->job),
          DB(quote->user ? quote->user : ""), DB(quote->at_s), DB(quote->verdict),
          DB(quote->rate), DB(quote->confidence), DB(quote->joules),
          DB(quote->joules_low), DB(quote->joules_high), DB(quote->start_s),
          DB(quote->valid_until_s), DB(quote->devices), DB(quote->neighbour),
          DB(quote->detail));
}

READER_WALK(quote);

static int visit_quote(void *ctx, struct db_query *q)
{
    const struct quote_walk *walk = ctx;
    struct store_quote quote = {0};

    DB_ROW(q, 0, DB_TO(quote.id), DB_TO(quote.job), DB_TO(quote.user), DB_TO(quote.at_s),
           DB_TO(quote.verdict), DB_TO(quote.rate), DB_TO(quote.confidence),
           DB_TO(quote.joules), DB_TO(quote.joules_low), DB_TO(quote.joules_high),
           DB_TO(quote.start_s), DB_TO(quote.valid_until_s), DB_TO(quote.devices),
           DB_TO(quote.neighbour), DB_TO(quote.detail));
    return walk->row(walk->ctx, &quote);
}

int store_read_quotes(struct store_reader *reader, uint64_t job, store_quote_row row,
                      void *ctx, struct err *err)
{
    static const char sql[] =
        "SELECT " QUOTE_COLUMNS " FROM quotes WHERE job = ?1 ORDER BY id";
    struct quote_walk walk = {row, ctx};
    struct db_query *q = db_query(reader->db, sql, err);

    DB_BIND(q, DB((int64_t)job));
    return reader_walk(q, visit_quote, &walk, err) < 0 ? -1 : 0;
}

/* ---- promises that broke ----------------------------------------------------------- */

void store_add_guard(struct store_batch *batch, const struct store_guard *guard)
{
    batch_statement(batch,
                    "INSERT INTO guard_events (job, at_s, kind, promised, measured,"
                    " window_s, device, action, reason)"
                    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    NULL);
    BATCH(batch, DB(guard->job), DB(guard->at_s), DB(guard->kind), DB(guard->promised),
          DB(guard->measured), DB(guard->window_s), DB(guard->device), DB(guard->action),
          DB(guard->reason));
}
