/* pairs_private.h - the inside of struct pairs, for pairs.c and pairs_adapt.c only */
#ifndef CORGI_MODEL_PAIRS_PRIVATE_H
#define CORGI_MODEL_PAIRS_PRIVATE_H

#include "base/map.h"
#include "base/vec.h"
#include "model/stat_network.h"
#include "model/blend.h"
#include "model/running.h"
#include "model/gbt.h"
#include "model/pairs.h"

struct pairs_memory { /* of one observation of the core */
    struct drift drift;
    double extra_var;
    uint64_t stamp; /* last measured */
};

struct pairs {
    struct kernel_params start; /* shipped, what fitting is pulled to */
    struct gp *core;
    struct stats *stats;
    struct statnet *initial, *refined; /* P1, P2 */
    struct gbt *trees;                 /* of this cluster; NULL: too little seen */
    struct map *index;                 /* cell -> observation of the core */
    struct pairs_memory *memory;       /* (PAIRS_MAX) */
    size_t limit;                      /* observations kept, at most PAIRS_MAX */
    vec_of(bool) idle;                 /* (jobs) none of it is here now */
    bool initial_only;                 /* see pairs_set_initial() */
    bool stale, stats_stale;           /* core, statistics are not what is in memory */
    uint64_t stamp;
    struct blend_weights weights;
    double width; /* half a 90 % interval in units of sd */
};

/* Forget the observations that tell least beside the others. */
void pairs_make_room(struct pairs *pairs);

uint64_t pairs_key(struct cell cell);

/* What the core says of an observation without it and without its other direction. */
struct blend_belief pairs_leave_out(const struct gp *core, const double *precision,
                                    size_t index);

/* What adds to the noise of a cell shrinks as more of it is seen: tell the core. */
void pairs_revise_noise(struct pairs *pairs);

#endif
