/* writer.c - the writer thread: store.c hands it batches through queue.c, it commits them
 * in groups, and tells who waits by post() */
#include "store/writer.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/vec.h"
#include "store/queue.h"
#include "store/store_private.h"

#include <errno.h>
#include <string.h>
#include <time.h>

/* A group is bounded so that a flood of submissions still gets answers in between. */
#define GROUP_ROWS  4000
#define GROUP_BYTES ((size_t)16 << 20)
/* Relaxed groups are smaller: a durable batch may come while one is written. */
#define RELAXED_BYTES ((size_t)1 << 20)
/* Pages in the log from which on it is emptied when nobody waits, or in any case. */
#define LOG_PAGES      1000
#define LOG_PAGES_MOST 16000
/* Upkeep yields to commits but is never starved by them. */
#define UPKEEP_PAUSE_S 0.02

/* After a failure the disk is tried again this much later. */
#define RETRY_S 1.0
const double store_time_bounds[STORE_TIME_BUCKETS - 1] = {0.001, 0.002, 0.005, 0.01, 0.02,
                                                          0.05,  0.1,   0.25,  1.0};

struct writer {
    struct db *db;
    struct store_options options;
    pthread_t thread;
    struct queue queue;       /* its lock guards stats and upkeep, too */
    struct store_stats stats; /* without what the queue knows */
    struct {
        writer_step step; /* NULL: none under way */
        void *task;
        store_done done;
        void *ctx;
        double due_s;
    } upkeep;
    /* Of the writer thread alone: */
    bool synced; /* SQLite syncs each commit now */
    double retry_s;
    int log_pages_next;
    vec_of(struct store_completion) completions;
};

/* What one turn has to do. */
struct turn {
    struct pending *durable;
    struct pending *relaxed;
    bool upkeep;
    bool probe;
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
static int apply_one(struct writer *w, struct pending *p, struct err *err)
{
    if (db_exec(w->db, "SAVEPOINT batch", err) < 0)
        return -1;
    if (batch_apply(p->batch, w->db, &p->err) < 0) {
        if (!is_own_fault(&p->err) || !db_in_transaction(w->db)) {
            *err = p->err;
            return -1;
        }
        return db_exec(w->db, "ROLLBACK TO batch; RELEASE batch", err);
    }
    return db_exec(w->db, "RELEASE batch", err);
}

static int write_list(struct writer *w, enum store_class how, struct pending *list,
                      struct err *err)
{
    bool synced = how == STORE_DURABLE;

