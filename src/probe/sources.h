/* sources.h - which of the job's voices is heard
 *
 * Heartbeat, metrics, log, progress file, and how busy it is: each may speak
 * or not, and rates of two of them need not be of the same thing.  The best that speaks
 * is used; a worse one only takes over when it has fallen silent for long.  Activity is
 * used only for a job that never said anything. */
#ifndef CORGI_PROBE_SOURCES_H
#define CORGI_PROBE_SOURCES_H

#include "probe/probe_report.h"
#include "probe/tracks.h"

#include <stdbool.h>

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
