/* writer_commit.c - one transaction of the writer, and who hears of it */
#include "store/writer_private.h"

#include "base/clock.h"
#include "base/log.h"
#include "store/batch.h"

#include <string.h>

/* After a failure the disk is tried again this much later. */
#define RETRY_S 1.0
const double store_time_bounds[STORE_TIME_BUCKETS - 1] = {0.001, 0.002, 0.005, 0.01, 0.02,
                                                          0.05,  0.1,   0.25,  1.0};

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

void writer_commit_deliver(struct writer *w, const struct store_completion *list,
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
    writer_commit_deliver(w, w->completions.items, w->completions.count);
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

void writer_commit_durable(struct writer *w, struct pending *list)
{
    struct err err = {0};
    int rc = write_list(w, STORE_DURABLE, list, &err);

    if (rc < 0)
        w->retry_s = clock_wall_s() + RETRY_S;
    finish(w, STORE_DURABLE, list, rc < 0 ? &err : NULL);
}

void writer_commit_relaxed(struct writer *w, struct pending *list)
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
void writer_commit_probe(struct writer *w)
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
