/* batch.c - see batch.h */
#include "store/batch.h"

#include "base/str.h"
#include "base/vec.h"

#include <assert.h>
#include <math.h>
#include <string.h>

struct value {
    enum db_type type;
    int64_t number;
    double real;
    size_t first, count; /* text and bytes: in batch.bytes */
};

struct statement {
    const char *sql;
    const char *missing;
    size_t first, count; /* in batch.values */
};

struct store_batch {
    vec_of(struct statement) statements;
    vec_of(struct value) values;
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
           batch->values.capacity * sizeof(struct value) + batch->bytes.capacity;
}

/* ---- filling ----------------------------------------------------------------------- */

void batch_statement(struct store_batch *batch, const char *sql, const char *missing)
{
    struct statement statement = {
        .sql = sql, .missing = missing, .first = batch->values.count};

    vec_push(&batch->statements, statement);
}

static void push(struct store_batch *batch, struct value value)
{
    assert(batch->statements.count > 0);
    batch->statements.items[batch->statements.count - 1].count++;
    vec_push(&batch->values, value);
}

void batch_int(struct store_batch *batch, int64_t value)
{
    push(batch, (struct value){.type = DB_INT, .number = value});
}

void batch_u64(struct store_batch *batch, uint64_t value)
{
    assert(value <= INT64_MAX);
    batch_int(batch, (int64_t)value);
}

void batch_bool(struct store_batch *batch, bool value)
{
    batch_int(batch, value);
}

void batch_real(struct store_batch *batch, double value)
{
    push(batch, (struct value){.type = isnan(value) ? DB_NULL : DB_REAL, .real = value});
}

static void push_bytes(struct store_batch *batch, enum db_type type, const void *bytes,
                       size_t count)
{
    push(batch,
         (struct value){.type = type, .first = batch->bytes.length, .count = count});
    str_add_bytes(&batch->bytes, bytes, count);
    str_add_bytes(&batch->bytes, "", 1);
}

void batch_text(struct store_batch *batch, const char *text)
{
    if (text)
        push_bytes(batch, DB_TEXT, text, strlen(text));
    else
        batch_null(batch);
}

void batch_text_or(struct store_batch *batch, const char *text, const char *instead)
{
    batch_text(batch, text ? text : instead);
}

void batch_blob(struct store_batch *batch, const void *bytes, size_t count)
{
    push_bytes(batch, DB_BLOB, count > 0 ? bytes : "", count);
}

void batch_words(struct store_batch *batch, const char *const *words)
{
    struct str joined = {0};

    if (!words) {
        batch_null(batch);
        return;
    }
    for (; *words; words++)
        str_add_bytes(&joined, *words, strlen(*words) + 1);
    batch_blob(batch, joined.text, joined.length);
    str_fini(&joined);
}

void batch_null(struct store_batch *batch)
{
    push(batch, (struct value){.type = DB_NULL});
}

/* ---- writing ----------------------------------------------------------------------- */

static void bind_value(const struct store_batch *batch, struct db_query *q, int index,
                       const struct value *value)
{
    switch (value->type) {
    case DB_INT:
        db_bind_int(q, index, value->number);
        break;
    case DB_REAL:
        db_bind_real(q, index, value->real);
        break;
    case DB_TEXT:
        db_bind_text(q, index, batch->bytes.text + value->first);
        break;
    case DB_BLOB:
        db_bind_blob(q, index, batch->bytes.text + value->first, value->count);
        break;
    case DB_NULL:
        db_bind_null(q, index);
        break;
    }
}

int batch_apply(const struct store_batch *batch, struct db *db, struct err *err)
{
    vec_each (struct statement, statement, &batch->statements) {
        struct db_query *q = db_query(db, statement->sql, err);

        if (!q)
            return -1;
        for (size_t i = 0; i < statement->count; i++)
            bind_value(batch, q, (int)i + 1, &batch->values.items[statement->first + i]);
        if (db_run(q, err) < 0)
            return -1;
        if (statement->missing && db_changes(db) == 0)
            return err_set(err, ERR_NOT_FOUND, "%s", statement->missing);
    }
    return 0;
}
