/* store_events.c - events as service/ sends them to those who follow, kept for those who
 * come back: written with the change they tell of, read again by id */
#include "store/store_events.h"

#include "store/batch.h"
#include "store/reader_private.h"

void store_add_event(struct store_batch *batch, const struct store_event *event)
{
    batch_statement(batch,
                    "INSERT INTO events (id, at_s, kind, job, user, data)"
                    " VALUES (?, ?, ?, ?, ?, ?)",
                    NULL);
    BATCH(batch, DB(event->id), DB(event->at_s), DB(event->kind), db_value_id(event->job),
          DB(event->user), DB(event->data ? event->data : "{}"));
}

READER_WALK(event);

static int visit_event(void *ctx, struct db_query *q)
{
    const struct event_walk *walk = ctx;
    struct store_event event = {0};

    DB_ROW(q, 0, DB_TO(event.id), DB_TO(event.at_s), DB_TO(event.kind), DB_TO(event.job),
           DB_TO(event.user), DB_TO(event.data));
    return walk->row(walk->ctx, &event);
}

int store_read_events(struct store_reader *reader, uint64_t after_id, int limit,
                      store_event_row row, void *ctx, struct err *err)
{
    struct event_walk walk = {row, ctx};
    struct db_query *q = db_query(reader->db,
                                  "SELECT id, at_s, kind, job, user, data FROM events"
                                  " WHERE id > ?1 ORDER BY id LIMIT ?2",
                                  err);

    DB_BIND(q, DB(after_id <= INT64_MAX ? (int64_t)after_id : INT64_MAX),
            DB(reader_limit(limit, 1000)));
    return reader_walk(q, visit_event, &walk, err) < 0 ? -1 : 0;
}

struct span {
    uint64_t oldest, newest;
};

static int visit_span(void *ctx, struct db_query *q)
{
    *(struct span *)ctx = (struct span){db_u64(q, 0), db_u64(q, 1)};
    return 0;
}

int store_read_event_span(struct store_reader *reader, uint64_t *oldest, uint64_t *newest,
                          struct err *err)
{
    /* Two seeks; min() and max() in one SELECT would read the whole table. */
    static const char sql[] = "SELECT ifnull((SELECT min(id) FROM events), 0),"
                              " ifnull((SELECT max(id) FROM events), 0)";
    struct span span = {0};

    if (reader_walk(db_query(reader->db, sql, err), visit_span, &span, err) < 0)
        return -1;
    *oldest = span.oldest;
    *newest = span.newest;
    return 0;
}
