/* tracks.h - the rates one source tells, followed over time
 *
 * A log tells several rates: nested bars, validation between epochs, samples and steps,
 * one of each for every rank.  Hits of the same kind and label make a track; the best
 * track is the rate of its source, and stays it as long as it goes on. */
#pragma once

#include "probe/match.h"

#include <stdbool.h>

/* What one source tells. */
struct tracks;

struct tracks_rate {
    double rate;
    double span_s;     /* 0: as the job states it */
    double confidence; /* 0..1 */
    double done;       /* counted since the beginning; NaN: not counted */
    double overall;    /* rate over the whole run; NaN: not known */
    double last_at_s;  /* of the newest evidence */
    const struct work_unit *unit;
    bool counted;
    bool live; /* not silent for much longer than it usually is */
};

struct tracks *tracks_create(double window_s);
void tracks_destroy(struct tracks *tracks); /* NULL is fine */

void tracks_line(struct tracks *tracks, double at_s, const char *line, size_t length);
void tracks_hit(struct tracks *tracks, double at_s, const struct match_hit *hit);

/* False: nothing (yet) that would be a rate.  from_zero: what is counted began at 0, so
 * all of it is this run's. */
bool tracks_rate(struct tracks *tracks, double now_s, bool from_zero,
                 struct tracks_rate *rate);
