/* tracks.c - the rate of one source of a job: series, tracks of them, the best track
 *
 * job_meter.c puts in what was heard, one set of tracks for each source, and asks for the
 * rate when a report is due; scrape.c adds the counters of a metrics page. */
#include "probe/tracks.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- one thing that is counted or stated ------------------------------------------- */

/* Counts are worth more than stated rates: what was done over a span is exact however
 * the output was buffered, as long as the span ends where bursts end.  So points close
 * together melt into the last of them, and a span is stretched beyond the window where
 * output is rarer than that.  Stated rates are answered with their median. */
#define SERIES_POINTS 64

struct rate_series_point {
    double at_s;
    double value;
};

struct rate_series_ring {
    struct rate_series_point points[SERIES_POINTS];
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

/* A window holds about so many points. */
#define POINTS_PER_WINDOW 30

/* A count that goes back no further than this is late, however small it is. */
#define LATE_STEPS 2

static void series_init(struct rate_series *series, double window_s)
{
    memset(series, 0, sizeof(*series));
    series->spacing_s = window_s / POINTS_PER_WINDOW;
    series->last_raw = series->first_raw = NAN;
    series->first_at_s = series->last_at_s = series->last_up_s = NAN;
}

static const struct rate_series_point *point(const struct rate_series_ring *ring,
                                             int index)
{
    return &ring->points[(ring->first + index) % SERIES_POINTS];
}

/* The newest point moves on until it is far enough from the one before it. */
static void push(struct rate_series_ring *ring, double at_s, double value,
                 double spacing_s)
{
    if (ring->count >= 2 && at_s - point(ring, ring->count - 2)->at_s < spacing_s) {
        ring->count--;
    } else if (ring->count == SERIES_POINTS) {
        ring->first = (ring->first + 1) % SERIES_POINTS;
        ring->count--;
    }
    ring->points[(ring->first + ring->count++) % SERIES_POINTS] =
        (struct rate_series_point){at_s, value};
}

/* False: this count is to be left out. */
static bool take_raw(struct rate_series *series, double count, double total)
{
    double last = series->last_raw;

    if (isnan(last)) {
        series->first_raw = count;
    } else if (count < last) {
        bool wrapped = !isnan(total) && count < total && last > total / 2;

        if (!wrapped && (count > last / 2 || last - count <= LATE_STEPS))
            return false;
        if (series->counts.count == 1) { /* "total steps 9375": it never was a count */
            series->counts.count = 0;
            series->first_raw = count;
        } else {
            series->offset += wrapped && last <= total ? total : last;
        }
    }
    series->last_raw = count;
    return true;
}

/* The longest of late: a longer one at once, shorter ones bring it down slowly. */
static void note_gap(struct rate_series *series, double gap_s)
{
    if (gap_s > series->longest_gap_s)
        series->longest_gap_s = gap_s;
    else if (gap_s > series->spacing_s)
        series->longest_gap_s += 0.1 * (gap_s - series->longest_gap_s);
}

/* total: the count begins again after it; NaN: not known.  Counts that go back a little
 * are late ones of another process and are left out; far back means it began again. */
static void series_count(struct rate_series *series, double at_s, double count,
                         double total)
{
    double before = series->offset + series->last_raw;

    if (!isfinite(count) || count < 0 || !take_raw(series, count, total))
        return;
    if (isnan(series->first_at_s))
        series->first_at_s = at_s;
    series->last_at_s = at_s;
    /* Said again is no point: spans end where the count went up, so that slow counts are
     * not rounded to the window. */
    if (series->offset + count == before)
        return;
    if (!isnan(series->last_up_s))
        note_gap(series, at_s - series->last_up_s);
    series->last_up_s = at_s;
    push(&series->counts, at_s, series->offset + count, series->spacing_s);
}

static void series_state(struct rate_series *series, double at_s, double rate)
{
    if (!isfinite(rate) || rate < 0)
        return;
    if (isnan(series->first_at_s))
        series->first_at_s = at_s;
    if (isnan(series->last_raw))
        series->last_at_s = at_s;
    push(&series->stated, at_s, rate, series->spacing_s);
}

/* The newest count that is a window old, else the oldest; always before the last. */
static int reference(const struct rate_series_ring *ring, double from_s)
{
    int index = ring->count - 2;

    while (index > 0 && point(ring, index)->at_s > from_s)
        index--;
    return index;
}

static bool counted_rate(const struct rate_series *series, double now_s, double window_s,
                         struct rate_series_rate *rate)
{
    const struct rate_series_ring *ring = &series->counts;
    const struct rate_series_point *last, *from;
    double end_s, quiet_s;

