/* observation_store.h - what was measured, kept so that a restart does not forget what
 * was learned
 *
 * The newest observations of every cell (who ran beside whom on which type under which
 * cap), at most MEMORY_CELLS of them; put through a fresh model in order they teach it
 * again.  Stored as checkpoints. */
#ifndef CORGI_SERVICE_OBSERVATION_STORE_H
#define CORGI_SERVICE_OBSERVATION_STORE_H

#include "base/err.h"
#include "base/str.h"
#include "loop/types.h"
#include "model/model.h"

#define MEMORY_CELLS   1500
#define MEMORY_VERSION 1

/* An observation with the jobs it points to. */
struct seen {
    struct observation observation;
    struct job jobs[LOOP_MAX_SHARE];
};

/* Deep copy; the observation's pointers then point into the copy, which must not move. */
void seen_copy(struct seen *to, const struct observation *from);

struct memory;

struct memory *memory_create(const struct cluster *cluster); /* borrowed: its types */
void memory_destroy(struct memory *m);                       /* NULL is fine */

void memory_add(struct memory *m, const struct observation *seen);
size_t memory_count(const struct memory *m);

/* Teach a model everything, oldest first. */
void memory_teach(const struct memory *m, struct model *model);

void memory_save(const struct memory *m, struct str *out);
int memory_load(struct memory *m, const char *text, size_t length, struct err *err);

#endif
