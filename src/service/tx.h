/* tx.h - a change of the daemon's state on its way to disk
 *
 * Rows are put into the batch; events are numbered and stored with them, and told to the
 * clients that follow when the disk has them: nobody hears of what a crash could undo.
 *
 *     struct tx *tx = tx_begin(s);
 *     store_update_progress(tx->batch, ...);
 *     tx_event(tx, "job", record, &json);
 *     tx_commit(tx, done, ctx);
 */
#ifndef CORGI_SERVICE_TX_H
#define CORGI_SERVICE_TX_H

#include "service/service_private.h"
#include "store/history.h"

struct tx;

struct tx *tx_begin(struct service *s);
struct store_batch *tx_batch(struct tx *tx);

/* An event of lasting interest; record NULL: of no job and for everyone.  The data, a
 * JSON object, is taken. */
void tx_event(struct tx *tx, const char *type, const struct record *record,
              struct str *data);

/* A step in a job's life: its progress as it is now, the transition and the event. */
struct tx_step {
    const char *what; /* one word: started, moved, ... */
    enum job_state from;
    bool first;
    const char *by; /* user; NULL: the daemon */
};
void tx_job(struct tx *tx, struct record *record, const struct tx_step *step);
/* The same when the loop has dropped the job already: its last status. */
void tx_job_was(struct tx *tx, struct record *record, const struct job_status *status,
                const struct tx_step *step);

/* Durable.  done (may be NULL) hears of it with err.code ERR_NONE, or why it failed;
 * ends the tx. */
typedef void tx_done(void *ctx, const struct err *err);
void tx_commit(struct tx *tx, tx_done *done, void *ctx);

/* A passing event: told now, not stored, not replayed. */
void tx_tell(struct service *s, const char *type, const struct record *record,
             struct str *data);

/* For store_options.post. */
void tx_post(void *ctx, const struct store_completion *list, size_t count);

/* The progress of a record as the store keeps it; strings are borrowed from the record
 * and from scratch. */
void tx_progress(const struct service *s, const struct record *record,
                 const struct job_status *status, struct store_progress *progress,
                 struct str *devices, struct str *extra);

#endif
