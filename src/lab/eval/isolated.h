/* isolated.h - protocols lofo and lojo for rates alone
 *
 * Hold out a family or a job, show its rate on 0, 1 or 2 other GPU types (all choices),
 * score the type that is left.  0 is scored where a sibling is in the catalogue
 * (isolated), and as ratios between types otherwise (isolated-ratio). */
#ifndef CORGI_LAB_EVAL_ISOLATED_H
#define CORGI_LAB_EVAL_ISOLATED_H

#include "lab/eval/fold.h"
#include "lab/eval/eval_results.h"

void isolated_run(const struct measured *table, enum fold_split split, bool product,
                  bool baselines, uint64_t seed, struct results *results);

#endif
