/* classes.h - what is believed of classes of jobs: rates alone and beside, watts, memory
 *
 * The slow half of the learned model, above its parts.  Jobs of a class tell it what they
 * measured, each job once and then corrected, so that a job measured for days does not
 * outvote the others.  Asking changes nothing; a reader that asks much keeps answers in a
 * cache (prediction_cache.h). */
#pragma once

#include "model/footprint.h"
#include "model/model_types.h"
#include "model/pairs.h"
#include "model/rates.h"
#include "model/watts.h"

/* No set of jobs slows one down below this. */
#define CLASSES_RELATIVE_MIN 0.02

/* A belief about the log of a value of the class, not of one job of it. */
struct class_guess {
    double mean, var;
    bool measured;    /* a job of the class was measured in this very cell */
    bool of_class;    /* or in another one */
    int observations; /* jobs or cells it rests on */
};

/* Several devices on one type, on one node or spread. */
struct class_gang {
    int cls, type, devices;
    bool spread;
};

/* What the jobs of a class say of one cell. */
struct class_tally {
    double mean, var; /* var: what one of them does not know */
    double jobs;      /* fading */
    double pushed;    /* what the core was told; NaN: nothing */
    bool inferred;    /* from runs beside others: gives way to a real one */
};

struct class_pair {
    struct cell cell;
    struct class_tally tally;
};

struct class_gang_tally {
    struct class_gang gang;
    struct class_tally tally;
};

struct class_state {
    int here; /* jobs of it */
    /* For who keeps answers: these count up whenever what is believed changes noticeably.
     */
    uint64_t version;       /* rates alone of the class */
    uint64_t watts_version; /* its draw */
    uint64_t pair_news;     /* pairs it is part of */
    double pair_cells;      /* how many there are */
};

struct classes_news { /* the same of all classes */
    uint64_t alone, alone_cells, watts, pairs, lessons;
};

struct classes {
    int type_count;
    struct gpu_sheet *types; /* (type_count) */
    struct rates *rates;
    struct pairs *pairs; /* settle these after telling, before the next question */
    struct footprint *footprint;
    struct watts *watts;
    vec_of(struct class_state) states;
    vec_of(struct class_tally) alone; /* (classes, types) */
    vec_of(double) drawn;             /* (classes, types) watts when last told as news */
    struct map *beside_index;         /* cell -> beside */
    vec_of(struct class_pair) beside; /* cells of pairs ever told of */
    struct map *gang_index;           /* class, type, devices, spread -> gangs */
    vec_of(struct class_gang_tally) gangs;
    struct classes_news news;
};

/* initial: see learned_options.initial_only. */
struct classes *classes_create(const struct gpu_sheet *types, int type_count,
                               size_t memory, bool initial);
void classes_destroy(struct classes *classes); /* NULL is fine */

int classes_add(struct classes *classes, const struct job *job, int family);

/* How many jobs of a class are here now. */
void classes_arrive(struct classes *classes, int cls, int more);

/* Classes that were never added, as a question sees them: they count from
 * states.count on, and get the answers they would get once added. */
struct class_guests {
    int count;
    struct job_trait traits[LOOP_MAX_SHARE];
};

/* ln steps/s on one device alone, and ln relative speed beside another class. */
struct class_guess classes_alone(const struct classes *classes,
                                 const struct class_guests *guests, int cls, int type);
struct class_guess classes_beside(const struct classes *classes,
                                  const struct class_guests *guests, int cls, int type,
                                  int other);
struct class_guess classes_guess_of(const struct pairs_guess *guess);
/* ln steps/s of a gang of this very size; false when none of the class was measured. */
bool classes_gang(const struct classes *classes, const struct class_gang *gang,
                  struct class_guess *guess);
double classes_fit(const struct classes *classes, int type,
                   const struct footprint_item *items, int count);

/* What one job says now in place of what it said before (NaN: nothing), of which var is
 * not known.  changed: it changed suddenly, so what was told before counts less. */
struct class_news {
    double before, now, var;
    bool changed;
};
void classes_tell_alone(struct classes *classes, int cls, int type,
                        const struct class_news *news, bool inferred);
void classes_tell_gang(struct classes *classes, const struct class_gang *gang,
                       const struct class_news *news);
void classes_tell_beside(struct classes *classes, int cls, int type, int other,
                         const struct class_news *news);
/* full_load: it ran as fast as it could, so its draw tells how busy it keeps the card. */
void classes_tell_watts(struct classes *classes, int cls, int type, double device_watts,
                        bool full_load);
void classes_tell_memory(struct classes *classes, int type,
                         const struct footprint_item *items, int count, bool failed);

/* Everything told of a class's rates was off by this much: add it. */
void classes_rebase(struct classes *classes, int cls, double by);

/* For checkpoints; classes may be left out.  Reading starts from one just created for the
 * same types. */
void classes_code(struct classes *c, struct codec *codec);
