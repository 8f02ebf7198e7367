/* classes.h - what is believed of classes of jobs: rates alone and beside, watts, memory
 *
 * The slow half of the learned model, above its parts.  Jobs of a class tell it what they
 * measured, each job once and then corrected, so that a job measured for days does not
 * outvote the others.  Asking changes nothing; a reader that asks much keeps answers in a
 * cache (prediction_cache.h). */
#ifndef CORGI_MODEL_CLASSES_H
#define CORGI_MODEL_CLASSES_H

#include "base/bytes.h"
#include "model/footprint.h"
#include "model/pairs.h"
#include "model/watts.h"
#include "model/model_types.h"

struct classes;

/* A belief about the log of a value of the class, not of one job of it. */
struct class_guess {
    double mean, var;
    bool measured;    /* a job of the class was measured in this very cell */
    int observations; /* jobs or cells it rests on */
};

/* Several devices on one type, on one node or spread. */
struct class_gang {
    int cls, type, devices;
    bool spread;
};

struct classes *classes_create(const struct gpu_sheet *types, int type_count,
                               uint64_t seed, size_t memory);
void classes_destroy(struct classes *classes); /* NULL is fine */

int classes_add(struct classes *classes, const struct job *job, int family);

/* How many jobs of a class are here now. */
void classes_arrive(struct classes *classes, int cls, int more);

/* Classes that were never added, as a question sees them: they count from
 * classes_count() on, and get the answers they would get once added. */
struct class_guests {
    int count;
    struct job_trait traits[LOOP_MAX_SHARE];
    struct footprint_item sizes[LOOP_MAX_SHARE];
};

/* ln steps/s on one device alone, and ln relative speed beside another class. */
struct class_guess classes_alone(const struct classes *classes, int cls, int type);
struct class_guess classes_alone_guest(const struct classes *classes,
                                       const struct class_guests *guests, int cls,
                                       int type);
struct class_guess classes_beside(const struct classes *classes,
                                  const struct class_guests *guests, int cls, int type,
                                  int other);
/* The same of one class beside many, see pairs_renew_row(). */
void classes_beside_row(const struct classes *classes, int cls, const int *others,
                        size_t count, bool widths, double *core_sd,
                        struct pairs_guess *out);
struct class_guess classes_guess_of(const struct pairs_guess *guess);
/* ln steps/s of a gang of this very size; false when none of the class was measured. */
bool classes_gang(const struct classes *classes, const struct class_gang *gang,
                  struct class_guess *guess);
struct watts_guess classes_watts(const struct classes *classes, int cls, int type);
double classes_fit(const struct classes *classes, const struct class_guests *guests,
                   int type, const int *members, int count);

/* For who keeps answers: these count up whenever what is believed changes noticeably. */
struct class_marks {
    uint64_t version;       /* rates alone of the class */
    uint64_t watts_version; /* its draw */
    uint64_t pair_news;     /* pairs it is part of */
    double pair_cells;      /* how many there are */
};
struct class_marks classes_marks(const struct classes *classes, int cls);

struct classes_news { /* of all classes */
    uint64_t alone, alone_cells, watts, pairs, pair_cells, lessons;
};
struct classes_news classes_news(const struct classes *classes);

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
void classes_tell_memory(struct classes *classes, int type, const int *members, int count,
                         bool failed);

/* Everything told of a class's rates was off by this much: add it. */
void classes_rebase(struct classes *classes, int cls, double by);

/* Cells of pairs ever told of. */
size_t classes_pairs(const struct classes *classes);

size_t classes_count(const struct classes *classes);
int classes_type_count(const struct classes *classes);

/* What was told counts from here on: after telling, before the next question. */
void classes_settle(struct classes *classes);

/* See learned_options.initial_only. */
void classes_set_initial(struct classes *classes);

/* What takes long on a copy: a worker adapts the pairs, the loop takes them back. */
struct pairs *classes_pairs_dup(const struct classes *classes);
void classes_pairs_take(struct classes *classes, struct pairs *learned);

/* For checkpoints; out->renumber may leave classes out.  Reading starts from one just
 * created for the same types. */
void classes_write(const struct classes *classes, struct bytes_out *out);
void classes_read(struct classes *classes, struct bytes_in *in);

#endif
