/* classes_state.h - the inside of struct classes, for classes*.c only */
#ifndef CORGI_LOOP_MODEL_CLASSES_STATE_H
#define CORGI_LOOP_MODEL_CLASSES_STATE_H

#include "base/map.h"
#include "base/vec.h"
#include "loop/estimate/footprint.h"
#include "loop/estimate/carry_evidence.h"
#include "loop/model/classes.h"
#include "loop/refine/pairs.h"

struct tally {        /* what the jobs of a class say of one cell */
    double mean, var; /* var: what one of them does not know */
    double jobs;      /* fading */
    double pushed;    /* what the core was told; NaN: nothing */
    bool inferred;    /* from runs beside others: gives way to a real one */
};

struct gang {
    struct class_gang gang;
    struct tally tally;
};

struct beside {
    struct cell cell;
    struct tally tally;
};

struct kept_alone {
    struct class_guess guess;
    uint64_t version, news;
};

struct kept_watts {
    struct watts_guess guess;
    uint64_t news;
    bool valid;
};

struct row {                     /* answers for one class beside all others */
    struct pairs_guess *guesses; /* (capacity, types) */
    double *core_sd;             /* (capacity, types) */
    int width, capacity;         /* classes answered for */
    double told_widths; /* cells of this class when widths were made; -1: never */
    double news;        /* since it was made, of this class */
    uint64_t all_news, adapted;
};

struct class_state {
    int here;
    double told; /* cells of pairs it is part of */
    uint64_t version;
    double fits_best; /* chance of fitting alone on the type where it is best */
    bool fits_known;  /* the chance is up to date */
    struct row row;
};

struct classes {
    int type_count;
    uint64_t seed;
    struct gpu_sheet *types; /* (type_count) */
    struct rates *rates;
    struct carry_evidence carry; /* what carrying rates over was worth here */
    struct pairs *pairs;
    struct footprint *footprint;
    struct watts *watts;
    vec_of(struct class_state) states;
    vec_of(struct tally) alone;      /* (classes, types) */
    vec_of(struct kept_alone) kept;  /* (classes, types) */
    vec_of(struct kept_watts) drawn; /* (classes, types) */
    struct map *beside_index;        /* cell -> beside */
    vec_of(struct beside) beside;
    struct map *gang_index; /* class, type, devices, spread -> gangs */
    vec_of(struct gang) gangs;
    uint64_t alone_news, alone_cells, watts_news, watts_cells, pair_news, adapted;
};

/* Room for one more class in what is kept here; the parts get it from their users. */
void classes_push(struct classes *classes);

uint64_t classes_cell_key(struct cell cell);
uint64_t classes_gang_key(const struct class_gang *gang);

static inline struct tally *classes_tally(struct classes *c, int cls, int type)
{
    return &c->alone.items[(size_t)cls * (size_t)c->type_count + (size_t)type];
}

#endif
