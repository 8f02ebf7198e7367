/* store.c - corgid opens the store here, takes numbers for its rows, and closes it */
#include "store/store.h"

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "store/store_private.h"

#include <assert.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define QUEUE_ROWS 100000
#define RELAXED_S  0.2

/* The writer empties the log itself, when nobody waits (wal_hook in db.c). */
static const char pragmas[] = "PRAGMA synchronous = FULL;"
                              "PRAGMA journal_size_limit = 67108864;"
                              "PRAGMA cache_size = -8192;"
                              "PRAGMA temp_store = MEMORY";

/* ---- numbers that are given once --------------------------------------------------- */

/* The next number of a kind is one more than the largest stored, or than what the table
 * `sequences` kept when rows were removed. */
static const struct {
    const char *table;
    bool given_before_stored; /* clients may have seen numbers that a crash has cost */
    unsigned block;           /* so many are reserved in the mark at once */
} sequences[STORE_SEQUENCE_COUNT] = {
    [STORE_JOB_ID] = {"jobs", false, 1000},
    [STORE_EVENT_ID] = {"events", true, 100000},
    [STORE_QUOTE_ID] = {"quotes", true, 10000},
    [STORE_DECISION_ID] = {"decisions", false, 10000},
    [STORE_TOKEN_ID] = {"tokens", false, 100},
    [STORE_MODEL_ID] = {"models", false, 100},
};

static int sequences_load(struct store *store, struct err *err)
{
    for (int i = 0; i < STORE_SEQUENCE_COUNT; i++) {
        struct str sql = {0};
        int64_t next = 1;
        int rc;

        str_addf(&sql,
                 "SELECT max(ifnull((SELECT max(id) + 1 FROM %s), 1),"
                 " ifnull((SELECT next FROM sequences WHERE name = '%s'), 1))",
                 sequences[i].table, sequences[i].table);
        rc = db_number(store->db, str_text(&sql), &next, err);
        str_fini(&sql);
        if (rc < 0)
            return -1;
        if (store->interrupted && sequences[i].given_before_stored)
            next += (int64_t)store->options.queue_rows;
        atomic_store(&store->next[i], (uint64_t)next);
    }
    return 0;
}

int store_keep_sequences(struct store *store, struct err *err)
{
    for (int i = 0; i < STORE_SEQUENCE_COUNT; i++) {
        struct str sql = {0};
        int rc;

        str_addf(&sql,
                 "INSERT INTO sequences (name, next) VALUES ('%s',"
                 " max(%llu, ifnull((SELECT max(id) + 1 FROM %s), 1)))"
                 " ON CONFLICT (name) DO UPDATE SET next = max(next, excluded.next)",
                 sequences[i].table, (unsigned long long)atomic_load(&store->next[i]),
                 sequences[i].table);
        rc = db_exec(store->db, str_text(&sql), err);
        str_fini(&sql);
        if (rc < 0)
            return -1;
    }
    return 0;
}

uint64_t store_take_id(struct store *store, enum store_sequence sequence)
{
    return atomic_fetch_add(&store->next[sequence], 1);
}

void store_raise_id(struct store *store, enum store_sequence sequence, uint64_t last)
{
    uint64_t next = atomic_load(&store->next[sequence]);

    while (next <= last &&
           !atomic_compare_exchange_weak(&store->next[sequence], &next, last + 1))
        ;
}

void store_reserve(struct store *store)
{
    struct mark_record *m = &store->mark.now;
    bool more = false;

    for (int i = 0; i < STORE_SEQUENCE_COUNT; i++) {
        uint64_t next = atomic_load(&store->next[i]);

        if (next <= m->reserved[i])
            continue;
        m->reserved[i] = next + sequences[i].block;
        more = true;
    }
    if (more)
        mark_write(&store->mark, true);
}

/* ---- is it the store that it was? -------------------------------------------------- */

/* Its own number, which a backup has too; a store that has none yet gets one, in its file
 * and not in the log, which may be lost. */
static int read_identity(struct store *store, uint64_t *id, struct err *err)
{
    int64_t known = 0;
    uint64_t fresh = 0;
    struct str sql = {0};
    int rc = 0, left;

    if (db_number(store->db, "SELECT ifnull(max(value), 0) FROM meta WHERE name = 'id'",
                  &known, err) < 0 ||
        db_number(store->db,
                  "SELECT ifnull(max(value), 0) FROM meta WHERE name = 'commit'",
                  (int64_t *)&store->commit, err) < 0)
        return -1;
    if (known <= 0) {
        if (getrandom(&fresh, sizeof(fresh), 0) != (ssize_t)sizeof(fresh))
            return err_sys(err, "cannot draw a random number");
        known = (int64_t)(fresh >> 2) + 1;
        str_addf(&sql, "INSERT OR REPLACE INTO meta VALUES ('id', %lld)",
                 (long long)known);
        rc = db_exec(store->db, str_text(&sql), err);
        if (rc == 0)
            rc = db_checkpoint(store->db, true, &left, err);
        str_fini(&sql);
    }
    *id = (uint64_t)known;
    return rc;
}

