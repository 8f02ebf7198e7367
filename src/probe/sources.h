/* sources.h - the rates a job tells, followed over time, and which of them is its rate
 *
 * A log tells several rates: nested bars, validation between epochs, samples and steps,
 * one of each for every rank.  Hits of the same kind and label make a track; the best
 * track is the rate of its source, and stays it as long as it goes on.
 *
 * Heartbeat, metrics, log, progress file and how busy the job is are sources: each may
 * speak or not, and rates of two of them need not be of the same thing.  The best source
 * that speaks is used; a worse one takes over only after a long silence.  Activity is
 * used only for a job that never said anything. */
#ifndef CORGI_PROBE_SOURCES_H
#define CORGI_PROBE_SOURCES_H

#include "probe/match.h"
#include "probe/probe_report.h"

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

struct sources;

struct sources_rate {
    enum probe_source source;
    double rate;
    double window_s;
    double steps; /* since this attempt began; NaN: not counted */
    double overall;
    double confidence;
};

/* attempt: a first one counts from 0; a later one goes on from a checkpoint, so only what
 * is added counts. */
struct sources *sources_create(double window_s, int attempt, double now_s);
void sources_destroy(struct sources *sources); /* NULL is fine */

/* Borrowed, to put evidence in. */
struct tracks *sources_tracks(struct sources *sources, enum probe_source source);
/* Likewise, but owned by another (a scraper); it must live as long. */
void sources_use(struct sources *sources, enum probe_source source,
                 struct tracks *tracks);

/* Has nothing better been heard so far?  Looking at all processes is not free. */
bool sources_wants_activity(const struct sources *sources);

/* The rate of now; false when there is none, or nothing new since the last time it was
 * asked with `fresh`. */
bool sources_rate(struct sources *sources, double now_s, bool fresh,
                  struct sources_rate *rate);

#endif
