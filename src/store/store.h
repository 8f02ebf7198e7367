/* store.h - what the daemon must not forget: one SQLite file, one writer thread
 *
 * A caller puts rows into a batch and commits it.  A batch is atomic.  One thread writes:
 * all durable batches that wait share one synced transaction, and each caller hears of
 * it only after the disk has it.  Relaxed batches (telemetry) are gathered and written
 * every fifth of a second without a sync: a crash may cost the last of them.
 *
 *     struct store_batch *batch = store_batch_create();
 *     store_put(batch, &job);
 *     store_put(batch, &transition);
 *     if (store_commit(store, batch, STORE_DURABLE, on_stored, request, err) < 0)
 *         ... ERR_BUSY: the batch is still ours ...
 *
 * Order holds among durable batches and among relaxed ones, not between the two.
 * Reading goes through connections of its own and never waits for writing.  Rows, putting
 * and reading them: rows.h; upkeep: admin.h. */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct store;
struct store_batch;

enum store_class {
    STORE_DURABLE, /* synced before its completion; jobs, promises, tokens, audit */
    STORE_RELAXED, /* within a fraction of a second; telemetry, energy, models */
};

struct store_completion;

/* Called wherever the caller's post() brings it; err.code is ERR_NONE when the batch is
 * stored.  Otherwise nothing of the batch is: ERR_EXISTS (an id or an idempotency key is
 * taken), ERR_INVALID (a value the schema refuses), ERR_NOT_FOUND (a row that belongs to
 * a job which is not there), ERR_SYSTEM (disk full, failing writes). */
typedef void (*store_done)(void *ctx, const struct store_completion *completion);

struct store_completion {
    store_done done; /* as given to store_commit(); never NULL here */
    void *ctx;
    struct err err;
};

struct store_options {
    const char *path;  /* of the database file; folders above it are made */
    size_t queue_rows; /* rows that may wait, each class; 0: 100000 */
    double relaxed_s;  /* relaxed batches wait at most this long; 0: 0.2 */
    const char *vfs;   /* SQLite's name of a file layer, for tests; NULL: default */
    /* Completions of one commit, called on the writer thread: hand them to the thread
     * that owns the state, which then calls each list[i].done(list[i].ctx, &list[i]).
     * NULL: the writer thread calls done() itself. */
    void (*post)(void *ctx, const struct store_completion *list, size_t count);
    void *post_ctx;
};

/* Lock, open or make, migrate, start the writer.  A store that is there is opened on a
 * full disk too: it can be read, stats.failing says why it cannot be written, and the
 * writer goes on by itself when it can; tools of other processes wait until it is closed.
 * ERR_EXISTS: another process has this
 * store open (err says which); ERR_UNSUPPORTED: a newer program wrote it; ERR_FORMAT: not
 * a store or damaged. */
int store_open(struct store **store, const struct store_options *options,
               struct err *err);

/* Write all that waits, post every completion, end the thread, unlock.  NULL is fine. */
void store_close(struct store *store);

const char *store_path(const struct store *store);

/* Did the process that had it last end without store_close()? */
bool store_was_interrupted(const struct store *store);

/* A sentence when the store holds less than this folder had acknowledged: a backup was
 * put back, its log was lost, or it is another one.  NULL: all is there. */
const char *store_shortened(const struct store *store);

/* ---- writing ----------------------------------------------------------------------- */

struct store_batch *store_batch_create(void);
void store_batch_destroy(struct store_batch *batch); /* NULL is fine */
size_t store_batch_rows(const struct store_batch *batch);

/* Hand the batch over; from any thread.  ERR_BUSY, and the batch stays the caller's, when
 * too much waits or the store is closing.  done may be NULL: failures are then logged. */
int store_commit(struct store *store, struct store_batch *batch, enum store_class how,
                 store_done done, void *ctx, struct err *err);

/* Wait until all that was committed before is written (or has failed). */
void store_flush(struct store *store);

/* ---- numbers ----------------------------------------------------------------------- */

enum store_sequence {
    STORE_JOB_ID,
    STORE_EVENT_ID,
    STORE_QUOTE_ID,
    STORE_DECISION_ID,
    STORE_TOKEN_ID,
    STORE_MODEL_ID,
    STORE_SEQUENCE_COUNT
};

/* The next unused number, from 1 on, from any thread.  Never one that was stored before,
 * also after rows were removed.  Numbers of events that a crash may have cost are not
 * given again: a client that saw one resumes correctly. */
uint64_t store_take_id(struct store *store, enum store_sequence sequence);
/* Somebody else, the engine, has seen numbers up to `last`: take only greater ones. */
void store_raise_id(struct store *store, enum store_sequence sequence, uint64_t last);

/* ---- health ------------------------------------------------------------------------ */

#define STORE_TIME_BUCKETS 10
/* Upper bounds in seconds of stats.commit_time; the last bucket is what lies beyond. */
extern const double store_time_bounds[STORE_TIME_BUCKETS - 1];

struct store_stats {
    bool failing;      /* the last commit failed for a reason of the disk */
    char failure[400]; /* its sentence; "" when not failing */
    uint64_t failures; /* commits that failed so, since open */
    uint64_t commits;  /* durable transactions */
    uint64_t batches;  /* durable batches in them */
    uint64_t rows;     /* of both classes */
    uint64_t relaxed_commits;
    uint64_t refused; /* ERR_BUSY */
    uint64_t dropped; /* batches the schema refused and nobody waited for */
    size_t waiting_rows;
    size_t waiting_rows_peak;
    uint64_t commit_time[STORE_TIME_BUCKETS]; /* durable batches, from hand-over on */
    double commit_time_sum_s;
    int64_t database_bytes;
    int64_t wal_bytes;
};

void store_stats(struct store *store, struct store_stats *stats);

/* ---- digests ----------------------------------------------------------------------- */

#define STORE_DIGEST_BYTES 32

/* SHA-256, for request bodies, tokens and checkpoints. */
void store_digest(const void *bytes, size_t count,
                  unsigned char digest[STORE_DIGEST_BYTES]);
