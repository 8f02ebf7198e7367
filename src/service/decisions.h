/* decisions.h - the ledger on its way to the store: what the loop decided, and why */
#ifndef CORGI_SERVICE_DECISIONS_H
#define CORGI_SERVICE_DECISIONS_H

#include "service/tx.h"

/* A decision of a round: stored, told to those who follow, and what is expected of a job
 * that got devices is noted in its record. */
void decisions_take(struct service *s, struct tx *tx, const struct decision *decision);

/* How it would run had it been placed the usual way, see decision.h; noted in its record
 * when it is placed: what was saved is told against that. */
void decisions_reference(struct service *s, struct record *r);

/* A decision about a service's replicas. */
void decisions_note(struct service *s, struct tx *tx, const struct record *r,
                    const char *what, const char *devices, const char *reason);

#endif
