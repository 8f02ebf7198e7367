/* models.h - checkpoints of what was learned: named bytes with version and checksum
 *
 * A checkpoint is written in pieces between other commits, so that a large one delays no
 * submission, and counts only when its last piece is there. */
#ifndef CORGI_STORE_MODELS_H
#define CORGI_STORE_MODELS_H

#include "store/reader.h"
#include "store/store.h"

#define STORE_MODEL_MAX_BYTES ((size_t)128 << 20)

/* The bytes are copied.  version is the caller's: which program can read them.  done as
 * in store_commit(), after the last piece.  ERR_LIMIT, ERR_BUSY. */
int store_save_model(struct store *store, const char *name, int version, double at_s,
                     const void *bytes, size_t count, store_done done, void *ctx,
                     struct err *err);

struct store_model {
    int version;
    double at_s;
    size_t count;
    char *bytes; /* the caller frees */
    int skipped; /* newer checkpoints that were damaged */
};

/* The newest whole one; a damaged one is passed over.  ERR_NOT_FOUND. */
int store_load_model(struct store_reader *reader, const char *name,
                     struct store_model *model, struct err *err);

#endif