    if (synced != w->synced) {
        if (db_exec(w->db,
                    synced ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL",
                    err) < 0)
            return -1;
        w->synced = synced;
    }
    if (db_exec(w->db, "BEGIN IMMEDIATE", err) < 0)
        return -1;
    for (struct pending *p = list; p; p = p->next)
        if (apply_one(w, p, err) < 0)
            goto failed;
    if (db_exec(w->db, "COMMIT", err) < 0)
        goto failed;
    return 0;
failed:
    db_rollback(w->db);
    return -1;
}

/* ---- telling ----------------------------------------------------------------------- */

static size_t time_bucket(double seconds)
{
    size_t i = 0;

    while (i < STORE_TIME_BUCKETS - 1 && seconds > store_time_bounds[i])
        i++;
    return i;
}

static void count_durable(struct store_stats *stats, const struct pending *p,
                          double now_s)
{
    stats->batches++;
    stats->commit_time[time_bucket(now_s - p->handed_s)]++;
    stats->commit_time_sum_s += now_s - p->handed_s;
}

/* Health as the last commit leaves it; only changes are logged. */
static void note_health(struct writer *w, const struct err *failure)
{
    struct store_stats *stats = &w->stats;
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

static void note_commit(struct writer *w, enum store_class how, struct pending *list,
                        const struct err *failure)
{
    double now_s = clock_wall_s();

    pthread_mutex_lock(&w->queue.lock);
    note_health(w, failure);
    for (struct pending *p = list; p; p = p->next) {
        if (p->err.code == ERR_NONE)
            w->stats.rows += p->rows;
        else if (!p->done)
            w->stats.dropped++;
        if (how == STORE_DURABLE && !failure)
            count_durable(&w->stats, p, now_s);
    }
    if (!failure && how == STORE_DURABLE)
        w->stats.commits++;
    else if (!failure)
        w->stats.relaxed_commits++;
    pthread_mutex_unlock(&w->queue.lock);
}

static void commit_deliver(struct writer *w, const struct store_completion *list,
                           size_t count)
{
    if (w->options.post && count > 0)
        w->options.post(w->options.post_ctx, list, count);
    for (size_t i = 0; !w->options.post && i < count; i++)
        list[i].done(list[i].ctx, &list[i]);
}

static void complete(struct writer *w, struct pending *list)
{
    vec_clear(&w->completions);
    for (struct pending *p = list; p; p = p->next) {
        struct store_completion completion = {.done = p->done, .ctx = p->ctx};

        completion.err = p->err;
        if (p->done && p->direct)
            p->done(p->ctx, &completion);
        else if (p->done)
            vec_push(&w->completions, completion);
        else if (p->err.code != ERR_NONE)
            log_error("store_write_refused", LOG_ERR(&p->err));
    }
    commit_deliver(w, w->completions.items, w->completions.count);
}

static void pending_destroy(struct pending *p)
{
    store_batch_destroy(p->batch);
    free(p);
}

static void finish(struct writer *w, enum store_class how, struct pending *list,
                   const struct err *failure)
{
    for (struct pending *p = list; failure && p; p = p->next)
        p->err = *failure;
    note_commit(w, how, list, failure);
    complete(w, list);
    pthread_mutex_lock(&w->queue.lock);
    while (list) {
        struct pending *next = list->next;

        pending_destroy(list);
        list = next;
        w->queue.classes[how].finished++;
    }
    pthread_cond_broadcast(&w->queue.finished);
    pthread_mutex_unlock(&w->queue.lock);
}

static void commit_durable(struct writer *w, struct pending *list)
{
    struct err err = {0};
    int rc = write_list(w, STORE_DURABLE, list, &err);

    if (rc < 0)
        w->retry_s = clock_wall_s() + RETRY_S;
    finish(w, STORE_DURABLE, list, rc < 0 ? &err : NULL);
}

static void commit_relaxed(struct writer *w, struct pending *list)
{
    struct err err = {0};
    bool closing;

    if (write_list(w, STORE_RELAXED, list, &err) == 0) {
        finish(w, STORE_RELAXED, list, NULL);
        return;
    }
    pthread_mutex_lock(&w->queue.lock);
    closing = w->queue.closing;
    w->retry_s = clock_wall_s() + RETRY_S;
    if (!closing) {
        for (struct pending *p = list; p; p = p->next)
            p->err = (struct err){0};
        note_health(w, &err);
        w->queue.given_up++;
        queue_return(&w->queue, STORE_RELAXED, list);
        pthread_cond_broadcast(&w->queue.finished);
    }
    pthread_mutex_unlock(&w->queue.lock);
    if (closing)
        finish(w, STORE_RELAXED, list, &err);
}

/* Nobody may be submitting, because we said that we fail.  The
 * write also covers what a failed commit may have left in the log: it is never found
 * there after a crash. */
static void commit_probe(struct writer *w)
{
    struct err err = {0};

    if (db_exec(w->db,
                "PRAGMA synchronous = FULL; BEGIN IMMEDIATE;"
                "INSERT OR REPLACE INTO meta VALUES ('open', 1); COMMIT",
                &err) < 0) {
        db_rollback(w->db);
        w->retry_s = clock_wall_s() + RETRY_S;
        return;
    }
    w->synced = true;
    pthread_mutex_lock(&w->queue.lock);
    note_health(w, NULL);
    pthread_mutex_unlock(&w->queue.lock);
}

/* ---- waiting ----------------------------------------------------------------------- */

static void wait_until(struct queue *queue, double at_s)
{
    struct timespec at;

    at.tv_sec = (time_t)at_s;
    at.tv_nsec = (long)((at_s - (double)at.tv_sec) * 1e9);
    pthread_cond_timedwait(&queue->changed, &queue->lock, &at);
}

/* When the relaxed batches that wait shall be written; now or earlier: at once. */
static double relaxed_due_s(const struct writer *w)
{
    const struct queue_class *class = &w->queue.classes[STORE_RELAXED];
    double due_s = class->list.first->handed_s + w->options.relaxed_s;

    if (w->queue.closing)
        return 0;
    if (w->queue.flushing > 0 || class->rows >= w->options.relaxed_rows ||
        class->bytes >= RELAXED_BYTES)
        due_s = 0;
    return due_s > w->retry_s ? due_s : w->retry_s;
}

/* Take what is due and say when the next thing will be. */
static bool look(struct writer *w, struct turn *turn, double *next_s)
{
    double now_s = clock_wall_s();

    *turn = (struct turn){0};
    *next_s = now_s + 60;
    turn->durable = queue_take(&w->queue, STORE_DURABLE, GROUP_ROWS, GROUP_BYTES);
    if (w->queue.classes[STORE_RELAXED].list.first) {
        double due_s = relaxed_due_s(w);

        if (due_s <= now_s)
            turn->relaxed = queue_take(&w->queue, STORE_RELAXED,
                                       2 * w->options.relaxed_rows, RELAXED_BYTES);
        else if (due_s < *next_s)
            *next_s = due_s;
    }
    if (w->upkeep.step) {
        turn->upkeep = w->upkeep.due_s <= now_s || w->queue.closing;
        if (w->upkeep.due_s < *next_s)
            *next_s = w->upkeep.due_s;
    }
    if (w->stats.failing && !turn->durable && !turn->relaxed) {
        turn->probe = w->retry_s <= now_s && !w->queue.closing;
        if (w->retry_s < *next_s)
            *next_s = w->retry_s;
    }
    return turn->durable || turn->relaxed || turn->upkeep || turn->probe;
}

/* False when the writer shall end: closing, and nothing is left. */
static bool next_turn(struct writer *w, struct turn *turn)
{
    double next_s;
    bool more = true;

    pthread_mutex_lock(&w->queue.lock);
    while (more && !look(w, turn, &next_s)) {
        if (w->queue.closing)
            more = false;
        else
            wait_until(&w->queue, next_s);
    }
    pthread_mutex_unlock(&w->queue.lock);
    return more;
}

/* ---- upkeep ------------------------------------------------------------------------ */

static void end_upkeep(struct writer *w, const struct err *err)
{
    struct store_completion completion = {.err = *err};

    pthread_mutex_lock(&w->queue.lock);
    completion.done = w->upkeep.done;
    completion.ctx = w->upkeep.ctx;
    free(w->upkeep.task);
    w->upkeep.task = NULL;
    w->upkeep.step = NULL;
    pthread_mutex_unlock(&w->queue.lock);
    if (completion.done)
        commit_deliver(w, &completion, 1);
    else if (err->code != ERR_NONE)
        log_error("store_upkeep_failed", LOG_ERR(err));
}

static void run_upkeep(struct writer *w)
{
    struct err err = {0};
    bool closing;
    int rc;

    pthread_mutex_lock(&w->queue.lock);
    closing = w->queue.closing;
    pthread_mutex_unlock(&w->queue.lock);
    if (closing) { /* there is always a next time */
        err_set(&err, ERR_BUSY, "the store is closing");
        end_upkeep(w, &err);
        return;
    }
    rc = w->upkeep.step(w->upkeep.task, w->db, &err);
    if (rc < 0)
        db_rollback(w->db);
    if (rc <= 0)
        end_upkeep(w, &err);
    else
        w->upkeep.due_s = clock_wall_s() + UPKEEP_PAUSE_S;
}

/* Move what is in the log to its place, when it has grown and nobody waits. */
static void tidy_log(struct writer *w)
{
    int pages = db_log_pages(w->db), left = 0;
    struct err err = {0};
    bool waiting;

    if (pages < w->log_pages_next)
        return;
    pthread_mutex_lock(&w->queue.lock);
    waiting = w->queue.classes[STORE_DURABLE].list.first != NULL;
    pthread_mutex_unlock(&w->queue.lock);
    if (waiting && pages < LOG_PAGES_MOST)
        return;
    if (db_checkpoint(w->db, false, &left, &err) < 0)
        log_warn("store_log_not_emptied", LOG_ERR(&err));
    /* What a reader still needs stays; look again when as much has been added. */
    w->log_pages_next = left > 0 ? pages + LOG_PAGES : LOG_PAGES;
}

/* ---- the thread -------------------------------------------------------------------- */

static void *writer_main(void *arg)
{
    struct writer *w = arg;
    struct turn turn;

    while (next_turn(w, &turn)) {
        if (turn.durable)
            commit_durable(w, turn.durable);
        if (turn.relaxed)
            commit_relaxed(w, turn.relaxed);
        if (turn.probe)
            commit_probe(w);
        if (turn.upkeep)
            run_upkeep(w);
        tidy_log(w);
    }
    return NULL;
}

struct writer *writer_start(struct db *db, const struct store_options *options,
                            struct err *err)
{
    struct writer *w = mem_new(struct writer);
    int code;

    w->db = db;
    w->options = *options;
    w->synced = true; /* as the connection was set up */
    w->log_pages_next = LOG_PAGES;
    queue_init(&w->queue, options->queue_rows, options->queue_bytes);
    code = pthread_create(&w->thread, NULL, writer_main, w);
    if (code != 0) {
        errno = code;
        err_sys(err, "cannot start the store's thread");
        queue_fini(&w->queue);
        free(w);
        return NULL;
    }
    return w;
}

void writer_stop(struct writer *w)
{
    if (!w)
        return;
    pthread_mutex_lock(&w->queue.lock);
    w->queue.closing = true;
    pthread_cond_signal(&w->queue.changed);
    pthread_mutex_unlock(&w->queue.lock);
    pthread_join(w->thread, NULL);
    vec_free(&w->completions);
    queue_fini(&w->queue);
    free(w);
}

/* ---- for other threads ------------------------------------------------------------- */

int writer_hand(struct writer *w, struct store_batch *batch, enum store_class how,
                store_done done, void *ctx, bool direct, struct err *err)
{
    struct pending *p = mem_new(struct pending);

    p->batch = batch;
    p->done = done;
    p->ctx = ctx;
    p->direct = direct;
    p->handed_s = clock_wall_s();
    p->rows = store_batch_rows(batch);
    p->bytes = store_batch_bytes(batch) + sizeof(*p);
    if (queue_hand(&w->queue, how, p, err) < 0) {
        free(p);
        return -1;
    }
    return 0;
}

void writer_flush(struct writer *w)
{
    queue_flush(&w->queue);
}

int writer_upkeep(struct writer *w, writer_step step, void *task, store_done done,
                  void *ctx, struct err *err)
{
    int rc = 0;

    pthread_mutex_lock(&w->queue.lock);
    if (w->upkeep.step || w->queue.closing) {
        rc = err_set(err, ERR_BUSY, "the store is being tidied already");
    } else {
        w->upkeep.step = step;
        w->upkeep.task = task;
        w->upkeep.done = done;
        w->upkeep.ctx = ctx;
        w->upkeep.due_s = 0;
        pthread_cond_signal(&w->queue.changed);
    }
    pthread_mutex_unlock(&w->queue.lock);
    return rc;
}

void writer_stats(struct writer *w, struct store_stats *stats)
{
    pthread_mutex_lock(&w->queue.lock);
    *stats = w->stats;
    stats->refused = w->queue.refused;
    stats->waiting_rows = w->queue.classes[0].rows + w->queue.classes[1].rows;
    stats->waiting_rows_peak = w->queue.rows_peak;
    pthread_mutex_unlock(&w->queue.lock);
}