/* What the mark knows and the store does not. */
static void compare(struct store *store, const struct mark_record *found, uint64_t id)
{
    char *text = store->shortened;
    size_t size = sizeof(store->shortened);

    if (found->store != 0 && found->store != id)
        snprintf(text, size,
                 "the store %s is not the one that was here before: it is new, or from "
                 "elsewhere",
                 store->path);
    else if (store->commit < found->commit)
        snprintf(text, size,
                 "the store %s is older than what was acknowledged here: %llu "
                 "transactions are missing; a backup was put back, or its log was lost",
                 store->path, (unsigned long long)(found->commit - store->commit));
}

/* After a loss, or a power cut that may have hidden one, numbers go on above all that may
 * have been told to anybody, and never fall below that again. */
static void number_above(struct store *store, const struct mark_record *found,
                         uint64_t least[STORE_SEQUENCE_COUNT])
{
    bool exact = !store->shortened[0] && (found->closed || found->same_boot);

    for (int i = 0; i < STORE_SEQUENCE_COUNT; i++) {
        least[i] = found->least[i];
        if (!exact && found->reserved[i] > least[i])
            least[i] = found->reserved[i];
        if (least[i] > 0)
            store_raise_id(store, (enum store_sequence)i, least[i] - 1);
    }
}

static int open_mark(struct store *store, struct err *err)
{
    struct mark_record found;
    uint64_t id = 0;

    if (read_identity(store, &id, err) < 0 ||
        mark_open(&store->mark, store->path, &found, err) < 0)
        return -1;
    compare(store, &found, id);
    store->mark.now = (struct mark_record){.store = id, .commit = store->commit};
    number_above(store, &found, store->mark.now.least);
    if (store->shortened[0])
        log_warn("store_shortened", LOG_STR("why", store->shortened),
                 LOG_U64("next_job", atomic_load(&store->next[STORE_JOB_ID])));
    store_reserve(store);
    return 0;
}

static void close_mark(struct store *store)
{
    struct mark_record *m = &store->mark.now;

    m->closed = true;
    m->commit = store->commit;
    for (int i = 0; i < STORE_SEQUENCE_COUNT; i++)
        m->reserved[i] = atomic_load(&store->next[i]);
    mark_write(&store->mark, true);
}

const char *store_shortened(const struct store *store)
{
    return store->shortened[0] ? store->shortened : NULL;
}

/* ---- is it where it was? ----------------------------------------------------------- */

static const char *const place_suffixes[STORE_PLACES] = {"", "-wal", ".lock"};

int store_find_places(struct store *store, struct err *err)
{
    for (int i = 0; i < STORE_PLACES; i++) {
        struct store_place *place = &store->places[i];
        struct str path = {0};
        struct stat st = {0};
        bool there;

        str_addf(&path, "%s%s", store->path, place_suffixes[i]);
        there = stat(str_text(&path), &st) == 0;
        str_fini(&path);
        if (place->inode == 0)
            *place = (struct store_place){st.st_dev, there ? st.st_ino : 0};
        else if (!there || st.st_dev != place->device || st.st_ino != place->inode)
            return err_set(err, ERR_SYSTEM,
                           "%s%s was removed or replaced while corgid runs, so nothing "
                           "that is written would be kept: put the folder back, or "
                           "start corgid again on what is there now",
                           store->path, place_suffixes[i]);
    }
    return 0;
}

/* ---- opening and closing ----------------------------------------------------------- */

/* Readers that never wait need a log beside the file, and memory that processes share. */
static int use_log(struct db *db, struct err *err)
{
    sqlite3_stmt *q = db_query(db, "PRAGMA journal_mode = WAL", err);
    int rc = q ? db_next(db, q, err) : -1;

    if (rc > 0 && strcmp(db_text(q, 0), "wal") != 0)
        rc = err_set(err, ERR_UNSUPPORTED,
                     "the file system of %s cannot hold a store, as many network file "
                     "systems: choose a folder on a local disk",
                     db->path);
    db_reset(q);
    return rc < 0 ? -1 : 0;
}

/* Note that the store is in use; *interrupted tells if it still was. */
static int note_in_use(struct store *store, struct err *err)
{
    int64_t open;

    if (db_number(store->db, "SELECT ifnull(max(value), 0) FROM meta WHERE name = 'open'",
                  &open, err) < 0)
        return -1;
    store->interrupted = open != 0;
    if (store->reading)
        return 0; /* the writer notes it when the disk works again */
    return db_exec(store->db, "INSERT OR REPLACE INTO meta VALUES ('open', 1)", err);
}

