/* rate_series.c - the rate of one counted or stated thing, see rate_series.h
 *
 * sources.c keeps one series for each rank of each track. */
#include "probe/rate_series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A window holds about so many points. */
#define POINTS_PER_WINDOW 30

/* A count that goes back no further than this is late, however small it is. */
#define LATE_STEPS 2

void rate_series_init(struct rate_series *series, double window_s)
{
    memset(series, 0, sizeof(*series));
    series->spacing_s = window_s / POINTS_PER_WINDOW;
    series->last_raw = series->first_raw = NAN;
    series->first_at_s = series->last_at_s = series->last_up_s = NAN;
}

static struct rate_series_point *point(struct rate_series_ring *ring, int index)
{
    return &ring->points[(ring->first + index) % RATE_SERIES_POINTS];
}

static const struct rate_series_point *const_point(const struct rate_series_ring *ring,
                                                   int index)
{
    return &ring->points[(ring->first + index) % RATE_SERIES_POINTS];
}

/* The newest point moves on until it is far enough from the one before it. */
static void push(struct rate_series_ring *ring, double at_s, double value,
                 double spacing_s)
{
    int n = ring->count;

    if (n >= 2 && at_s - point(ring, n - 2)->at_s < spacing_s) {
        *point(ring, n - 1) = (struct rate_series_point){at_s, value};
        return;
    }
    if (n == RATE_SERIES_POINTS) {
        ring->first = (ring->first + 1) % RATE_SERIES_POINTS;
        n--;
    }
    ring->count = n + 1;
    *point(ring, n) = (struct rate_series_point){at_s, value};
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

void rate_series_count(struct rate_series *series, double at_s, double count,
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

void rate_series_state(struct rate_series *series, double at_s, double rate)
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

    while (index > 0 && const_point(ring, index)->at_s > from_s)
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
    last = const_point(ring, ring->count - 1);
    from = const_point(ring, reference(ring, now_s - window_s));
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
    double values[RATE_SERIES_POINTS];
    int count = 0;

    for (int i = ring->count - 1; i >= 0; i--) {
        if (count > 0 && const_point(ring, i)->at_s < now_s - window_s)
            break;
        values[count++] = const_point(ring, i)->value;
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

bool rate_series_rate(const struct rate_series *series, double now_s, double window_s,
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

double rate_series_done(const struct rate_series *series, bool from_zero)
{
    if (isnan(series->last_raw))
        return NAN;
    return series->offset + series->last_raw - (from_zero ? 0 : series->first_raw);
}

double rate_series_overall(const struct rate_series *series)
{
    double span_s = series->last_at_s - series->first_at_s;

    if (isnan(series->last_raw) || !(span_s > 0))
        return NAN;
    return rate_series_done(series, false) / span_s;
}
