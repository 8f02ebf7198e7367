/* writer.c - the writer thread: it takes batches that were handed in, commits them in
 * groups, and tells who waits by post() */
#include "store/store_private.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* A group is bounded so that a flood of submissions still gets answers in between. */
#define GROUP_ROWS  4000
#define GROUP_BYTES ((size_t)16 << 20)
/* Relaxed groups are smaller: a durable batch may come while one is written.  So many
 * wait no longer. */
#define RELAXED_ROWS  500
#define RELAXED_BYTES ((size_t)1 << 20)
/* Pages in the log from which on it is emptied when nobody waits, or in any case. */
#define LOG_PAGES      1000
#define LOG_PAGES_MOST 16000
/* Retention yields to commits but is never starved by them. */
#define RETENTION_PAUSE_S 0.02

/* After a failure the disk is tried again this much later. */
#define RETRY_S 1.0
/* And its files are looked for this often, besides after each commit. */
#define PLACES_EVERY_S 0.5
const double store_time_bounds[STORE_TIME_BUCKETS - 1] = {0.001, 0.002, 0.005, 0.01, 0.02,
                                                          0.05,  0.1,   0.25,  1.0};

/* What one turn has to do. */
struct turn {
    struct pending *durable;
    struct pending *relaxed;
    bool retention;
    bool probe;
    bool places; /* to be looked for */
    bool closing;
};

/* ---- one transaction --------------------------------------------------------------- */

/* The batch itself is at fault, not the disk: the others can go on. */
static bool is_own_fault(const struct err *err)
{
    return err->code == ERR_EXISTS || err->code == ERR_NOT_FOUND ||
           err->code == ERR_INVALID || err->code == ERR_LIMIT;
}

/* Apply one batch; what it did is undone when it is refused.  -1 only when the whole
 * transaction is lost. */
static int apply_one(struct store *s, struct pending *p, struct err *err)
{
    if (db_exec(s->db, "SAVEPOINT batch", err) < 0)
        return -1;
    if (batch_apply(p->batch, s->db, &p->err) < 0) {
        /* SQLite ends a transaction by itself after some errors. */
        if (!is_own_fault(&p->err) || sqlite3_get_autocommit(s->db->handle)) {
            *err = p->err;
            return -1;
        }
        return db_exec(s->db, "ROLLBACK TO batch; RELEASE batch", err);
    }
    return db_exec(s->db, "RELEASE batch", err);
}

/* Durable transactions are counted in the store and in the mark beside it: one that is
 * missing when the store is opened was lost. */
static int count_commit(struct store *s, struct err *err)
{
    sqlite3_stmt *q =
        db_query(s->db, "INSERT OR REPLACE INTO meta VALUES ('commit', ?1)", err);
    struct db_value number = db_value_int((int64_t)s->commit + 1);

    if (!q)
        return -1;
    db_bind(q, 1, &number);
    store_reserve(s);
    return db_run(s->db, q, err);
}

static void note_in_mark(struct store *s)
{
    s->mark.now.commit = ++s->commit;
    mark_write(&s->mark, false);
}

static int write_list(struct store *s, enum store_class how, struct pending *list,
                      struct err *err)
{
    bool synced = how == STORE_DURABLE;

    if (synced != s->synced) {
        if (db_exec(s->db,
                    synced ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL",
                    err) < 0)
            return -1;
        s->synced = synced;
    }
    if (store_find_places(s, err) < 0 || db_exec(s->db, "BEGIN IMMEDIATE", err) < 0)
        return -1;
    for (struct pending *p = list; p; p = p->next)
        if (apply_one(s, p, err) < 0)
            goto failed;
    if ((synced && count_commit(s, err) < 0) || db_exec(s->db, "COMMIT", err) < 0)
        goto failed;
    if (synced)
        note_in_mark(s);
    /* Again: what went away meanwhile is not told to be stored. */
    return synced ? store_find_places(s, err) : 0;
failed:
    db_rollback(s->db);
    return -1;
}

/* ---- telling ----------------------------------------------------------------------- */

static void count_durable(struct store_stats *stats, double seconds)
{
    size_t bucket = 0;

    while (bucket < STORE_TIME_BUCKETS - 1 && seconds > store_time_bounds[bucket])
        bucket++;
    stats->batches++;
    stats->commit_time[bucket]++;
    stats->commit_time_sum_s += seconds;
}

/* Health as the last commit leaves it; only changes are logged. */
static void note_health(struct store *s, const struct err *failure)
{
    struct store_stats *stats = &s->stats;
    bool was_failing = stats->failing;

    stats->failing = failure != NULL;
    if (failure) {
        stats->failures++;
        memcpy(stats->failure, failure->text, sizeof(stats->failure));
        if (!was_failing)
            log_error("store_failing", LOG_ERR(failure));
    } else if (was_failing) {
        stats->failure[0] = '\0';
        log_info("store_recovered", LOG_U64("failures", stats->failures));
    }
}

