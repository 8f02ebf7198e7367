/* partners.h - whom a task would go best with, out of many
 *
 * Holds tasks side by side in memory, a class after the other, with what each is worth,
 * and finds those that cost least beyond it beside a given one.  Shared by candidates and
 * near. */
#pragma once

#include "lab/solver/work.h"

struct partners_prospect;

/* Column y of the arrays is the task members[y]; only those that may share are here. */
struct partners {
    const struct work *w;
    int count, room;
    int *members; /* (room) sorted by class */
    int *run;     /* (classes + 1) where each class starts */
    float *drag;  /* (room) */
    float *thr;   /* (types, room) INFINITY where it cannot share */
    float *pi;    /* (room) worth; may be changed between searches */
    float *moves; /* (3, types, room) charge by state of the other: new, on it, off it */
    float *cost;  /* (room) of the pair with the task at hand */
    bool sorted;  /* classes are looked at in order of what they could offer */
    struct partners_prospect **prospects; /* (classes) NULL: not needed so far */
    int *prospect_count;                  /* (classes) -1: not known */
    int *seen;                            /* (classes) who looked at it last */
};

struct partners_one {
    float reduced; /* cost of the pair, price included, less the worth of the other */
    int at;        /* column */
};

/* In w's arena, which must not be released below it while it is in use. */
void partners_init(struct partners *b, const struct work *w, int room);

/* Every stride-th task of an order as work_order() has it, from the first on; their worth
 * is w's pi. */
void partners_load(struct partners *b, const int *order, int first, int stride);

/* The tasks of least reduced cost beside the one in column x; returns how many, in no
 * order.  Where worth rose since the load some may be missed. */
int partners_find(struct partners *b, int x, int most, struct partners_one *best);
