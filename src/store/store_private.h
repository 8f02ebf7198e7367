/* store_private.h - the store from inside: what waits for the writer, the tables, how
 * rows are described */
#pragma once

#include "base/str.h"
#include "base/vec.h"
#include "store/admin.h"
#include "store/db.h"
#include "store/rows.h"
#include "store/store_mark.h"

#include <pthread.h>
#include <stdatomic.h>

/* A batch that waits for the writer. */
struct pending {
    struct pending *next;
    struct store_batch *batch;
    store_done done; /* NULL: nobody waits */
    void *ctx;
    double handed_s;
    size_t rows, bytes;
    struct err err;
};

struct pending_list {
    struct pending *first, *last;
    size_t rows, bytes;
    uint64_t handed;   /* batches since the start */
    uint64_t finished; /* of these, stored or given up */
};

/* Removing and folding what is old, step by step. */
struct retention {
    struct store_retention keep;
    double now_s;
    size_t phase;
    store_done done;
    void *ctx;
    double due_s; /* when its next step is */
};

/* A file of the store, by which one that takes its place is told from it. */
struct store_place {
    dev_t device;
    ino_t inode; /* 0: it was not there when it was looked for */
};
#define STORE_PLACES 3

struct store {
    char *path;
    int lock_fd;
    const char *vfs;
    struct db *db; /* the writer's while it runs */
    bool interrupted;
    bool reading;        /* it was opened on a disk that did not take writes */
    char shortened[300]; /* what it lost before it was opened; "": nothing */
    _Atomic uint64_t next[STORE_SEQUENCE_COUNT];
    struct store_options options;
    pthread_t writer;

    pthread_mutex_t lock;           /* guards all below, down to the next remark */
    pthread_cond_t changed;         /* something was handed in, or asked for */
    pthread_cond_t finished;        /* something was written */
    struct pending_list waiting[2]; /* by enum store_class, bounded by the options */
    int flushing;      /* callers that wait: relaxed batches are due at once */
    uint64_t given_up; /* rounds in which relaxed batches could not be written */
    bool closing;
    struct store_stats stats;
    struct retention *retention; /* NULL: none is under way */

    /* Of the writer thread alone: */
    struct store_place places[STORE_PLACES];
    uint64_t commit; /* the number of the last durable transaction */
    struct store_mark mark;
    bool synced; /* SQLite syncs each commit now */
    double retry_s;
    double places_s; /* when its files are looked for the next time */
    int log_pages_next;
    vec_of(struct store_completion) completions;
};

/* Keep the numbers in use, for when their rows are gone; on the thread that writes,
 * inside a transaction of the caller's. */
int store_keep_sequences(struct store *store, struct err *err);

/* Before numbers are told to anybody: note in the mark that they are in use. */
void store_reserve(struct store *store);

/* -1 (ERR_SYSTEM): its files are not where they were, somebody removed or replaced them;
 * what is written now is lost when the process ends. */
int store_find_places(struct store *store, struct err *err);

/* Batches that wait may have so many bytes, each class. */
#define STORE_QUEUE_BYTES ((size_t)256 << 20)

/* ---- on the way to the disk -------------------------------------------------------- */

/* With the lock held: the oldest of a class, up to about so many rows and bytes. */
struct pending *queue_take(struct store *store, enum store_class how, size_t rows,
                           size_t bytes);
/* With the lock held: put a list that was taken back to the front. */
void queue_return(struct store *store, enum store_class how, struct pending *list);

/* The one thread that writes.  In turn it commits all durable batches that wait as one
 * synced transaction, then the relaxed ones that are due, then does one step of
 * retention, and empties the log when that delays nobody.  A batch that the schema
 * refuses is undone alone; when the disk refuses, durable batches fail at once, and
 * relaxed ones wait until it is well again or their queue is full. */
int writer_start(struct store *store, struct err *err);
void writer_stop(struct store *store); /* writes all that waits */

/* Run all statements, inside a transaction that the caller undoes on failure. */
int batch_apply(const struct store_batch *batch, struct db *db, struct err *err);

/* In a transaction of its own: 1 more to do, 0 finished, -1. */
int retention_step(struct store *store, struct retention *retention, struct err *err);

/* ---- the tables and the numbered steps that lead to them ----------------------------
 */

/* A store carries the number of the last step it has taken.  Opening one takes the
 * missing steps, each in a transaction of its own; one from a newer program is refused.
 * Steps that were released are never changed: a change of the tables is a new step. */
extern const char *const migrations_steps[];
extern const int migrations_count;

/* In the header of the file: "Corg". */
#define MIGRATIONS_APPLICATION_ID 0x436f7267

