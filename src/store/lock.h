/* lock.h - one daemon a store
 *
 * A file beside the database is locked while the store is open and holds the process
 * id, so that the next one can say who is there.  The kernel unlocks it when the process
 * ends, however it ends. */
#ifndef CORGI_STORE_LOCK_H
#define CORGI_STORE_LOCK_H

#include "base/err.h"

/* The descriptor that holds the lock, or -1; ERR_EXISTS when another process has it. */
int lock_take(const char *store_path, struct err *err);
void lock_release(int fd); /* -1 is fine */

#endif
