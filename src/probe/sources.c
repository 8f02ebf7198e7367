/* sources.c - which track of which source is the job's rate, see sources.h
 *
 * job_meter.c puts in what was heard of a job, one set of tracks for each source, and
 * asks for the rate when a report is due. */
#include "probe/sources.h"

#include "base/mem.h"
#include "probe/rate_series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Labels come from the job: more of them than this is noise, and the stalest goes. */
#define MAX_TRACKS 24
#define MAX_RANKS  64

/* Counts without a stated rate must have gone up so often before they are believed. */
static const int min_points[] = {[MATCH_PLAIN] = 4, [MATCH_SURE] = 3, [MATCH_TOLD] = 2};

struct rank {
    int id;
    struct rate_series series;
};

struct track {
    const struct work_unit *unit;
    enum match_role role;
    uint64_t label;
    bool stated;
    enum match_trust trust;
    double last_at_s;
    double first_epoch; /* NaN: none seen */
    struct rank *ranks; /* (rank_count) */
    int rank_count;
};

struct tracks {
    double window_s;
    struct track items[MAX_TRACKS];
    int count;
    int settled; /* the one answered with; -1: none */
};

struct tracks *tracks_create(double window_s)
{
    struct tracks *tracks = mem_new(struct tracks);

    tracks->window_s = window_s;
    tracks->settled = -1;
    return tracks;
}

void tracks_destroy(struct tracks *tracks)
{
    if (!tracks)
        return;
    for (int i = 0; i < tracks->count; i++)
        free(tracks->items[i].ranks);
    free(tracks);
}

static bool is_of(const struct track *track, const struct match_hit *hit)
{
    return track->unit == hit->unit && track->role == hit->role &&
           track->label == hit->label && track->stated == !isnan(hit->rate);
}

/* A bar says "?it/s" before it knows: the count belongs to the track that has rates. */
static struct track *find(struct tracks *tracks, const struct match_hit *hit)
{
    struct track *near = NULL;

    for (int i = 0; i < tracks->count; i++) {
        struct track *track = &tracks->items[i];

        if (is_of(track, hit))
            return track;
        if (track->unit == hit->unit && track->role == hit->role &&
            track->label == hit->label && track->stated)
            near = track;
    }
    return near;
}

static struct track *add(struct tracks *tracks, const struct match_hit *hit)
{
    int index = tracks->count;

    if (index == MAX_TRACKS) {
        index = tracks->settled == 0 ? 1 : 0;
        for (int i = index + 1; i < MAX_TRACKS; i++)
            if (i != tracks->settled &&
                tracks->items[i].last_at_s < tracks->items[index].last_at_s)
                index = i;
        free(tracks->items[index].ranks);
    } else {
        tracks->count++;
    }
    tracks->items[index] = (struct track){.unit = hit->unit,
                                          .role = hit->role,
                                          .label = hit->label,
                                          .stated = !isnan(hit->rate),
                                          .first_epoch = hit->epoch};
    return &tracks->items[index];
}

static struct rate_series *series_of(struct track *track, int rank, double window_s)
{
    for (int i = 0; i < track->rank_count; i++)
        if (track->ranks[i].id == rank)
            return &track->ranks[i].series;
    if (track->rank_count == MAX_RANKS)
        return NULL;
    track->ranks = mem_resize(track->ranks, (size_t)track->rank_count,
                              (size_t)track->rank_count + 1, sizeof(*track->ranks));
    track->ranks[track->rank_count].id = rank;
    rate_series_init(&track->ranks[track->rank_count].series, window_s);
    return &track->ranks[track->rank_count++].series;
}

/* Where lines name the epoch, its count goes on from the epochs before. */
static double epochs_before(const struct track *track, const struct match_hit *hit)
{
    if (isnan(hit->epoch) || isnan(hit->total) || !(hit->epoch > track->first_epoch))
        return 0;
    return (hit->epoch - track->first_epoch) * hit->total;
}

void tracks_hit(struct tracks *tracks, double at_s, const struct match_hit *hit)
{
    struct track *track;
    struct rate_series *series;

    if (hit->role == MATCH_PREPARATION)
        return;
    track = find(tracks, hit);
    if (!track)
        track = add(tracks, hit);
    series = series_of(track, hit->rank, tracks->window_s);
    if (!series)
        return;
    track->last_at_s = at_s;
    if (hit->trust > track->trust)
        track->trust = hit->trust;
    if (!isnan(hit->rate))
        rate_series_state(series, at_s, hit->rate);
    if (!isnan(hit->count))
        rate_series_count(series, at_s, hit->count + epochs_before(track, hit),
                          epochs_before(track, hit) > 0 ? NAN : hit->total);
}

