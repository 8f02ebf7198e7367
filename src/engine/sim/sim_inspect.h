/* sim_inspect.h - what really is in the simulated world
 *
 * For scores, oracles and checks of a simulation, which may know what no probe tells.
 * The daemon never asks. */
#ifndef CORGI_ENGINE_SIM_SIM_INSPECT_H
#define CORGI_ENGINE_SIM_SIM_INSPECT_H

#include "engine/engine.h"
#include "engine/sim/truth.h"

/* Told as it happens, at the engine's present. */
struct sim_watch {
    void *ctx;
    void (*job)(void *ctx,
                uint64_t job); /* its rate, demand or state is about to change */
    void (*device)(void *ctx, int device,
                   double watts);      /* its draw or its jobs changed */
    void (*node)(void *ctx, int node); /* its state has changed */
};

struct sim_inspect_job {
    const struct sim_request *request; /* borrowed until the job ends */
    bool seated;                       /* has devices: runs, or waits for a node or its
                                          checkpoint */
    bool active;                       /* runs now */
    double ready_s; /* when it runs or ran, seated; INFINITY: not before something else */
    double rate;    /* steps/s or requests/s it can do now */
    double demand;  /* requests/s asked for now; 0: training */
    double done;    /* steps that count, or requests served, at the time asked for */
    double ends_s;  /* a service: when its time is over; INFINITY: not yet known */
    int device_count;
    const int *devices; /* (device_count) borrowed */
};

/* At a time from the engine's present to the next event.  False: the engine has nothing
 * of this job (not told of, or ended). */
bool sim_inspect_job(const struct engine *engine, uint64_t job, double at_s,
                     struct sim_inspect_job *out);

/* Who sits where, caps and nodes as they are; borrowed. */
const struct cluster *sim_inspect_cluster(const struct engine *engine);
const struct truth *sim_inspect_truth(const struct engine *engine);

#endif
