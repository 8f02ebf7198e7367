/* store_mark.h - how far a store had come, kept outside of it: PATH.mark
 *
 * SQLite cannot tell a log that was lost, or a backup that was put back, from a store
 * that never was any further.  Beside the lock stands a file of one record that can: the
 * last durable transaction that was acknowledged, and for each kind of number one above
 * all that may have been told to somebody.
 *
 * The transaction is noted after each commit without a sync: it survives a kill, and
 * after a power cut it is too low but never too high, as the commit was synced before.
 * Numbers are reserved in blocks, synced before the first of a block is told.  Where they
 * began after a loss is kept for good: the store may be killed before it has a row that
 * says so, and by then nothing is missing any more.
 *
 * It belongs to the thread that writes. */
#pragma once

#include "base/err.h"
#include "store/store.h"

#include <stdbool.h>
#include <stdint.h>

struct mark_record {
    uint64_t store;  /* the id of the store it is of; 0: there was no mark */
    uint64_t commit; /* of the last transaction that was acknowledged */
    bool closed;     /* store_close() was the last to write: reserved is exact */
    bool same_boot;  /* no power cut since: commit is exact */
    uint64_t reserved[STORE_SEQUENCE_COUNT];
    uint64_t least[STORE_SEQUENCE_COUNT]; /* numbers of lost rows lie below; 0: none is */
};

struct store_mark {
    int fd; /* -1: there is none, nothing is noted */
    struct mark_record now;
    char boot[40];
    bool failed; /* and said so */
};

/* Open or make the file; *found gets what it said, zero when it is new or not readable.
 */
int mark_open(struct store_mark *mark, const char *store_path, struct mark_record *found,
              struct err *err);
/* Write mark->now in its place.  A failure is logged once: the store itself is the one to
 * say that a disk does not work. */
void mark_write(struct store_mark *mark, bool sync);
void mark_close(struct store_mark *mark);
