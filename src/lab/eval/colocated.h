/* colocated.h - protocols lofo and lojo for jobs beside one another
 *
 * Hold out a family or a job, show 0, 1, 2, 3, 10 of its pairs, score the others: the
 * speed of the job (own, only its speed is shown) and the speed its neighbour keeps
 * (effect, both are shown). */
#ifndef CORGI_LAB_EVAL_COLOCATED_H
#define CORGI_LAB_EVAL_COLOCATED_H

#include "lab/eval/estimator_method.h"
#include "lab/eval/eval_results.h"

/* methods ends with a NULL name. */
void colocated_run(const struct measured *table, enum fold_split split,
                   const struct method *methods, uint64_t seed, int seeds,
                   struct results *results);

#endif
