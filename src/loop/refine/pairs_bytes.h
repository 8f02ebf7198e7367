/* pairs_bytes.h - what was learned of pairs, for checkpoints and for workers */
#ifndef CORGI_LOOP_REFINE_PAIRS_BYTES_H
#define CORGI_LOOP_REFINE_PAIRS_BYTES_H

#include "loop/core/bytes.h"
#include "loop/refine/pairs.h"

#define PAIRS_MAX_JOBS 65536

void pairs_write(const struct pairs *pairs, struct bytes_out *out);

/* Into one just created that knows its GPU types; in->bad tells of damage, and what was
 * read until then is then only good for pairs_destroy(). */
void pairs_read(struct pairs *pairs, struct bytes_in *in);

/* A copy that a worker may change (pairs_adapt) while the other goes on absorbing, and
 * taking back what was learned: parameters, network, trees, weight and width.  Ends the
 * copy. */
struct pairs *pairs_dup(struct pairs *pairs);
void pairs_take(struct pairs *pairs, struct pairs *learned);

#endif