void tracks_line(struct tracks *tracks, double at_s, const char *line, size_t length)
{
    struct match_hit hits[MATCH_MAX_HITS];
    int count = match_line(line, length, hits, MATCH_MAX_HITS);

    for (int i = 0; i < count; i++)
        tracks_hit(tracks, at_s, &hits[i]);
}

/* Ranks that went silent while others go on have ended. */
static bool is_gone(const struct track *track, const struct rate_series *series,
                    double window_s)
{
    return track->last_at_s - series->last_at_s >
           fmax(3 * window_s, 3 * series->longest_gap_s);
}

/* A daemon learns from one half on: a count that went up often enough gets there, an
 * evaluation never does. */
static double confidence_of(const struct track *track, bool counted)
{
    if (track->role == MATCH_EVALUATION)
        return 0.4;
    if (track->trust == MATCH_TOLD)
        return 1;
    if (track->stated)
        return counted ? 0.85 : 0.75;
    return track->trust == MATCH_SURE ? 0.7 : 0.6;
}

/* Steps are done by all ranks together, items by each on its own. */
static bool combine(const struct track *track, double now_s, double window_s,
                    bool from_zero, struct tracks_rate *rate)
{
    bool sum = track->unit->class == UNIT_ITEM;
    int points = 0;

    *rate = (struct tracks_rate){
        .unit = track->unit, .done = NAN, .overall = NAN, .last_at_s = track->last_at_s};
    for (int i = 0; i < track->rank_count; i++) {
        const struct rate_series *series = &track->ranks[i].series;
        struct rate_series_rate one;
        double done = rate_series_done(series, from_zero),
               overall = rate_series_overall(series);

        if (is_gone(track, series, window_s) ||
            !rate_series_rate(series, now_s, window_s, &one))
            continue;
        rate->rate = sum ? rate->rate + one.rate : fmax(rate->rate, one.rate);
        rate->span_s = fmax(rate->span_s, one.span_s);
        rate->counted |= one.counted;
        rate->done = sum && i > 0 ? rate->done + done : fmax(rate->done, done);
        rate->overall =
            sum && i > 0 ? rate->overall + overall : fmax(rate->overall, overall);
        points = points > one.points ? points : one.points;
    }
    if (points == 0)
        return false;
    if (!track->stated && points < min_points[track->trust])
        return false;
    rate->confidence = confidence_of(track, rate->counted) * points / (points + 1);
    return true;
}

/* Smaller is better. */
static int order_of(const struct track *track)
{
    return 100 * (track->role != MATCH_MAIN) + 40 * !track->stated +
           10 * (int)track->unit->class + 5 * (track->trust == MATCH_PLAIN);
}

/* Of two bars that nest, the inner one is faster. */
static bool is_better(const struct track *a, const struct tracks_rate *a_rate,
                      const struct track *b, const struct tracks_rate *b_rate)
{
    if (order_of(a) != order_of(b))
        return order_of(a) < order_of(b);
    return a_rate->rate > b_rate->rate;
}

static bool is_live(const struct tracks *tracks, const struct track *track, double now_s)
{
    double longest_s = 0;

    for (int i = 0; i < track->rank_count; i++)
        longest_s = fmax(longest_s, track->ranks[i].series.longest_gap_s);
    return now_s - track->last_at_s <= fmax(3 * tracks->window_s, 3 * longest_s);
}

bool tracks_rate(struct tracks *tracks, double now_s, bool from_zero,
                 struct tracks_rate *rate)
{
    struct tracks_rate one, best_rate = {0};
    int best = -1;

    for (int i = 0; i < tracks->count; i++) {
        const struct track *track = &tracks->items[i];

        if (!is_live(tracks, track, now_s) ||
            !combine(track, now_s, tracks->window_s, from_zero, &one))
            continue;
        if (best < 0 || is_better(track, &one, &tracks->items[best], &best_rate)) {
            best = i;
            best_rate = one;
        }
    }
    if (best < 0 && tracks->settled >= 0 && /* silent: better what it was than another */
        combine(&tracks->items[tracks->settled], now_s, tracks->window_s, from_zero,
                &best_rate))
        best = tracks->settled;
    if (best < 0)
        return false;
    tracks->settled = best;
    *rate = best_rate;
    rate->live = is_live(tracks, &tracks->items[best], now_s);
    return true;
}

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

/* A first attempt counts from 0; only a server's counter may have run before it. */
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
