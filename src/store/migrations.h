/* migrations.h - the tables of a store and the numbered steps that lead to them
 *
 * A store carries the number of the last step it has taken.  Opening one takes the
 * missing steps, each in a transaction of its own; one from a newer program is refused.
 * Steps that were released are never changed: a change of the tables is a new step. */
#ifndef CORGI_STORE_MIGRATIONS_H
#define CORGI_STORE_MIGRATIONS_H

#include "store/db.h"

/* In the header of the file: "Corg". */
#define MIGRATIONS_APPLICATION_ID 0x436f7267

/* The steps this program knows, and how many. */
extern const char *const migrations_steps[];
extern const int migrations_count;

/* Bring db from whatever it has to step `count`; *from gets where it was.  Nothing is
 * changed when it is not a store (ERR_FORMAT) or newer (ERR_UNSUPPORTED). */
int migrations_apply(struct db *db, const char *const *steps, int count, int *from,
                     struct err *err);

/* For readers: exactly the version this program knows, or a sentence what to do. */
int migrations_examine(struct db *db, struct err *err);

#endif
