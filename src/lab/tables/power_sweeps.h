/* power_sweeps.h - draw of training jobs as sweeps of power limits measured it
 *
 * Reads the tables of Zeus (NSDI'23): a folder with summary_power_<gpu>.csv, columns
 * dataset,network,batch_size,optimizer,power_limit,average_power.  Only the highest limit
 * of each configuration counts here: how it draws without one. */
#pragma once

#include "base/intern.h"
#include "base/vec.h"
#include "world/world.h"

#include <stdint.h>

#define POWER_SWEEPS_GPUS 8

struct power_sweep {
    int workload;
    int batch;
    double watts[POWER_SWEEPS_GPUS]; /* NaN: not measured */
    double limit[POWER_SWEEPS_GPUS]; /* of that measurement */
};

struct power_sweeps {
    struct intern *workloads, *configs; /* "imagenet/resnet50" and "../64/adadelta" */
    vec_of(struct power_sweep) rows;
    const struct gpu_sheet *sheets[POWER_SWEEPS_GPUS];
    int gpus;
};

/* On failure there is nothing to end. */
int power_sweeps_load(struct power_sweeps *sweeps, const char *folder, struct err *err);
void power_sweeps_fini(struct power_sweeps *sweeps);

/* Let the classes of the world draw what such a configuration drew on each type: the
 * workload most like their family and of it the nearest batch; a family nobody knows of
 * here is like one drawn from the seed.  A card that was not swept draws the same share
 * of its own range as the nearest that was, and a gang less where its devices wait, as
 * where utilisation is drawn.  ERR_NOT_FOUND when a workload is missing from the tables.
 */
int power_sweeps_apply(struct world *world, const char *folder, uint64_t seed,
                       struct err *err);