    if (ring->count < 2)
        return false;
    last = point(ring, ring->count - 1);
    from = point(ring, reference(ring, now_s - window_s));
    quiet_s = now_s - last->at_s;
    end_s =
        quiet_s > window_s && quiet_s > 3 * series->longest_gap_s ? now_s : last->at_s;
    if (end_s - from->at_s < window_s / 4)
        return false;
    rate->span_s = end_s - from->at_s;
    rate->rate = (last->value - from->value) / rate->span_s;
    rate->counted = true;
    rate->points = ring->count;
    return true;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static bool stated_rate(const struct rate_series *series, double now_s, double window_s,
                        struct rate_series_rate *rate)
{
    const struct rate_series_ring *ring = &series->stated;
    double values[SERIES_POINTS];
    int count = 0;

    for (int i = ring->count - 1; i >= 0; i--) {
        if (count > 0 && point(ring, i)->at_s < now_s - window_s)
            break;
        values[count++] = point(ring, i)->value;
    }
    if (count == 0)
        return false;
    qsort(values, (size_t)count, sizeof(values[0]), compare_doubles);
    rate->rate =
        count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
    rate->span_s = 0;
    rate->counted = false;
    rate->points = count;
    return true;
}

/* False: nothing can be said yet.  A count that stands still for much longer than usual
 * pulls the rate down. */
static bool series_rate(const struct rate_series *series, double now_s, double window_s,
                        struct rate_series_rate *rate)
{
    struct rate_series_rate stated = {0};
    bool has_stated = stated_rate(series, now_s, window_s, &stated);

    /* Two points may be the two ends of one burst; a stated rate knows better. */
    if (counted_rate(series, now_s, window_s, rate) && (!has_stated || rate->points >= 3))
        return true;
    *rate = stated;
    return has_stated;
}

/* All that was counted: from 0 on, or from the first count on.  NaN: no counts. */
static double series_done(const struct rate_series *series, bool from_zero)
{
    if (isnan(series->last_raw))
        return NAN;
    return series->offset + series->last_raw - (from_zero ? 0 : series->first_raw);
}

/* Over everything that was ever counted; NaN: not enough of it. */
static double series_overall(const struct rate_series *series)
{
    double span_s = series->last_at_s - series->first_at_s;

    if (isnan(series->last_raw) || !(span_s > 0))
        return NAN;
    return series_done(series, false) / span_s;
}

/* ---- tracks ------------------------------------------------------------------------ */

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

/* A bar says "?it/s" before it knows: the count belongs to the track that has rates. */
static struct track *find(struct tracks *tracks, const struct match_hit *hit)
{
    struct track *near = NULL;

    for (int i = 0; i < tracks->count; i++) {
        struct track *track = &tracks->items[i];

        if (track->unit != hit->unit || track->role != hit->role ||
            track->label != hit->label)
            continue;
        if (track->stated == !isnan(hit->rate))
            return track;
        if (track->stated)
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
    series_init(&track->ranks[track->rank_count].series, window_s);
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
        series_state(series, at_s, hit->rate);
    if (!isnan(hit->count))
        series_count(series, at_s, hit->count + epochs_before(track, hit),
                     epochs_before(track, hit) > 0 ? NAN : hit->total);
}

void tracks_line(struct tracks *tracks, double at_s, const char *line, size_t length)
{
    struct match_hit hits[MATCH_MAX_HITS];
    int count = match_line(line, length, hits);

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
        double done = series_done(series, from_zero), overall = series_overall(series);

        if (is_gone(track, series, window_s) ||
            !series_rate(series, now_s, window_s, &one))
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
