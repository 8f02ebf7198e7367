/* sim_engine.h - an engine without hardware: jobs run in a synthetic world
 *
 * For trying the daemon without a GPU, and for its tests.  Rates and watts come from the
 * world the simulator plays on (world/generate.h, sim/truth.h); time is the engine's own
 * and goes faster than the clock on the wall by a factor.  While no daemon runs, the
 * world stands still; a journal lets the next daemon find every job where it was, also
 * after a crash. */
#ifndef CORGI_ENGINE_SIM_SIM_ENGINE_H
#define CORGI_ENGINE_SIM_SIM_ENGINE_H

#include "engine/engine.h"

#include <stdint.h>

struct sim_engine_options {
    const char *cluster_file; /* YAML as for corgi sim; NULL: a built-in cluster */
    const char *cluster;      /* its name; NULL: demo */
    const char *journal;      /* file of the world's memory; NULL: none */
    double speed;             /* seconds of the world in one of the wall's */
    double measure_s;         /* a job is measured this often, in the world's time */
    double power_s;           /* and a device's energy told */
    double restore_s;         /* a restarted job reads its checkpoint this long */
    double noise_sd;          /* of the log of a measured rate */
    uint64_t seed;
    double start_s; /* the world's time when it is made anew: seconds since the epoch */
};

/* The caller ends it with engine.ops->destroy(engine.self). */
int sim_engine_create(struct engine *engine, const struct sim_engine_options *options,
                      struct engine_sink sink, struct err *err);

/* The world's time now. */
double sim_engine_now_s(const struct engine *engine);

/* Environment of a job the world heeds, for trying what goes wrong:
 *   CORGI_SIM_EXIT=N       it ends with this exit status
 *   CORGI_SIM_SPEED=F      it runs at F times its rate,
 *   CORGI_SIM_SPEED_AFTER=S  but only after so many seconds
 *   CORGI_SIM_DEMAND=R@S,R@S,...  of a service R requests/s are asked from S seconds
 *                          after its submission on
 *   CORGI_SERVICE=ID       it is a replica of that service: they share its requests */
#define SIM_ENGINE_EXIT         "CORGI_SIM_EXIT="
#define SIM_ENGINE_SPEED        "CORGI_SIM_SPEED="
#define SIM_ENGINE_AFTER        "CORGI_SIM_SPEED_AFTER="
#define SIM_ENGINE_DEMAND       "CORGI_SIM_DEMAND="
#define SIM_ENGINE_SERVICE      "CORGI_SERVICE="
#define SIM_ENGINE_DEMAND_STEPS 16

#endif
