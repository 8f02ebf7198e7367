/* protocols.h - the protocols of `corgi eval` that eval.c runs */
#pragma once

#include "lab/eval/estimator_method.h"
#include "lab/eval/eval_results.h"

/* lofo and lojo for jobs beside one another: hold out a family or a job, show 0, 1, 2, 3,
 * 10 of its pairs, score the others: the speed of the job (own, only its speed is shown)
 * and the speed its neighbour keeps (effect, both are shown).  methods ends with a NULL
 * name. */
void colocated_run(const struct measured *table, enum fold_split split,
                   const struct method *methods, uint64_t seed, int seeds,
                   struct results *results);

/* The same for rates alone: show its rate on 0, 1 or 2 other GPU types (all choices),
 * score the type that is left.  0 is scored where a sibling is in the catalogue
 * (isolated), and apart where there is none (isolated-new). */
void isolated_run(const struct measured *table, enum fold_split split, bool product,
                  uint64_t seed, struct results *results);

/* online: a stream of arrivals on an empty memory.  Each arrival is a random job type
 * placed once on a random GPU type beside a random job among the last ones; both relative
 * speeds are read.  At marks along the stream all cells of the table are scored, and
 * those never measured on their own. */
void online_run(const struct measured *table, bool product, uint64_t seed, int seeds,
                struct results *results);

/* power: the draw of each configuration of a held-out workload of the Zeus tables in a
 * folder, from its draw on another GPU. */
int power_run(const char *folder, struct results *results, struct err *err);
