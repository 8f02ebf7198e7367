/* batch.c - rows on their way to the disk: service/ puts them into a batch and hands it
 * in, the writer thread takes batches and applies them
 *
 * A batch holds copies of the values of its rows, all bytes of them in one buffer. */
#include "store/store_private.h"

#include "base/clock.h"

#include <assert.h>
#include <math.h>
#include <string.h>

struct statement {
    const struct row_table *table;
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

/* ---- filling ----------------------------------------------------------------------- */

/* Copy bytes; NULL: no value. */
static struct db_value bytes_value(struct store_batch *batch, int type, const void *bytes,
                                   size_t count)
{
    struct db_value value = {.type = SQLITE_NULL};

    if (bytes) {
        value = (struct db_value){
            .type = type, .number = (int64_t)batch->bytes.length, .count = (int)count};
        str_add_bytes(&batch->bytes, bytes, count);
    }
    return value;
}

static struct db_value text_value(struct store_batch *batch, const char *text)
{
    return bytes_value(batch, SQLITE_TEXT, text, text ? strlen(text) : 0);
}

/* Each word with a NUL behind it, whatever its bytes. */
static struct db_value words_value(struct store_batch *batch, const char *const *words)
{
    struct db_value value = bytes_value(batch, SQLITE_BLOB, words, 0);

    for (; words && *words; words++)
        str_add_bytes(&batch->bytes, *words, strlen(*words) + 1);
    if (value.type == SQLITE_BLOB)
        value.count = (int)((int64_t)batch->bytes.length - value.number);
    return value;
}

static struct db_value u64_value(uint64_t number)
{
    assert(number <= INT64_MAX);
    return db_value_int((int64_t)number);
}

static bool is_zero(const unsigned char *bytes, size_t count)
{
    return count == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, count - 1) == 0);
}

static struct db_value value_of(struct store_batch *batch, const struct row_column *c,
                                const void *at)
{
    const struct row_bytes *bytes = at;
    const char *text;
    int word;

    switch (c->kind) {
    case ROW_BOOL:
        return db_value_int(*(const bool *)at);
    case ROW_INT:
        return db_value_int(*(const int *)at);
    case ROW_UNSIGNED:
        return db_value_int(*(const unsigned *)at);
    case ROW_U64:
        return u64_value(*(const uint64_t *)at);
    case ROW_ID:
        return *(const uint64_t *)at > 0 ? u64_value(*(const uint64_t *)at)
                                         : (struct db_value){.type = SQLITE_NULL};
    case ROW_REAL:
        return db_value_real(*(const double *)at);
    case ROW_POSITIVE:
        return db_value_real(*(const double *)at > 0 ? *(const double *)at : NAN);
    case ROW_TEXT:
        text = *(const char *const *)at;
        return text_value(batch, text ? text : c->otherwise);
    case ROW_SUM:
        text = *(const char *const *)at;
        text = text ? text : c->otherwise;
        return text ? db_value_int(db_text_sum(text))
                    : (struct db_value){.type = SQLITE_NULL};
    case ROW_CHARS:
        return text_value(batch, at);
    case ROW_WORD:
        memcpy(&word, at, sizeof(word));
        return text_value(batch, word < 0 ? NULL : c->words[word]);
    case ROW_WORDS:
        return words_value(batch, *(const char *const *const *)at);
    case ROW_DIGEST:
        return bytes_value(batch, SQLITE_BLOB, is_zero(at, c->size) ? NULL : at, c->size);
    case ROW_BYTES:
        return bytes_value(batch, SQLITE_BLOB, bytes->bytes, bytes->count);
    }
    return (struct db_value){.type = SQLITE_NULL};
}

void store_put_row(struct store_batch *batch, enum store_table table, const void *row)
{
    const struct row_table *t = &row_tables[table];
    struct statement statement = {
        .table = t, .first = batch->values.count, .count = row_put_count(t)};
    size_t offset;

    vec_reserve(&batch->values, statement.first + statement.count);
    for (size_t i = 0; i < statement.count; i++) {
        const struct row_column *c = row_column(t, i, &offset);

        batch->values.items[statement.first + i] =
            value_of(batch, c, (const char *)row + offset);
    }
    batch->values.count += statement.count;
    vec_push(&batch->statements, statement);
}

/* ---- batches that wait ------------------------------------------------------------- */

static void append(struct pending_list *list, struct pending *pending)
{
    pending->next = NULL;
    if (list->last)
        list->last->next = pending;
    else
        list->first = pending;
    list->last = pending;
    list->rows += pending->rows;
    list->bytes += pending->bytes;
}

static int refuse(struct store *store, struct err *err)
{
    store->stats.refused++;
    if (store->closing)
        return err_set(err, ERR_BUSY, "the store is closing");
    return err_set(err, ERR_BUSY,
                   "too much waits to be stored (the limit is %zu rows, %zu MiB): try "
                   "again later",
                   store->options.queue_rows, STORE_QUEUE_BYTES >> 20);
}

