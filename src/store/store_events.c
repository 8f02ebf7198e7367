/* store_events.c - see store_events.h */
#include "store/store_events.h"

#include "store/batch.h"
#include "store/reader_private.h"

void store_add_event(struct store_batch *batch, const struct store_event *event)
{
    batch_statement(batch,
                    "INSERT INTO events (id, at_s, kind, job, user, data)"
                    " VALUES (?, ?, ?, ?, ?, ?)",
                    NULL);
    batch_u64(batch, event->id);
    batch_real(batch, event->at_s);
    batch_text(batch, event->kind);
    if (event->job > 0)
        batch_u64(batch, event->job);
    else
        batch_null(batch);
    batch_text(batch, event->user);
    batch_text_or(batch, event->data, "{}");
}

struct walk {
    store_event_row row;
    void *ctx;
};

static int visit_event(void *ctx, struct db_query *q)
{
    const struct walk *walk = ctx;
    struct store_event event = {
        .id = db_u64(q, 0),
        .at_s = db_real(q, 1),
        .kind = db_text(q, 2),
        .job = db_u64(q, 3),
        .user = db_text(q, 4),
        .data = db_text(q, 5),
    };

    return walk->row(walk->ctx, &event);
}

int store_read_events(struct store_reader *reader, uint64_t after_id, int limit,
                      store_event_row row, void *ctx, struct err *err)
{
    struct walk walk = {row, ctx};
    struct db_query *q = db_query(reader->db,
                                  "SELECT id, at_s, kind, job, user, data FROM events"
                                  " WHERE id > ?1 ORDER BY id LIMIT ?2",
                                  err);

    if (!q)
        return -1;
    db_bind_int(q, 1, after_id <= INT64_MAX ? (int64_t)after_id : INT64_MAX);
    db_bind_int(q, 2, reader_limit(limit, 1000));
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