static void note_commit(struct store *s, enum store_class how, struct pending *list,
                        const struct err *failure)
{
    double now_s = clock_wall_s();

    pthread_mutex_lock(&s->lock);
    note_health(s, failure);
    for (struct pending *p = list; p; p = p->next) {
        if (p->err.code == ERR_NONE)
            s->stats.rows += p->rows;
        else if (!p->done)
            s->stats.dropped++;
        if (how == STORE_DURABLE && !failure)
            count_durable(&s->stats, now_s - p->handed_s);
    }
    if (!failure && how == STORE_DURABLE)
        s->stats.commits++;
    else if (!failure)
        s->stats.relaxed_commits++;
    pthread_mutex_unlock(&s->lock);
}

static void deliver(struct store *s, const struct store_completion *list, size_t count)
{
    if (s->options.post && count > 0)
        s->options.post(s->options.post_ctx, list, count);
    for (size_t i = 0; !s->options.post && i < count; i++)
        list[i].done(list[i].ctx, &list[i]);
}

/* End the batches, and tell who waits for them. */
static void finish(struct store *s, enum store_class how, struct pending *list,
                   const struct err *failure)
{
    struct pending *next;
    uint64_t count = 0;

    for (struct pending *p = list; failure && p; p = p->next)
        p->err = *failure;
    note_commit(s, how, list, failure);
    vec_clear(&s->completions);
    for (struct pending *p = list; p; p = next, count++) {
        if (p->done)
            vec_push(&s->completions, (struct store_completion){p->done, p->ctx, p->err});
        else if (p->err.code != ERR_NONE)
            log_error("store_write_refused", LOG_ERR(&p->err));
        next = p->next;
        store_batch_destroy(p->batch);
        free(p);
    }
    deliver(s, s->completions.items, s->completions.count);
    pthread_mutex_lock(&s->lock);
    s->waiting[how].finished += count;
    pthread_cond_broadcast(&s->finished);
    pthread_mutex_unlock(&s->lock);
}

static void commit_list(struct store *s, enum store_class how, struct pending *list)
{
    struct err err = {0};
    bool again;

    if (write_list(s, how, list, &err) == 0) {
        finish(s, how, list, NULL);
        return;
    }
    pthread_mutex_lock(&s->lock);
    s->retry_s = clock_wall_s() + RETRY_S;
    again = how == STORE_RELAXED && !s->closing;
    if (again) {
        for (struct pending *p = list; p; p = p->next)
            p->err = (struct err){0};
        note_health(s, &err);
        s->given_up++;
        queue_return(s, how, list);
        pthread_cond_broadcast(&s->finished);
    }
    pthread_mutex_unlock(&s->lock);
    if (!again)
        finish(s, how, list, &err);
}

/* Nobody may be submitting, because we said that we fail.  The write also covers what a
 * failed commit may have left in the log: it is never found there after a crash. */
static void commit_probe(struct store *s)
{
    struct err err = {0};

    if (store_find_places(s, &err) < 0 ||
        db_exec(s->db,
                "PRAGMA synchronous = FULL; BEGIN IMMEDIATE;"
                "INSERT OR REPLACE INTO meta VALUES ('open', 1); COMMIT",
                &err) < 0) {
        db_rollback(s->db);
        s->retry_s = clock_wall_s() + RETRY_S;
        return;
    }
    s->synced = true;
    pthread_mutex_lock(&s->lock);
    note_health(s, NULL);
    pthread_mutex_unlock(&s->lock);
}

/* ---- waiting ----------------------------------------------------------------------- */

/* When the relaxed batches that wait shall be written; now or earlier: at once. */
static double relaxed_due_s(const struct store *s)
{
    const struct pending_list *list = &s->waiting[STORE_RELAXED];
    double due_s;

    if (!list->first)
        return INFINITY;
    if (s->closing)
        return 0;
    due_s = list->first->handed_s + s->options.relaxed_s;
    if (s->flushing > 0 || list->rows >= RELAXED_ROWS || list->bytes >= RELAXED_BYTES)
        due_s = 0;
    return due_s > s->retry_s ? due_s : s->retry_s;
}