/* Bring db from whatever it has to step `count`; *from gets where it was.  Nothing is
 * changed when it is not a store (ERR_FORMAT) or newer (ERR_UNSUPPORTED). */
int migrations_apply(struct db *db, const char *const *steps, int count, int *from,
                     struct err *err);

/* For readers: exactly the version this program knows, or a sentence what to do. */
int migrations_examine(struct db *db, struct err *err);

/* ---- rows: tables.c describes them, batch.c writes and reader.c reads them ----------
 */

struct store_reader {
    struct db *db;
};

int reader_open(struct store_reader **reader, const char *path, const char *vfs,
                struct err *err);

/* ---- rows: tables.c describes them, batch.c writes and reader.c reads them -----------
 */

enum row_kind {
    ROW_BOOL,
    ROW_INT,
    ROW_UNSIGNED,
    ROW_U64,      /* an id or a count: below 2^63 */
    ROW_ID,       /* the same, 0 is NULL */
    ROW_REAL,     /* NaN is NULL */
    ROW_POSITIVE, /* what is not above 0 is NULL */
    ROW_TEXT,
    ROW_SUM, /* of the text that the same member fills; a text that differs is replaced */
    ROW_CHARS,  /* a text inside the struct */
    ROW_WORD,   /* an enum, in the table the word for it; below 0: NULL */
    ROW_WORDS,  /* a list that ends with NULL, in the table a blob */
    ROW_DIGEST, /* bytes inside the struct, all zero: NULL */
    ROW_BYTES,  /* struct row_bytes */
};

struct row_bytes {
    const void *bytes;
    size_t count;
};

struct row_column {
    const char *name;
    enum row_kind kind;
    size_t offset, size;
    const char *otherwise;    /* ROW_TEXT: what NULL is written as; NULL: as NULL */
    const char *const *words; /* ROW_WORD: ends with NULL */
};

struct row_table {
    const char *name;
    size_t size; /* of the struct */
    struct {
        const struct row_column *columns;
        size_t count;
        size_t offset; /* of the part in the struct */
    } parts[2];
    size_t only_read;      /* the last columns, not for putting */
    const char *verb;      /* INSERT OR REPLACE, UPDATE; NULL: INSERT */
    const char *put;       /* instead of what verb and columns make */
    const char *missing;   /* what to say (ERR_NOT_FOUND) when putting changes no row */
    const char *select;    /* up to the terms of a filter; NULL: all columns */
    const char *id, *time; /* what filters of ids and times compare; NULL: id, at_s */
    const char *needs;     /* a term that always stands, as ":job" */
    const char *tail;      /* behind the terms: order and groups */
    int limit;             /* when none is asked for; 0: none */
};

extern const struct row_table row_tables[STORE_TABLE_COUNT];
extern const char *const row_states[]; /* words of enum job_state; ends with NULL */

static inline size_t row_count(const struct row_table *t)
{
    return t->parts[0].count + t->parts[1].count;
}

static inline size_t row_put_count(const struct row_table *t)
{
    return row_count(t) - t->only_read;
}

/* A column of a row, and where its value is in the row's struct. */
static inline const struct row_column *row_column(const struct row_table *t, size_t i,
                                                  size_t *offset)
{
    int part = i >= t->parts[0].count;
    const struct row_column *c =
        &t->parts[part].columns[part ? i - t->parts[0].count : i];

    *offset = t->parts[part].offset + c->offset;
    return c;
}

/* Checkpoints of models.c. */
struct model_row {
    uint64_t id;
    const char *name;
    int version;
    double at_s;
    uint64_t bytes;
    unsigned char digest[STORE_DIGEST_BYTES];
    bool whole;
};

struct model_part {
    uint64_t model;
    int part;
    struct row_bytes bytes;
};

/* The bytes of a checkpoint: 1 if its digest agrees, 0 if it does not, or -1. */
int model_read_parts(struct store_reader *reader, const struct model_row *model,
                     struct str *text, struct err *err);

/* What is put for an hour, or folded into a day, is added to what is there. */
#define ENERGY_ADDS_UP                                                                   \
    " ON CONFLICT (start_s, span_s, device, job) DO UPDATE SET"                          \
    " joules = joules + excluded.joules,"                                                \
    " error_joules = error_joules + excluded.error_joules,"                              \
    " modelled_joules = modelled_joules + excluded.modelled_joules,"                     \
    " busy_s = busy_s + excluded.busy_s,"                                                \
    " saved_joules = saved_joules + excluded.saved_joules,"                              \
    " saved_error = saved_error + excluded.saved_error,"                                 \
    " unknown_joules = unknown_joules + excluded.unknown_joules"
