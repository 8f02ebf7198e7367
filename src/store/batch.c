/* batch.c - what the files of the tables fill and the writer thread applies: statements
 * and copies of their values, all bytes of a batch in one buffer */
#include "store/batch.h"

#include "base/str.h"
#include "base/vec.h"

#include <assert.h>
#include <string.h>

struct statement {
    const char *sql;
    const char *missing;
    size_t first, count; /* in batch.values */
};

struct store_batch {
    vec_of(struct statement) statements;
    vec_of(struct db_value) values; /* number: where their bytes begin below */
    struct str bytes;
};

struct store_batch *store_batch_create(void)
{
    return mem_new(struct store_batch);
}

void store_batch_destroy(struct store_batch *batch)
{
    if (!batch)
        return;
    vec_free(&batch->statements);
    vec_free(&batch->values);
    str_fini(&batch->bytes);
    free(batch);
}

size_t store_batch_rows(const struct store_batch *batch)
{
    return batch->statements.count;
}

size_t store_batch_bytes(const struct store_batch *batch)
{
    return sizeof(*batch) + batch->statements.capacity * sizeof(struct statement) +
           batch->values.capacity * sizeof(struct db_value) + batch->bytes.capacity;
}

/* ---- filling ----------------------------------------------------------------------- */

void batch_statement(struct store_batch *batch, const char *sql, const char *missing)
{
    struct statement statement = {
        .sql = sql, .missing = missing, .first = batch->values.count};

    vec_push(&batch->statements, statement);
}

void batch_values(struct store_batch *batch, const struct db_value *values, size_t count)
{
    assert(batch->statements.count > 0);
    batch->statements.items[batch->statements.count - 1].count += count;
    for (size_t i = 0; i < count; i++) {
        struct db_value value = values[i];

        if (value.type == DB_TEXT || value.type == DB_BLOB) {
            value.number = (int64_t)batch->bytes.length;
            str_add_bytes(&batch->bytes, value.count > 0 ? value.bytes : "", value.count);
        }
        vec_push(&batch->values, value);
    }
}

void batch_words(struct store_batch *batch, const char *const *words)
{
    struct str joined = {0};

    if (!words) {
        BATCH(batch, db_value_text(NULL));
        return;
    }
    for (; *words; words++)
        str_add_bytes(&joined, *words, strlen(*words) + 1);
    BATCH(batch, db_value_blob(joined.text, joined.length));
    str_fini(&joined);
}

/* ---- writing ----------------------------------------------------------------------- */

int batch_apply(const struct store_batch *batch, struct db *db, struct err *err)
{
    vec_each (struct statement, statement, &batch->statements) {
        struct db_value *values = &batch->values.items[statement->first];
        struct db_query *q = db_query(db, statement->sql, err);

        if (!q)
            return -1;
        for (size_t i = 0; i < statement->count; i++)
            if (values[i].type == DB_TEXT || values[i].type == DB_BLOB)
                values[i].bytes = str_text(&batch->bytes) + values[i].number;
        db_bind(q, values, statement->count);
        if (db_run(q, err) < 0)
            return -1;
        if (statement->missing && db_changes(db) == 0)
            return err_set(err, ERR_NOT_FOUND, "%s", statement->missing);
    }
    return 0;
}
