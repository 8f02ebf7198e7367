/* classes.h - what is believed of classes of jobs: rates alone and beside, watts, memory
 *
 * The slow half of the learned model, above its parts.  A class is a user's jobs told
 * alike, a kind the jobs of all users told alike.  Rates alone and watts are kept by
 * class, and those of others inform as far as their users are believed (trust.h); how
 * jobs slow each other down is kept by kind, where each user has one voice (tally.h).
 * Jobs tell what they measured, each job once and then corrected, so that a job measured
 * for days does not outvote the others.  Asking changes nothing; a reader that asks much
 * keeps answers in a cache (prediction_cache.h). */
#pragma once

#include "model/footprint.h"
#include "model/model_types.h"
#include "model/pairs.h"
#include "model/rates.h"
#include "model/tally.h"
#include "model/trust.h"
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

struct class_pair {
    struct cell cell; /* of kinds */
    struct tally tally;
};

struct class_gang_tally {
    struct class_gang gang;
    struct tally tally;
};

/* For who keeps answers: versions and news count up whenever what is believed changes
 * noticeably. */
struct class_state {
    int kind, user;
    uint64_t version;       /* rates alone of the class */
    uint64_t watts_version; /* its draw */
};

struct class_kind {
    int here;            /* jobs of it */
    uint64_t pair_news;  /* pairs it is part of */
    double pair_cells;   /* how many there are */
    vec_of(int) classes; /* of it, one a user */
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
    struct trust trust;
    vec_of(struct class_state) states;
    vec_of(struct class_kind) kinds;
    vec_of(struct tally) alone;       /* (classes, types) */
    vec_of(double) drawn;             /* (classes, types) watts when last told as news */
    struct map *beside_index;         /* cell -> beside */
    vec_of(struct class_pair) beside; /* cells of pairs ever told of */
    struct map *gang_index;           /* class, type, devices, spread -> gangs */
    vec_of(struct class_gang_tally) gangs;
    struct classes_news news;
};

struct classes_options {
    size_t memory;     /* cells of pairs kept */
    bool initial_only; /* see learned.h */
    bool share;        /* users inform each other */
    enum network_choice networks;
};

struct classes *classes_create(const struct gpu_sheet *types, int type_count,
                               const struct classes_options *options);
void classes_destroy(struct classes *classes); /* NULL is fine */

struct class_told {
    int kind;       /* that there is; -1: a new one */
    int family;     /* by its name; -1: none told */
    int own_family; /* the same for this user alone */
};
int classes_add(struct classes *classes, const struct job *job,
                const struct class_told *told);

/* How many jobs of a class are here now. */
void classes_arrive(struct classes *classes, int cls, int more);

/* Classes and kinds that were never added, as a question sees them: they count from
 * states.count and kinds.count on, and get the answers they would get once added. */
struct class_guests {
    int count, kind_count;
    struct job_trait traits[LOOP_MAX_SHARE]; /* of classes */
    int users[LOOP_MAX_SHARE], families[LOOP_MAX_SHARE];
    struct job_trait kinds[LOOP_MAX_SHARE];
};

/* ln steps/s on one device alone, and ln relative speed of a kind beside another. */
struct class_guess classes_alone(const struct classes *classes,
                                 const struct class_guests *guests, int cls, int type);
struct class_guess classes_beside(const struct classes *classes,
                                  const struct class_guests *guests, int kind, int type,
                                  int other);
/* What a user's own jobs say of a cell where others said something too; false: the kind's
 * answer is theirs. */
bool classes_own_beside(const struct classes *classes, int user, struct cell cell,
                        struct class_guess *guess);
struct class_guess classes_guess_of(const struct pairs_guess *guess);
/* ln steps/s of a gang of this very size; false when none of the class was measured. */
bool classes_gang(const struct classes *classes, const struct class_gang *gang,
                  struct class_guess *guess);
double classes_fit(const struct classes *classes, int type,
                   const struct footprint_item *items, int count);

/* What one job says now in place of what it said before, of which var is not known.
 * changed: it changed suddenly, so what was told before counts less. */
struct class_news {
    uint64_t job;
    double now, var;
    bool changed;
};
void classes_tell_alone(struct classes *classes, int cls, int type,
                        const struct class_news *news, bool inferred);
/* Rates alone of classes with pairs, as they are now, for the next lesson on these. */
void classes_tell_rates(struct classes *classes);
void classes_tell_gang(struct classes *classes, const struct class_gang *gang,
                       const struct class_news *news);
/* Of the class's kind beside another kind. */
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
