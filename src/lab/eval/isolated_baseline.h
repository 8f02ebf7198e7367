/* isolated_baseline.h - what an expert would try first, for rates alone */
#ifndef CORGI_LAB_EVAL_ISOLATED_BASELINE_H
#define CORGI_LAB_EVAL_ISOLATED_BASELINE_H

#include "lab/eval/fold.h"
#include "model/rates.h"

enum { ISOLATED_BASELINES = 5 };
extern const char *const isolated_baseline_names[ISOLATED_BASELINES];

struct isolated_baseline;

struct isolated_baseline *isolated_baseline_create(const struct fold *fold);
void isolated_baseline_destroy(struct isolated_baseline *baseline); /* NULL is fine */

/* ln rate of a held-out job, of which `rates` holds what was shown. */
double isolated_baseline_guess(const struct isolated_baseline *baseline, int which,
                               const struct rates *rates, int job, int gpu);

#endif
