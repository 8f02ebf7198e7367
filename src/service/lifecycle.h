/* lifecycle.h - the steps of a job's life, each stored, told and carried out
 *
 * An attempt is stored before the engine hears of it, so that after a crash every attempt
 * the engine may know is known here too, and none runs twice. */
#pragma once

#include "service/tx.h"

/* Why something happens, and on whose word (NULL: the daemon's). */
struct why {
    const char *code; /* as reason_code in the API */
    const char *text;
    const char *by;
    double at_s; /* when it ended, where the engine knows; 0: now */
};

/* The record holds what the quote promises or offers; and the quote's row. */
void lifecycle_promise(const struct service *s, struct record *r, const struct quote *q);
void lifecycle_put_quote(struct service *s, struct tx *tx, const struct record *r,
                         const struct quote *q);

/* A job that was taken without a promise has been measured: this is what it gets. */
void lifecycle_settle(struct service *s, struct record *r, const struct quote *q);

/* It is stored: into the queue with it. */
void lifecycle_enter(struct service *s, struct record *r);

/* Tell an engine with a queue of its own of a job that waits; and it was not taken. */
void lifecycle_hand_in(struct service *s, struct record *r);
void lifecycle_refused(struct service *s, struct record *r, const char *text);

/* Its probe says that it is done, whatever the engine says of it: an attempt that the
 * engine has is taken back. */
void lifecycle_done(struct service *s, struct record *r);

/* The job is over.  Stops what runs of it; where that takes a while the job is leaving,
 * its devices stay taken, and its end is stored when the engine says that it has gone.
 * With a tx its rows go there and the caller commits, else it is committed here. */
void lifecycle_end(struct service *s, struct tx *tx, struct record *r,
                   enum job_state state, const struct why *why);

/* It failed, as its attempts went wrong too often: the last one why. */
void lifecycle_give_up(struct service *s, struct record *r, const struct why *why);

/* Back to the queue; what runs of it is stopped, with a checkpoint. */
void lifecycle_requeue(struct service *s, struct tx *tx, struct record *r,
                       const struct why *why);

/* The round gave it devices: the attempt counts up and is put into the tx. */
void lifecycle_place(struct service *s, struct tx *tx, struct record *r, bool moved);
/* That tx is stored (or, when not, the job goes back to the queue). */
void lifecycle_placed(struct service *s, uint64_t job, int attempt, bool stored);

/* Start whatever has its devices to itself now. */
void lifecycle_launch(struct service *s);

/* Tell the engine, if it was told of this attempt, to stop it; its devices count as taken
 * until it has ended. */
void lifecycle_stop(struct service *s, struct record *r, enum engine_stop how);
/* Do not wait for what is leaving: end it now. */
void lifecycle_kill(struct service *s, struct record *r);
/* It has ended; and the end of a job that was to end then. */
void lifecycle_left(struct service *s, struct record *r);
void lifecycle_ended(struct service *s, struct record *r);
/* After a restart: what was leaving goes on to leave. */
void lifecycle_resume_leaving(struct service *s, struct record *r);

/* Jobs that wait for others to leave longer than that may take go back to the queue. */
void lifecycle_give_up_waiting(struct service *s);

/* The job as the engine needs it; borrowed from the record, which notes its devices. */
void lifecycle_engine_job(const struct service *s, struct record *r,
                          const struct job_status *status, struct engine_job *job);
