/* sim_engine.h - an engine without hardware: jobs run in a synthetic world
 *
 * The one simulated cluster, behind the daemon and behind `corgi sim`.  Rates and watts
 * come from a world's tables (world/world.h, truth.h); nodes fall asleep, wake and fail,
 * jobs run out of memory and lose what they did since their last checkpoint, services are
 * asked for more or less.  Time is the engine's own: it follows the clock on the wall,
 * faster by a factor, or stands still until dispatch() is told a later time.
 *
 * While no daemon runs, the world stands still; a journal lets the next daemon find every
 * job where it was, also after a crash. */
#pragma once

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

enum sim_clock {
    SIM_CLOCK_WALL,    /* `speed` seconds of the world in one of the wall's */
    SIM_CLOCK_STEPPED, /* as far as dispatch() was told */
};

struct sim_engine_options {
    const char *cluster_file;    /* YAML as for corgi sim; NULL: a built-in cluster */
    const char *cluster;         /* its name; NULL: demo */
    const struct cluster *drawn; /* copied, instead of these two; NULL: none */
    const struct world *world;   /* borrowed; NULL: made from the seed */
    const int *gpu_of_type; /* (cluster types) the world's GPU; borrowed with world */
    const char *journal;    /* file of the world's memory; NULL: none */
    const struct sim_watch *watch; /* borrowed; NULL: nobody watches */
    enum sim_clock clock;
    double speed;
    double start_s; /* the world's time when it is made anew: seconds since the epoch */
    uint64_t seed;
    double alone_sd, beside_sd;              /* hidden factors of each job, see truth.h */
    bool beside_free;                        /* likewise */
    double gang_interference, cap_steepness; /* see truth.h; 0: none */
    bool drawn_power;                        /* likewise */
    double drift;        /* of rates over the days, see truth.h; 0: none */
    bool queue;          /* it has a queue: a job is handed in before it starts */
    double sleep_s;      /* from being told to sleep to being asleep */
    double restore_s;    /* a restarted job reads its checkpoint this long */
    double checkpoint_s; /* a failed node loses what was done since the last checkpoint */
    double node_mtbf_s;  /* mean time between failures of a node; 0: none */
    double repair_s;     /* a failed node is back after this */
    int late_type;       /* nodes of this type are down until late_s, if that is not 0 */
    double late_s;
    double measure_s; /* a job is measured this often */
    double demand_s;  /* and looked at what is asked of a service */
    double power_s;   /* and a device's energy told; 0: never */
    double noise_sd;  /* of the log of a measured rate */
    /* Reports of jobs that run steadily are thinned: ever fewer, of the last window_s
     * alone and never across a change of the devices; demand is told when it has moved.
     */
    bool thin;
    double window_s;
    double align_s; /* reports come at multiples of this, many at once; 0: any time */
};

/* What both the daemon and a test would take unless told otherwise. */
struct sim_engine_options sim_engine_defaults(void);

/* The caller ends it with engine.ops->destroy(engine.self). */
int sim_engine_create(struct engine *engine, const struct sim_engine_options *options,
                      struct engine_sink sink, struct err *err);

/* The world's time now. */
double sim_engine_now_s(const struct engine *engine);

/* When something happens next, the present when there is news to dispatch; INFINITY: not
 * before somebody acts.  With a stepped clock dispatch() goes there. */
double sim_engine_next_s(const struct engine *engine);

/* What the job really is, before its first start: a workload knows more than its user
 * told.  Without this call the engine derives it from its seed, the job's id and what the
 * user told, so that two engines of one seed agree. */
void sim_engine_expect(const struct engine *engine, const struct sim_request *request);

/* The synthetic world of a cluster's types, one for each (seed, stream); the caller owns
 * it. */
struct world *sim_engine_world(const struct gpu_sheet *types, int count, uint64_t seed,
                               uint64_t stream);

/* Environment of a job the world heeds, for trying what goes wrong:
 *   CORGI_SIM_EXIT=N       it ends with this exit status
 *   CORGI_SIM_SPEED=F      it runs at F times its rate,
 *   CORGI_SIM_SPEED_AFTER=S  but only after so many seconds
 *   CORGI_SIM_STEPS=N      it really has N steps to do, whatever was told
 *   CORGI_SIM_LEAVE=S      told to stop, it goes on for S seconds, at most its grace
 *   CORGI_SIM_DEMAND=R@S,R@S,...  of a service R requests/s are asked from S seconds
 *                          after its submission on
 *   CORGI_SERVICE=ID       it is a replica of that service: they share its requests */
#define SIM_ENGINE_EXIT         "CORGI_SIM_EXIT="
#define SIM_ENGINE_SPEED        "CORGI_SIM_SPEED="
#define SIM_ENGINE_AFTER        "CORGI_SIM_SPEED_AFTER="
#define SIM_ENGINE_STEPS        "CORGI_SIM_STEPS="
#define SIM_ENGINE_LEAVE        "CORGI_SIM_LEAVE="
#define SIM_ENGINE_DEMAND       "CORGI_SIM_DEMAND="
#define SIM_ENGINE_SERVICE      "CORGI_SERVICE="
#define SIM_ENGINE_DEMAND_STEPS 16

/* What really is in the world.  For scores, oracles and checks of a simulation, which may
 * know what no probe tells; the daemon never asks. */
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
