/* eval_online.h - protocol online: a stream of arrivals on an empty memory
 *
 * Each arrival is a random job type placed once on a random GPU type beside a random job
 * among the last ones; both relative speeds are read.  At marks along the stream all
 * cells of the table are scored, and those never measured on their own. */
#ifndef CORGI_LAB_EVAL_EVAL_ONLINE_H
#define CORGI_LAB_EVAL_EVAL_ONLINE_H

#include "lab/eval/eval_results.h"
#include "lab/eval/measured_table.h"

void online_run(const struct measured *table, bool product, uint64_t seed, int seeds,
                struct results *results);

#endif
