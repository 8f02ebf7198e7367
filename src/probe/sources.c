/* sources.c - see sources.h */
#include "probe/sources.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

/* A job may need a while before it says something; until then its processor time would be
 * taken for its rate. */
#define ACTIVITY_AFTER_WINDOWS 3

static const double trust[PROBE_SOURCE_COUNT] = {
    [PROBE_HEARTBEAT] = 0.98, [PROBE_PROMETHEUS] = 0.95, [PROBE_LOG] = 1,
    [PROBE_PROGRESS] = 0.9,   [PROBE_ACTIVITY] = 0.15,
};

struct sources {
    double window_s;
    double started_s;
    bool from_zero;
    enum probe_source settled;
    double told_s; /* newest evidence that was answered with */
    struct tracks *tracks[PROBE_SOURCE_COUNT];
    bool owned[PROBE_SOURCE_COUNT];
};

struct sources *sources_create(double window_s, int attempt, double now_s)
{
    struct sources *sources = mem_new(struct sources);

    sources->window_s = window_s;
    sources->started_s = now_s;
    sources->from_zero = attempt <= 1;
    sources->told_s = -1;
    for (int i = PROBE_HEARTBEAT; i < PROBE_SOURCE_COUNT; i++) {
        sources->tracks[i] = tracks_create(window_s);
        sources->owned[i] = true;
    }
    return sources;
}

void sources_destroy(struct sources *sources)
{
    if (!sources)
        return;
    for (int i = 0; i < PROBE_SOURCE_COUNT; i++)
        if (sources->owned[i])
            tracks_destroy(sources->tracks[i]);
    free(sources);
}

struct tracks *sources_tracks(struct sources *sources, enum probe_source source)
{
    return sources->tracks[source];
}

void sources_use(struct sources *sources, enum probe_source source, struct tracks *tracks)
{
    if (sources->owned[source])
        tracks_destroy(sources->tracks[source]);
    sources->tracks[source] = tracks;
    sources->owned[source] = false;
}

bool sources_wants_activity(const struct sources *sources)
{
    return sources->settled == PROBE_NO_SOURCE || sources->settled == PROBE_ACTIVITY;
}

static bool may_use(const struct sources *sources, enum probe_source source, double now_s)
{
    if (source != PROBE_ACTIVITY)
        return true;
    return sources_wants_activity(sources) &&
           now_s - sources->started_s >= ACTIVITY_AFTER_WINDOWS * sources->window_s;
}

/* What counts from 0 with the job; a server's counter may have run before. */
static bool ask(struct sources *sources, enum probe_source source, double now_s,
                struct tracks_rate *rate)
{
    bool from_zero = sources->from_zero && source != PROBE_PROMETHEUS;

    return may_use(sources, source, now_s) &&
           tracks_rate(sources->tracks[source], now_s, from_zero, rate);
}

static enum probe_source choose(struct sources *sources, double now_s,
                                struct tracks_rate *rate)
{
    for (int i = PROBE_HEARTBEAT; i < PROBE_SOURCE_COUNT; i++)
        if (ask(sources, (enum probe_source)i, now_s, rate) && rate->live)
            return (enum probe_source)i;
    if (sources->settled != PROBE_NO_SOURCE &&
        ask(sources, sources->settled, now_s, rate))
        return sources->settled;
    return PROBE_NO_SOURCE;
}

bool sources_rate(struct sources *sources, double now_s, bool fresh,
                  struct sources_rate *rate)
{
    struct tracks_rate found;
    enum probe_source source = choose(sources, now_s, &found);

    if (source == PROBE_NO_SOURCE)
        return false;
    sources->settled = source;
    /* A count that stands still is news too; a rate nobody repeats is not. */
    if (fresh && !found.counted && found.last_at_s <= sources->told_s)
        return false;
    if (fresh)
        sources->told_s = found.last_at_s;
    *rate = (struct sources_rate){
        .source = source,
        .rate = found.rate,
        .window_s = found.counted ? found.span_s
                                  : fmin(sources->window_s, now_s - sources->started_s),
        .steps = source == PROBE_ACTIVITY ? NAN : found.done,
        .overall = found.overall,
        .confidence = trust[source] * found.confidence,
    };
    return true;
}
