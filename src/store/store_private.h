/* store_private.h - an open store from inside */
#ifndef CORGI_STORE_STORE_PRIVATE_H
#define CORGI_STORE_STORE_PRIVATE_H

#include "store/db.h"
#include "store/store.h"
#include "store/writer.h"

#include <stdatomic.h>

struct store {
    char *path;
    int lock_fd;
    struct db *db; /* the writer's while it runs */
    struct writer *writer;
    bool interrupted;
    _Atomic uint64_t next[STORE_SEQUENCE_COUNT];
};

/* Keep the numbers in use, for when their rows are gone; on the thread that writes,
 * inside a transaction of the caller's. */
int store_keep_sequences(struct store *store, struct err *err);

#endif
