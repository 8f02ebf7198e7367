/* own.h - what was measured of each job itself
 *
 * Jobs of one class are alike, not equal: each has factors of its own that nobody told.
 * A job is measured again and again in the place it holds, so that place is answered
 * from its own windows; what sets it apart from its class there is carried, shrunk, to
 * the places it never was.  Gone when the job ends: the class keeps what it taught. */
#ifndef CORGI_LOOP_MODEL_OWN_H
#define CORGI_LOOP_MODEL_OWN_H

#include "loop/core/bytes.h"
#include "loop/refine/drift.h"
#include "loop/types.h"

#include <math.h>

#define OWN_MAX_PLACES 12

struct own_place {
    uint64_t key; /* type, neighbours, spread */
    int type;
    bool spread;
    int neighbours;
    int others[LOOP_MAX_SHARE - 1];  /* their classes, sorted */
    double busy[LOOP_MAX_SHARE - 1]; /* how busy they were at the last window: what is
                                        kept here is for neighbours as busy as that */
    struct drift drift;
    double squares; /* of surprises, each scaled to the noise of one window */
    double surprises;
    double told; /* what its class was told last; NaN: nothing */
    double told_var;
    double at_s;  /* last window, */
    double gap_s; /* and how long after the one before */
    uint64_t stamp;
};

struct own_factor { /* of the log rate alone on a type, against the class */
    double mean, var;
    uint64_t version; /* of what it was made from; 0: never made */
};

struct own {
    uint64_t job;
    bool here;
    int cls;
    int count;
    struct own_place places[OWN_MAX_PLACES];
    struct own_factor *factors; /* (types) */
    uint64_t version;           /* counts windows */
};

struct own_book;

struct own_book *own_book_create(int type_count);
void own_book_destroy(struct own_book *book); /* NULL is fine */

/* A job of a class begins or ends. */
void own_begin(struct own_book *book, uint64_t job, int cls);
void own_end(struct own_book *book, uint64_t job);

/* Borrowed until the next job begins; NULL when it never began. */
struct own *own_find(const struct own_book *book, uint64_t job);

/* What jobs of a class told of rates alone was off by this much: add it. */
void own_rebase(struct own_book *book, int cls, double by);

/* The key of a place: the classes beside it in any order. */
uint64_t own_key(int type, const int *others, int neighbours, bool spread);

struct own_place *own_place(struct own *own, uint64_t key); /* NULL: never was there */

/* The place, new if need be: then the one not seen for longest gives way. */
struct own_place *own_place_take(struct own *own, uint64_t key);

/* How windows in general behave: their noise, and how fast rates wander, as variance a
 * second. */
struct own_noise {
    double var, drift;
};

/* A window; true when a sudden change was found.  *surprise: its squared distance from
 * what the place's last windows said, scaled to the noise of one window, and *wander:
 * what of it noise does not explain; NaN both when there is nothing to compare. */
bool own_push(struct own_place *place, double value, double at_s,
              const struct own_noise *noise, double *surprise, double *wander);

/* The variance of a new window there. */
double own_window_var(const struct own_place *place, const struct own_noise *noise);

/* One place's evidence on a type: a deviation from the class and its variance, summed by
 * precision. */
struct own_evidence {
    double precision, weighted;
};

/* What sets a job apart on one type, from evidence on all (types of them): factors have
 * variance var, and correlate between types by rho. */
struct own_factor own_combine(const struct own_evidence *evidence, int type_count,
                              int type, double var, double rho);

/* For checkpoints: jobs and places whose classes are left out are left out too.  Reading
 * starts from an empty book. */
void own_book_write(const struct own_book *book, struct bytes_out *out);
void own_book_read(struct own_book *book, int class_count, struct bytes_in *in);

int own_type_count(const struct own_book *book);
const struct own *own_items(const struct own_book *book, size_t *count); /* borrowed */

/* Every job that is here, in no order that means anything; ends with NULL. */
const struct own *own_next(const struct own_book *book, const struct own *after);

#endif
