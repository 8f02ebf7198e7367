/* match.h - what one line of a job's output says about its progress
 *
 * Frameworks print rates ("12.5it/s", "80 ms/step", "samples/sec: 410") and counts ("step
 * 120/1000", "Epoch: [3][ 40/5005]").  A line gives any number of hits; tracks.h follows
 * them over time and finds the one that is the job's rate.  Nothing is kept from line to
 * line here. */
#pragma once

#include "probe/units.h"

#include <stddef.h>
#include <stdint.h>

#define MATCH_MAX_HITS 12

enum match_role {
    MATCH_MAIN,
    MATCH_EVALUATION,  /* validation and tests between the steps: only when there is no
                          other */
    MATCH_PREPARATION, /* downloads, tokenizing, loading: never the job's rate */
};

/* How far a count is believed to be one of work done. */
enum match_trust {
    MATCH_PLAIN, /* a number that goes up */
    MATCH_SURE,  /* in a line that is about training: it has a loss, an eta */
    MATCH_TOLD,  /* the job told us on purpose */
};

struct match_hit {
    const struct work_unit *unit;
    enum match_role role;
    uint64_t label; /* of the bar or the key, without digits: tells series apart */
    int rank;       /* -1: the line names none */
    double rate;    /* as stated; NaN: only a count */
    double count;   /* NaN: only a rate */
    double total;   /* of this count; NaN: not told */
    double epoch;   /* the count begins again with each; NaN: not told */
    enum match_trust trust;
};

/* A hit that the job told on purpose: nothing but its unit is known yet. */
struct match_hit match_told(const struct work_unit *unit);

/* Hits in the order of the line, at most MATCH_MAX_HITS; returns how many. */
int match_line(const char *line, size_t length, struct match_hit *hits);
