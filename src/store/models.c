/* models.c - checkpoints of what was learned, in pieces: the writer commits submissions
 * in between, and the newest one that is whole is loaded */
#include "store/store_private.h"

#include "base/str.h"

#include <string.h>

/* A piece takes a few milliseconds to write, the longest a submission waits for one. */
#define PART_BYTES ((size_t)256 << 10)

/* ---- saving ------------------------------------------------------------------------ */

/* One row as a batch of its own. */
static int hand_over(struct store *store, enum store_table table, const void *row,
                     store_done done, void *ctx, struct err *err)
{
    struct store_batch *batch = store_batch_create();

    store_put_row(batch, table, row);
    if (store_commit(store, batch, STORE_RELAXED, done, ctx, err) == 0)
        return 0;
    store_batch_destroy(batch);
    return -1;
}

int store_save_model(struct store *store, const char *name, int version, double at_s,
                     const void *bytes, size_t count, store_done done, void *ctx,
                     struct err *err)
{
    struct model_row model = {
        .name = name, .version = version, .at_s = at_s, .bytes = count};
    struct model_part part = {.part = 0};

    if (count == 0 || count > STORE_MODEL_MAX_BYTES)
        return err_set(err, ERR_LIMIT,
                       "a checkpoint of %zu bytes cannot be stored (1 to %zu)", count,
                       STORE_MODEL_MAX_BYTES);
    model.id = part.model = store_take_id(store, STORE_MODEL_ID);
    store_digest(bytes, count, model.digest);
    if (hand_over(store, STORE_MODELS, &model, NULL, NULL, err) < 0)
        return -1;
    for (size_t at = 0; at < count; at += PART_BYTES, part.part++) {
        part.bytes.bytes = (const char *)bytes + at;
        part.bytes.count = count - at < PART_BYTES ? count - at : PART_BYTES;
        if (hand_over(store, STORE_MODEL_PARTS, &part, NULL, NULL, err) < 0)
            return -1;
    }
    return hand_over(store, STORE_WHOLE_MODELS, &model, done, ctx, err);
}

/* ---- loading ----------------------------------------------------------------------- */

static int add_part(void *ctx, const void *row)
{
    const struct model_part *part = row;
    struct str *text = ctx;

    if (part->bytes.count > STORE_MODEL_MAX_BYTES - text->length)
        return 1;
    str_add_bytes(text, part->bytes.bytes, part->bytes.count);
    return 0;
}

int model_read_parts(struct store_reader *reader, const struct model_row *model,
                     struct str *text, struct err *err)
{
    struct store_filter filter = {.id = model->id};
    unsigned char found[STORE_DIGEST_BYTES];

    str_clear(text);
    if (store_read(reader, STORE_MODEL_PARTS, &filter, add_part, text, err) < 0)
        return -1;
    store_digest(str_text(text), text->length, found);
    return memcmp(found, model->digest, sizeof(found)) == 0;
}

struct model_search {
    struct store_reader *reader;
    struct store_model model;
    struct str text;
    int found; /* 1: yes, -1: err says why not */
    struct err err;
};

static int try_model(void *ctx, const void *row)
{
    struct model_search *search = ctx;
    const struct model_row *model = row;

    search->found = model_read_parts(search->reader, model, &search->text, &search->err);
    if (search->found == 0)
        search->model.skipped++;
    search->model.version = model->version;
    search->model.at_s = model->at_s;
    return search->found != 0;
}

int store_load_model(struct store_reader *reader, const char *name,
                     struct store_model *model, struct err *err)
{
    struct model_search search = {.reader = reader};
    struct store_filter filter = {.name = name};
    int rc = -1;

    if (store_read(reader, STORE_MODELS, &filter, try_model, &search, err) >= 0) {
        if (search.found < 0)
            *err = search.err;
        else if (search.found == 0)
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
