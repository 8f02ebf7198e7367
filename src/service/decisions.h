/* decisions.h - why here: decisions with what else was possible and what it would cost */
#ifndef CORGI_SERVICE_DECISIONS_H
#define CORGI_SERVICE_DECISIONS_H

#include "service/tx.h"

/* A job got or changed its devices.  Sets what is expected of it in its record. */
void decisions_placed(struct service *s, struct tx *tx, struct record *r,
                      const char *what, const char *reason);

/* How it would run had it been placed the usual way: alone and without a power limit on
 * the fastest type of which enough were free, or on which it is.  Noted in its record
 * when it is placed: what was saved is told against that. */
void decisions_reference(struct service *s, struct record *r);

/* A decision about a job without a new place: stop, cap, guard. */
void decisions_note(struct service *s, struct tx *tx, const struct record *r,
                    const char *what, const char *devices, const char *reason);

#endif
