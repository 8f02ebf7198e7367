/* reference_private.h - what the files of reference.h share */
#pragma once

#include "lab/bench/reference.h"
#include "lab/solver/lp.h"
#include "lab/solver/work.h"

/* A column that stands for a device with jobs on it; type -1: it does not. */
struct reference_column {
    int type;
    int jobs[2];
};

struct reference {
    const struct problem *p;
    struct work w;
    struct lp *lp;
    struct reference_column *columns; /* (capacity) by column of the LP */
    int count, capacity;
    double limit_s;
    struct solution *out;
    struct reference_result *result;
};

/* Add a column and remember what it stands for. */
void reference_add(struct reference *r, double cost, double high, int rows,
                   const int *index, const double *value, int type, int i, int j);

/* Strong form: rows (types), then one a job; unserved columns are there already. */
void reference_strong_rows(struct reference *r);
void reference_strong_column(struct reference *r, int type, int i, int j);

/* Put devices of the columns that are at one (or counts) into out; the rest unserved. */
void reference_plan(struct reference *r, const double *values);

void reference_brute(struct reference *r);
void reference_cbc(struct reference *r);
void reference_paper(struct reference *r);
void reference_colgen(struct reference *r);
void reference_gavel(struct reference *r);
void reference_exact(struct reference *r);
