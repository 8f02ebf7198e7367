/* reader_private.h - a reader from inside the store: its connection, and walking rows */
#ifndef CORGI_STORE_READER_PRIVATE_H
#define CORGI_STORE_READER_PRIVATE_H

#include "store/db.h"
#include "store/reader.h"

struct store_reader {
    struct db *db;
};

/* The number of rows a read gives: what was asked for, within reason. */
int reader_limit(int asked, int otherwise);

/* Step through q and give each row to visit(ctx, q), which returns 0 to go on; then reset
 * it.  q may be NULL, err has been filled then.  Returns the number of rows, or -1. */
int reader_walk(struct db_query *q, int (*visit)(void *ctx, struct db_query *q),
                void *ctx, struct err *err);

/* What a read gives to visit(): the caller's function and what it is called with. */
#define READER_WALK(name)                                                                \
    struct name##_walk {                                                                 \
        store_##name##_row row;                                                          \
        void *ctx;                                                                       \
    }

#endif
