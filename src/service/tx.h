/* tx.h - a change of the daemon's state on its way to disk
 *
 * Rows are put into the batch; events are numbered and stored with them, and told to the
 * clients that follow when the disk has them: nobody hears of what a crash could undo.
 *
 *     struct tx *tx = tx_begin(s);
 *     store_put(tx_batch(tx), &row);
 *     json_out_key_string(tx_event(tx, "node", NULL), "name", ...);
 *     tx_commit(tx, done, ctx);
 */
#pragma once

#include "service/service_private.h"
#include "store/rows.h"

struct tx;

struct tx *tx_begin(struct service *s);
struct store_batch *tx_batch(struct tx *tx);

/* An event of lasting interest; record NULL: of no job and for everyone.  The caller
 * writes the members of its JSON object, which is open until the next event or the
 * commit. */
struct json_out *tx_event(struct tx *tx, const char *type, const struct record *record);

/* A step in a job's life: its progress as it is now, the transition and the event. */
struct tx_step {
    const char *what; /* one word: started, moved, ... */
    bool first;       /* it is new: its request too */
    const char *by;   /* user; NULL: the daemon */
};
void tx_job(struct tx *tx, struct record *record, const struct tx_step *step);

/* A decision of a round: its row and its event, and those of a broken promise; `corgi
 * why` reads them back.  Or one about a service's replicas. */
void tx_decision(struct tx *tx, const struct record *record,
                 const struct decision *decision);
/* What would have been decided: the same row, its kind with this before it. */
#define TX_ADVISE "advise_"
void tx_advice(struct tx *tx, const struct record *record,
               const struct decision *decision);
void tx_scaled(struct tx *tx, const struct record *service, const char *reason);

/* Durable.  done (may be NULL) hears of it with err.code ERR_NONE, or why it failed;
 * ends the tx. */
typedef void tx_done(void *ctx, const struct err *err);
void tx_commit(struct tx *tx, tx_done *done, void *ctx);

/* Write again what the store could not take; also done as soon as it takes something. */
void tx_retry(struct service *s);

/* How a transition to this end is called. */
const char *tx_end_name(enum job_state state);

/* A passing event: told now, not stored, not replayed.  The data is taken. */
void tx_tell(struct service *s, const char *type, const struct record *record,
             struct str *data);

/* For store_options.post. */
void tx_post(void *ctx, const struct store_completion *list, size_t count);

/* How far a job is, without more. */
void tx_put_progress(const struct service *s, struct store_batch *batch,
                     const struct record *record);

/* Lines of ledger.h, each stored at once; nothing happens unless the clock is moved
 * by hand. */
void tx_ledger_quote(struct service *s, const struct quote *quote);
void tx_ledger_round(struct service *s, const struct round_result *result);