/* Take what is due and say when the next thing will be. */
static bool look(struct store *s, struct turn *turn, double *next_s)
{
    double now_s = clock_wall_s(), due_s = relaxed_due_s(s);

    *turn = (struct turn){.closing = s->closing,
                          .places = s->places_s <= now_s && !s->closing};
    *next_s = s->places_s;
    turn->durable = queue_take(s, STORE_DURABLE, GROUP_ROWS, GROUP_BYTES);
    if (due_s <= now_s)
        turn->relaxed =
            queue_take(s, STORE_RELAXED, (size_t)2 * RELAXED_ROWS, RELAXED_BYTES);
    else if (due_s < *next_s)
        *next_s = due_s;
    if (s->retention) {
        turn->retention = s->retention->due_s <= now_s || s->closing;
        if (s->retention->due_s < *next_s)
            *next_s = s->retention->due_s;
    }
    if (s->stats.failing && !turn->durable && !turn->relaxed) {
        turn->probe = s->retry_s <= now_s && !s->closing;
        if (s->retry_s < *next_s)
            *next_s = s->retry_s;
    }
    return turn->durable || turn->relaxed || turn->retention || turn->probe ||
           turn->places;
}

/* False when the writer shall end: closing, and nothing is left. */
static bool next_turn(struct store *s, struct turn *turn)
{
    double next_s;
    bool found;

    pthread_mutex_lock(&s->lock);
    while (!(found = look(s, turn, &next_s)) && !s->closing)
        thread_wait_until(&s->changed, &s->lock, next_s);
    pthread_mutex_unlock(&s->lock);
    return found;
}

/* ---- upkeep ------------------------------------------------------------------------ */

static void end_retention(struct store *s, const struct err *err)
{
    struct store_completion completion = {.err = *err};

    pthread_mutex_lock(&s->lock);
    completion.done = s->retention->done;
    completion.ctx = s->retention->ctx;
    free(s->retention);
    s->retention = NULL;
    pthread_mutex_unlock(&s->lock);
    if (completion.done)
        deliver(s, &completion, 1);
    else if (err->code != ERR_NONE)
        log_error("store_upkeep_failed", LOG_ERR(err));
}

static void run_retention(struct store *s, bool closing)
{
    struct err err = {0};
    int rc;

    if (closing) { /* there is always a next time */
        err_set(&err, ERR_BUSY, "the store is closing");
        end_retention(s, &err);
        return;
    }
    rc = retention_step(s, s->retention, &err);
    if (rc < 0)
        db_rollback(s->db);
    if (rc <= 0)
        end_retention(s, &err);
    else
        s->retention->due_s = clock_wall_s() + RETENTION_PAUSE_S;
}

/* Nobody may be submitting when the folder goes. */
static void watch_places(struct store *s)
{
    struct err err = {0};

    s->places_s = clock_wall_s() + PLACES_EVERY_S;
    if (store_find_places(s, &err) == 0)
        return;
    pthread_mutex_lock(&s->lock);
    if (!s->stats.failing) {
        s->retry_s = clock_wall_s() + RETRY_S;
        note_health(s, &err);
    }
    pthread_mutex_unlock(&s->lock);
}

/* Move what is in the log to its place, when it has grown and nobody waits. */
static void tidy_log(struct store *s)
{
    int pages = s->db->log_pages, left = 0;
    struct err err = {0};
    bool waiting;

    pthread_mutex_lock(&s->lock);
    waiting = s->waiting[STORE_DURABLE].first != NULL;
    pthread_mutex_unlock(&s->lock);
    if (waiting && pages < LOG_PAGES_MOST)
        return;
    if (db_checkpoint(s->db, false, &left, &err) < 0)
        log_warn("store_log_not_emptied", LOG_ERR(&err));
    /* What a reader still needs stays; look again when as much has been added. */
    s->log_pages_next = left > 0 ? pages + LOG_PAGES : LOG_PAGES;
}

/* ---- the thread -------------------------------------------------------------------- */

static void *writer_main(void *arg)
{
    struct store *s = arg;
    struct turn turn;

    while (next_turn(s, &turn)) {
        if (turn.durable)
            commit_list(s, STORE_DURABLE, turn.durable);
        if (turn.relaxed)
            commit_list(s, STORE_RELAXED, turn.relaxed);
        if (turn.places)
            watch_places(s);
        if (turn.probe)
            commit_probe(s);
        if (turn.retention)
            run_retention(s, turn.closing);
        if (s->db->log_pages >= s->log_pages_next)
            tidy_log(s);
    }
    return NULL;
}

int writer_start(struct store *s, struct err *err)
{
    s->synced = true; /* as the connection was set up */
    s->log_pages_next = LOG_PAGES;
    pthread_mutex_init(&s->lock, NULL);
    thread_cond_init(&s->changed);
    thread_cond_init(&s->finished);
    errno = thread_start(&s->writer, writer_main, s);
    return errno ? err_sys(err, "cannot start the store's thread") : 0;
}

void writer_stop(struct store *s)
{
    pthread_mutex_lock(&s->lock);
    s->closing = true;
    pthread_cond_signal(&s->changed);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->writer, NULL);
    vec_free(&s->completions);
    pthread_cond_destroy(&s->finished);
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->lock);
}