int store_commit(struct store *store, struct store_batch *batch, enum store_class how,
                 store_done done, void *ctx, struct err *err)
{
    struct pending_list *list = &store->waiting[how];
    struct pending *p = mem_new(struct pending);
    size_t rows;
    int rc = 0;

    p->batch = batch;
    p->done = done;
    p->ctx = ctx;
    p->handed_s = clock_wall_s();
    p->rows = store_batch_rows(batch);
    p->bytes = sizeof(*p) + sizeof(*batch) + batch->bytes.capacity +
               batch->statements.capacity * sizeof(struct statement) +
               batch->values.capacity * sizeof(struct db_value);
    pthread_mutex_lock(&store->lock);
    /* A batch that is larger than the queue still goes into an empty one. */
    if (store->closing ||
        (list->first && (list->rows + p->rows > store->options.queue_rows ||
                         list->bytes + p->bytes > STORE_QUEUE_BYTES))) {
        rc = refuse(store, err);
        free(p);
    } else {
        append(list, p);
        list->handed++;
        rows = store->waiting[0].rows + store->waiting[1].rows;
        if (rows > store->stats.waiting_rows_peak)
            store->stats.waiting_rows_peak = rows;
        pthread_cond_signal(&store->changed);
    }
    pthread_mutex_unlock(&store->lock);
    return rc;
}

struct pending *queue_take(struct store *store, enum store_class how, size_t rows,
                           size_t bytes)
{
    struct pending_list *list = &store->waiting[how];
    struct pending_list taken = {0};

    while (list->first && taken.rows < rows && taken.bytes < bytes) {
        struct pending *pending = list->first;

        list->first = pending->next;
        if (!list->first)
            list->last = NULL;
        append(&taken, pending);
    }
    list->rows -= taken.rows;
    list->bytes -= taken.bytes;
    return taken.first;
}

void queue_return(struct store *store, enum store_class how, struct pending *pending)
{
    struct pending_list *list = &store->waiting[how];
    struct pending *last = pending;

    for (struct pending *p = pending; p; p = p->next) {
        list->rows += p->rows;
        list->bytes += p->bytes;
        last = p;
    }
    last->next = list->first;
    list->first = pending;
    if (!list->last)
        list->last = last;
}

void store_flush(struct store *store)
{
    const struct pending_list *durable = &store->waiting[STORE_DURABLE];
    const struct pending_list *relaxed = &store->waiting[STORE_RELAXED];
    uint64_t durable_handed, relaxed_handed, given_up;

    pthread_mutex_lock(&store->lock);
    durable_handed = durable->handed;
    relaxed_handed = relaxed->handed;
    given_up = store->given_up;
    store->flushing++;
    pthread_cond_signal(&store->changed);
    while (durable->finished < durable_handed ||
           (relaxed->finished < relaxed_handed && store->given_up == given_up))
        pthread_cond_wait(&store->finished, &store->lock);
    store->flushing--;
    pthread_mutex_unlock(&store->lock);
}

/* ---- writing ----------------------------------------------------------------------- */

static void add_list(struct str *sql, const struct row_table *t, size_t from, bool names)
{
    const char *separator = "(";
    size_t offset;

    for (size_t i = from; i < row_put_count(t); i++) {
        str_add(sql, separator);
        if (names)
            str_add(sql, row_column(t, i, &offset)->name);
        else
            str_addf(sql, "?%zu", i + 1);
        separator = ", ";
    }
    str_add(sql, ")");
}

/* What puts a row of the table; an update finds it by its first column, the id. */
static void compose(struct str *sql, const struct row_table *t)
{
    if (t->put) {
        str_add(sql, t->put);
    } else if (t->verb && strcmp(t->verb, "UPDATE") == 0) {
        str_addf(sql, "UPDATE %s SET ", t->name);
        add_list(sql, t, 1, true);
        str_add(sql, " = ");
        add_list(sql, t, 1, false);
        str_add(sql, " WHERE id = ?1");
    } else {
        str_addf(sql, "%s INTO %s ", t->verb ? t->verb : "INSERT", t->name);
        add_list(sql, t, 0, true);
        str_add(sql, " VALUES ");
        add_list(sql, t, 0, false);
    }
}

static sqlite3_stmt *query_of(struct db *db, const struct row_table *t, struct err *err)
{
    sqlite3_stmt *q = db_known(db, (uintptr_t)t);
    struct str sql = {0};

    if (!q) {
        compose(&sql, t);
        q = db_prepare(db, (uintptr_t)t, str_text(&sql), err);
        str_fini(&sql);
    }
    return q;
}

int batch_apply(const struct store_batch *batch, struct db *db, struct err *err)
{
    vec_each (struct statement, statement, &batch->statements) {
        sqlite3_stmt *q = query_of(db, statement->table, err);

        if (!q)
            return -1;
        for (size_t i = 0; i < statement->count; i++) {
            struct db_value value = batch->values.items[statement->first + i];

            if (value.type == SQLITE_TEXT || value.type == SQLITE_BLOB)
                value.bytes = str_text(&batch->bytes) + value.number;
            db_bind(q, (int)i + 1, &value);
        }
        if (db_run(db, q, err) < 0)
            return -1;
        if (statement->table->missing && sqlite3_changes64(db->handle) == 0)
            return err_set(err, ERR_NOT_FOUND, "%s", statement->table->missing);
    }
    return 0;
}