static int open_database(struct store *store, struct err *err)
{
    int from;

    /* cell_size_check finds a damaged page when it is read, not when it did harm. */
    if (db_open(&store->db, store->path, DB_WRITE, store->vfs, err) < 0 ||
        db_exec(store->db, "PRAGMA foreign_keys = ON; PRAGMA cell_size_check = ON", err) <
            0 ||
        migrations_apply(store->db, migrations_steps, migrations_count, &from, err) < 0 ||
        use_log(store->db, err) < 0 || db_exec(store->db, pragmas, err) < 0 ||
        note_in_use(store, err) < 0 || sequences_load(store, err) < 0 ||
        open_mark(store, err) < 0)
        return -1;
    if (from > 0 && from < migrations_count)
        log_info("store_migrated", LOG_STR("store", store->path), LOG_I64("from", from),
                 LOG_I64("to", migrations_count));
    return 0;
}

/* On a full disk the memory that processes share cannot be made beside the store.  SQLite
 * can keep it inside of this process, to which the store then belongs alone until it is
 * closed.  Writing is tried again by the writer, as after any failure. */
static int open_for_reading(struct store *store, struct err *err)
{
    struct err trouble = *err;

    if (err->code != ERR_SYSTEM || store->options.vfs)
        return -1;
    db_close(store->db);
    mark_close(&store->mark);
    store->db = NULL;
    store->vfs = "unix-excl";
    store->reading = true;
    if (open_database(store, err) < 0) {
        *err = trouble;
        return -1;
    }
    store->stats.failing = true;
    store->stats.failures = 1;
    memcpy(store->stats.failure, trouble.text, sizeof(store->stats.failure));
    log_error("store_failing", LOG_STR("start", "reading only"), LOG_ERR(&trouble));
    return 0;
}

static void store_destroy(struct store *store)
{
    db_close(store->db);
    mark_close(&store->mark);
    if (store->lock_fd >= 0)
        close(store->lock_fd);
    free(store->path);
    free(store);
}

int store_open(struct store **opened, const struct store_options *options,
               struct err *err)
{
    struct store *store = mem_new(struct store);

    store->path = mem_strdup(options->path);
    store->lock_fd = store->mark.fd = -1;
    store->options = *options;
    store->vfs = options->vfs;
    if (options->queue_rows == 0)
        store->options.queue_rows = QUEUE_ROWS;
    if (options->relaxed_s <= 0)
        store->options.relaxed_s = RELAXED_S;
    if (file_make_parent(store->path, err) < 0)
        goto failed;
    store->lock_fd = file_lock(store->path, err);
    if (store->lock_fd < 0 ||
        (open_database(store, err) < 0 && open_for_reading(store, err) < 0) ||
        store_find_places(store, err) < 0 || writer_start(store, err) < 0)
        goto failed;
    *opened = store;
    return 0;
failed:
    store_destroy(store);
    return -1;
}

void store_close(struct store *store)
{
    struct err err = {0};
    int left;

    if (!store)
        return;
    writer_stop(store);
    if (db_exec(store->db, "PRAGMA synchronous = FULL; BEGIN IMMEDIATE", &err) < 0 ||
        store_keep_sequences(store, &err) < 0 ||
        db_exec(store->db, "INSERT OR REPLACE INTO meta VALUES ('open', 0); COMMIT",
                &err) < 0 ||
        db_checkpoint(store->db, true, &left, &err) < 0) {
        db_rollback(store->db);
        log_error("store_not_closed_cleanly", LOG_ERR(&err));
    } else {
        close_mark(store);
    }
    store_destroy(store);
}

int store_open_reader(struct store *store, struct store_reader **reader, struct err *err)
{
    return reader_open(reader, store->path, store->reading ? store->vfs : NULL, err);
}

const char *store_path(const struct store *store)
{
    return store->path;
}

bool store_was_interrupted(const struct store *store)
{
    return store->interrupted;
}

/* ---- health ------------------------------------------------------------------------ */

static int64_t size_of(const char *path, const char *suffix)
{
    struct str name = {0};
    struct stat st = {0};

    str_addf(&name, "%s%s", path, suffix);
    if (stat(str_text(&name), &st) < 0)
        st.st_size = 0;
    str_fini(&name);
    return st.st_size;
}

void store_stats(struct store *store, struct store_stats *stats)
{
    pthread_mutex_lock(&store->lock);
    *stats = store->stats;
    stats->waiting_rows = store->waiting[0].rows + store->waiting[1].rows;
    pthread_mutex_unlock(&store->lock);
    stats->database_bytes = size_of(store->path, "");
    stats->wal_bytes = size_of(store->path, "-wal");
}

void store_digest(const void *bytes, size_t count,
                  unsigned char digest[STORE_DIGEST_BYTES])
{
    unsigned length = 0;
    int done = EVP_Digest(bytes, count, digest, &length, EVP_sha256(), NULL);

    assert(done && length == STORE_DIGEST_BYTES);
    (void)done;
}
