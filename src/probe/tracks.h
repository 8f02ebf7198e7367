/* tracks.h - the rates one source tells, followed over time
 *
 * A log tells several rates: nested bars, validation between epochs, samples and steps,
 * one of each for every rank.  Hits of the same kind and label make a track; the best
 * track is the rate of its source, and stays it as long as it goes on. */
#ifndef CORGI_PROBE_TRACKS_H
#define CORGI_PROBE_TRACKS_H

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

/* ---- one thing that is counted or stated ------------------------------------------- */

/* Counts are worth more than stated rates: what was done over a span is exact however
 * the output was buffered, as long as the span ends where bursts end.  So points close
 * together melt into the last of them, and a span is stretched beyond the window where
 * output is rarer than that.  Stated rates are answered with their median. */
#define RATE_SERIES_POINTS 64

struct rate_series_point {
    double at_s;
    double value;
};

struct rate_series_ring {
    struct rate_series_point points[RATE_SERIES_POINTS];
    int first, count;
};

struct rate_series {
    double spacing_s; /* points nearer than this melt into one */
    struct rate_series_ring counts;
    struct rate_series_ring stated;
    double offset;    /* what was counted before the count began again */
    double last_raw;  /* as the job said it; NaN: nothing yet */
    double first_raw; /* likewise, the very first */
    double first_at_s;
    double last_at_s;     /* of the newest count or rate; NaN: nothing yet */
    double last_up_s;     /* when the count last went up */
    double longest_gap_s; /* between counts that went up, of late */
};

struct rate_series_rate {
    double rate;
    double span_s; /* what it was taken over; 0: stated by the job */
    bool counted;
    int points;
};

/* window_s: what rate_series_rate() will usually be asked for. */
void rate_series_init(struct rate_series *series, double window_s);

/* total: the count begins again after it; NaN: not known.  Counts that go back a little
 * are late ones of another process and are left out; far back means it began again. */
void rate_series_count(struct rate_series *series, double at_s, double count,
                       double total);
void rate_series_state(struct rate_series *series, double at_s, double rate);

/* False: nothing can be said yet.  A count that stands still for much longer than usual
 * pulls the rate down. */
bool rate_series_rate(const struct rate_series *series, double now_s, double window_s,
                      struct rate_series_rate *rate);

/* All that was counted: from 0 on, or from the first count on.  NaN: no counts. */
double rate_series_done(const struct rate_series *series, bool from_zero);

/* Over everything that was ever counted; NaN: not enough of it. */
double rate_series_overall(const struct rate_series *series);

#endif
