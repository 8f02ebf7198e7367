/* history.c - see history.h */
#include "store/history.h"

#include "store/batch.h"
#include "store/names.h"
#include "store/reader_private.h"

/* ---- transitions ------------------------------------------------------------------- */

void store_add_transition(struct store_batch *batch, const struct store_transition *t)
{
    batch_statement(batch,
                    "INSERT INTO transitions (job, at_s, from_state, to_state, what,"
                    " reason, attempt, devices) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    NULL);
    batch_u64(batch, t->job);
    batch_real(batch, t->at_s);
    batch_text(batch, t->first ? NULL : names_state(t->from));
    batch_text(batch, names_state(t->to));
    batch_text(batch, t->what);
    batch_text(batch, t->reason);
    batch_int(batch, t->attempt);
    batch_text(batch, t->devices);
}

struct transition_walk {
    store_transition_row row;
    void *ctx;
};

static int visit_transition(void *ctx, struct db_query *q)
{
    const struct transition_walk *walk = ctx;
    struct store_transition t = {
        .job = db_u64(q, 0),
        .at_s = db_real(q, 1),
        .first = db_type(q, 2) == DB_NULL,
        .from = names_state_of(db_text(q, 2)),
        .to = names_state_of(db_text(q, 3)),
        .what = db_text(q, 4),
        .reason = db_text(q, 5),
        .attempt = (int)db_int(q, 6),
        .devices = db_text(q, 7),
    };

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

    if (!q)
        return -1;
    db_bind_int(q, 1, (int64_t)job);
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
    batch_u64(batch, d->id);
    batch_u64(batch, d->job);
    batch_real(batch, d->at_s);
    batch_u64(batch, d->round);
    batch_text(batch, d->what);
    batch_text(batch, d->devices);
    batch_real(batch, d->rate);
    batch_real(batch, d->watts);
    batch_real(batch, d->joules);
    batch_text(batch, d->reason);
    batch_text(batch, d->alternatives);
}

struct decision_walk {
    store_decision_row row;
    void *ctx;
};

static int visit_decision(void *ctx, struct db_query *q)
{
    const struct decision_walk *walk = ctx;
    struct store_decision d = {
        .id = db_u64(q, 0),
        .job = db_u64(q, 1),
        .at_s = db_real(q, 2),
        .round = db_u64(q, 3),
        .what = db_text(q, 4),
        .devices = db_text(q, 5),
        .rate = db_real(q, 6),
        .watts = db_real(q, 7),
        .joules = db_real(q, 8),
        .reason = db_text(q, 9),
        .alternatives = db_text(q, 10),
    };

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

    if (!q)
        return -1;
    db_bind_int(q, 1, filter->before_id > 0 ? (int64_t)filter->before_id : INT64_MAX);
    db_bind_real(q, 2, filter->from_s);
    db_bind_real(q, 3, filter->to_s > 0 ? filter->to_s : 1e300);
    db_bind_int(q, 4, reader_limit(filter->limit, 1000));
    if (filter->job > 0)
        db_bind_int(q, 5, (int64_t)filter->job);
    return reader_walk(q, visit_decision, &walk, err) < 0 ? -1 : 0;
}
