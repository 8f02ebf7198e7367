/* tally.h - what jobs say of one cell, each job once, each user with one voice
 *
 * A job's word takes the place of what it said before.  A user's voice is the mean over
 * the newest of their jobs; of several users the median of their voices counts, so that
 * the result lies between what was said and no user moves it beyond the others.  */
#pragma once

#include "base/vec.h"
#include "model/codec.h"

/* Jobs a tally remembers, of one user and of all: newer words push older ones out, of
 * whoever has most. */
#define TALLY_OF_USER 8
#define TALLY_WORDS   24

struct tally_word {
    int owner;
    uint64_t job;
    double value, var; /* of which var is not known */
};

struct tally {
    vec_of(struct tally_word) words; /* the one told last is last */
    double mean, var;                /* var: what one of them does not know */
    int users;
    double pushed; /* what others were told of it; NaN: nothing */
    bool inferred; /* from runs beside others: gives way to a real one */
};

#define TALLY_EMPTY ((struct tally){.pushed = NAN})

void tally_fini(struct tally *tally);

/* A job says this now.  changed: it changed suddenly, so what other jobs of its user said
 * before counts no more; those that still run say it again. */
void tally_take(struct tally *tally, const struct tally_word *word, bool changed);

/* Everything that was said was off by this much: add it. */
void tally_shift(struct tally *tally, double by);

/* Nothing was said any more; what others were told stays. */
void tally_clear(struct tally *tally);

/* The voice of one user: over how many jobs, 0: none. */
int tally_voice(const struct tally *tally, int owner, double *mean);

void tally_code(struct tally *tally, struct codec *c);
