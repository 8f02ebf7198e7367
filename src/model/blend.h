/* blend.h - one belief from what several experts say of a cell
 *
 * Who is believed how much is a table by what the cell is: the job's own speed or its
 * effect, how many measurements of the job there are, and whether a job of its family is
 * known.  The weights are round numbers that held on synthetic worlds and on measured
 * tables alike; choosing them again inside a catalogue of few families earned nothing
 * (docs/decisions/estimator-blend.md).  Widths of intervals are chosen there (lessons).
 */
#pragma once

#include "model/codec.h"
#include "model/pair_view.h"

enum blend_expert {
    BLEND_CORE,    /* the correlation core (gp.h) */
    BLEND_ROWS,    /* rows alike by rates, corrected by measurements (pair_experts.h) */
    BLEND_NETWORK, /* P1 or P2 */
    BLEND_COLUMN,  /* what others do there */
    BLEND_NEAREST, /* the nearest known jobs */
    BLEND_EXPERTS
};

struct blend_belief {
    double mean, sd;
};

struct blend_said {
    struct blend_belief by[BLEND_EXPERTS];
};

/* What a cell is. */
struct blend_place {
    enum pair_kind kind;
    int measured; /* measurements of the job beside others */
    bool sibling;
    double below; /* pair_moments_below() of the job, 1: nothing odd */
};

struct blend_weights {
    double of[BLEND_EXPERTS]; /* 1 together */
};

/* without: bits of experts that are left out; the others share their weight. */
struct blend_weights blend_weights_at(const struct blend_place *at, unsigned without);

/* Relative error punishes a guess above the truth more: the best point lies below the
 * mean of the log by a share of the variance, up to a variance. */
struct blend_shift {
    double share, var_max;
};
struct blend_shift blend_shift_at(const struct blend_place *at);

/* mean is the point with the least relative error. */
struct blend_belief blend_mix(const struct blend_said *said,
                              const struct blend_weights *weights,
                              struct blend_shift shift);

/* ------------------------------------------------------------------------------------ */

/* Intervals whose stated 90 % is 90 %
 *
 * Half of one in units of sd, by what the cell is, from games played inside the catalogue
 * in which parts that had not seen it said something of it. */

#define BLEND_COUNTS 4 /* widths are kept for these numbers of measurements */
extern const int blend_counts[BLEND_COUNTS];

struct blend_widths {
    double half[PAIR_KINDS][BLEND_COUNTS][2]; /* then: a sibling is known */
};

struct blend_widths blend_widths_default(void);
double blend_width_at(const struct blend_widths *widths, const struct blend_place *at);
void blend_widths_code(struct blend_widths *widths, struct codec *c);

/* Of one game: |truth - mean| / sd, and whose family it was. */
struct blend_miss {
    double error;
    int family; /* what was held out together */
};

/* The width that holds 90 % for a family never seen, of cells of this place.  Sorts the
 * misses. */
double blend_width_choose(struct blend_miss *misses, size_t count,
                          const struct blend_place *at);
