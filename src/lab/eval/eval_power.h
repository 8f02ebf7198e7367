/* eval_power.h - protocol power: watts on a GPU a job never ran on
 *
 * Reads the Zeus tables of a folder (summary_power_<gpu>.csv), holds out one workload at
 * a time, shows the draw of each of its configurations on one GPU and scores the others.
 * Only runs at the highest power limit of each GPU count. */
#ifndef CORGI_LAB_EVAL_EVAL_POWER_H
#define CORGI_LAB_EVAL_EVAL_POWER_H

#include "lab/eval/eval_results.h"

int power_run(const char *folder, struct results *results, struct err *err);

#endif
