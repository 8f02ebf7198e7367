/* models.c - checkpoints of what was learned, in pieces: the writer commits submissions
 * in between, and the newest one that is whole is loaded */
#include "store/models.h"

#include "base/mem.h"
#include "base/str.h"
#include "store/batch.h"
#include "store/reader_private.h"

#include <stdlib.h>
#include <string.h>

/* A piece takes a few milliseconds to write, the longest a submission waits for one. */
#define PART_BYTES ((size_t)256 << 10)

/* ---- saving ------------------------------------------------------------------------ */

struct saving {
    struct store *store;
    uint64_t id;
    const char *name;
    int version;
    double at_s;
    const unsigned char *bytes;
    size_t count;
};

static struct store_batch *first_batch(const struct saving *s)
{
    struct store_batch *batch = store_batch_create();
    unsigned char digest[STORE_DIGEST_BYTES];

    store_digest(s->bytes, s->count, digest);
    batch_statement(batch,
                    "INSERT INTO models (id, name, version, at_s, bytes, digest, whole)"
                    " VALUES (?, ?, ?, ?, ?, ?, 0)",
                    NULL);
    BATCH(batch, DB(s->id), DB(s->name), DB(s->version), DB(s->at_s),
          DB((int64_t)s->count), db_value_blob(digest, sizeof(digest)));
    return batch;
}

static struct store_batch *part_batch(const struct saving *s, size_t part)
{
    struct store_batch *batch = store_batch_create();
    size_t from = part * PART_BYTES;
    size_t left = s->count - from;

    batch_statement(
        batch, "INSERT INTO model_parts (model, part, bytes) VALUES (?, ?, ?)", NULL);
    BATCH(batch, DB(s->id), DB((int64_t)part),
          db_value_blob(s->bytes + from, left < PART_BYTES ? left : PART_BYTES));
    return batch;
}

static struct store_batch *last_batch(const struct saving *s)
{
    struct store_batch *batch = store_batch_create();

    batch_statement(batch,
                    "UPDATE models SET whole = 1 WHERE id = ?1 AND bytes ="
                    " (SELECT sum(length(bytes)) FROM model_parts WHERE model = ?1)",
                    "a piece of the checkpoint could not be stored");
    BATCH(batch, DB(s->id));
    return batch;
}

static int hand_over(const struct saving *s, struct store_batch *batch, store_done done,
                     void *ctx, struct err *err)
{
    if (store_commit(s->store, batch, STORE_RELAXED, done, ctx, err) == 0)
        return 0;
    store_batch_destroy(batch);
    return -1;
}

int store_save_model(struct store *store, const char *name, int version, double at_s,
                     const void *bytes, size_t count, store_done done, void *ctx,
                     struct err *err)
{
    struct saving s = {.store = store,
                       .name = name,
                       .version = version,
                       .at_s = at_s,
                       .bytes = bytes,
                       .count = count};

    if (count == 0 || count > STORE_MODEL_MAX_BYTES)
        return err_set(err, ERR_LIMIT,
                       "a checkpoint of %zu bytes cannot be stored (1 to %zu)", count,
                       STORE_MODEL_MAX_BYTES);
    s.id = store_take_id(store, STORE_MODEL_ID);
    if (hand_over(&s, first_batch(&s), NULL, NULL, err) < 0)
        return -1;
    for (size_t part = 0; part * PART_BYTES < count; part++)
        if (hand_over(&s, part_batch(&s, part), NULL, NULL, err) < 0)
            return -1;
    return hand_over(&s, last_batch(&s), done, ctx, err);
}

/* ---- loading ----------------------------------------------------------------------- */

static int visit_part(void *ctx, struct db_query *q)
{
    struct str *text = ctx;
    size_t count;
    const char *bytes = db_blob(q, 0, &count);

    if (count > STORE_MODEL_MAX_BYTES - text->length)
        return 1;
    str_add_bytes(text, bytes, count);
    return 0;
}

/* The bytes of one checkpoint, if its digest agrees: 1, else 0, or -1. */
static int load_parts(struct store_reader *reader, int64_t id,
                      const unsigned char digest[STORE_DIGEST_BYTES], struct str *text,
                      struct err *err)
{
    unsigned char found[STORE_DIGEST_BYTES];
    struct db_query *q = db_query(
        reader->db, "SELECT bytes FROM model_parts WHERE model = ?1 ORDER BY part", err);

    DB_BIND(q, DB(id));
    str_clear(text);
    if (reader_walk(q, visit_part, text, err) < 0)
        return -1;
    store_digest(str_text(text), text->length, found);
    return memcmp(found, digest, sizeof(found)) == 0;
}

struct model_search {
    struct store_reader *reader;
    struct store_model model;
    struct str text;
    bool found, failed;
    struct err err;
};

static int visit_model(void *ctx, struct db_query *q)
{
    struct model_search *search = ctx;
    size_t count;
    const unsigned char *digest = db_blob(q, 3, &count);
    int rc =
        load_parts(search->reader, db_int(q, 0), digest, &search->text, &search->err);

    search->failed = rc < 0;
    search->found = rc > 0;
    if (rc == 0)
        search->model.skipped++;
    search->model.version = (int)db_int(q, 1);
    search->model.at_s = db_real(q, 2);
    return rc != 0;
}

int store_load_model(struct store_reader *reader, const char *name,
                     struct store_model *model, struct err *err)
{
    struct model_search search = {.reader = reader};
    struct db_query *q = db_query(reader->db,
                                  "SELECT id, version, at_s, digest FROM models"
                                  " WHERE name = ?1 AND whole = 1 ORDER BY id DESC",
                                  err);
    int rc = -1;

    DB_BIND(q, DB(name));
    if (reader_walk(q, visit_model, &search, err) >= 0) {
        if (search.failed)
            *err = search.err;
        else if (!search.found)
            err_set(err, ERR_NOT_FOUND, "there is no checkpoint of %s%s", name,
                    search.model.skipped > 0 ? " that is not damaged" : "");
        else
            rc = 0;
    }
    if (rc == 0) {
        *model = search.model;
        model->count = search.text.length;
        model->bytes = str_take(&search.text);
    }
    str_fini(&search.text);
    return rc;
}
