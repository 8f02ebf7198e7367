/* services.c - recent_rate.c notes each window of a service and asks what it can do; the
 * model gets that through record.c, promises and mends ask whether it keeps up */
#include "model/services.h"

#include <math.h>

/* A window loses this much of its weight with each that comes after it. */
#define FADING      0.85
#define WORK_FADING 0.95

/* Beyond its counting noise so much of a shortage is forgiven. */
#define LACK_SHARE 0.02
#define LACK_SDS   2.5

/* One at a time: no more workers at work than requests inside.  Probes are not exact. */
#define INSIDE_FACTOR 1.5
#define INSIDE_SLACK  0.1
/* Devices that hardly rest let requests wait, and some far longer than most. */
#define BUSY_FULL    0.85
#define SPREAD_LEAST 2.5
/* One sign may be an accident; no more than so many are remembered. */
#define SIGNS 3.0

/* Answers that come later than at light load by so much: a server that batches is near
 * its capacity. */
#define LATE_FACTOR 2.5
/* Answers so much later, and by the length of the window, are those of a queue that
 * grows; devices that work on one at a time do not rest then. */
#define LATE_FAR    8.0
#define LATE_WINDOW 1.0
#define LATE_BUSY   0.95

/* Errors of the log capacity: of a busy share, in its own unit and of its value; of the
 * line from a low load to the full one; of what is answered at the full one. */
#define BUSY_STEP     0.005
#define BUSY_NOISE    0.05
#define LINE_SD       0.25
#define LEAST_SD      0.03
#define FULL_SD       0.06
#define NEAR_FULL     1.08
#define NEAR_FULL_SD  0.12
#define COUNTED_LEAST 5.0
/* Of what an answer costs on cores: caches, clocks and threads are shared with all that
 * the machine does. */
#define SHARED_SD 0.12
/* Of the requests it would answer one after the other so many are relied on. */
#define FLOOR_SHARE 0.7

static double counting_sd(double requests)
{
    return sqrt(fmax(requests, 1));
}

bool services_answers(double answered, double asked, double window_s, double tolerance)
{
    double n = asked * window_s;

    return isnan(asked) ||
           (asked - answered) * window_s <= tolerance * n + LACK_SDS * counting_sd(2 * n);
}

bool services_keeps_up(const struct service_seen *s)
{
    return !s->late && services_answers(s->answered, s->owed, 1, LACK_SHARE);
}

/* ---- does it batch? ---- */

static bool breaks_littles_law(const struct service_window *w)
{
    double inside = w->held > 0 ? w->held : w->answered * w->median_s;

    return inside > 0 && w->busy * w->workers > INSIDE_FACTOR * inside + INSIDE_SLACK;
}

static bool never_rests_nor_waits(const struct service_window *w)
{
    return w->busy > BUSY_FULL && w->median_s > 0 && w->latency_s > 0 &&
           w->latency_s < SPREAD_LEAST * w->median_s;
}

/* Without how many requests are inside a busy share cannot be checked. */
static bool is_checked(const struct service_window *w)
{
    return w->busy > 0 && (w->held > 0 || w->median_s > 0);
}

static void note_batching(struct service_seen *s, const struct service_window *w)
{
    if (!is_checked(w))
        return;
    if (breaks_littles_law(w) || never_rests_nor_waits(w))
        s->batching = fmin(s->batching + 1, SIGNS);
    else if (w->busy < BUSY_FULL) /* full, both kinds look alike */
        s->batching = fmax(s->batching - 1, -SIGNS);
}

/* ---- windows ---- */

static void fade(struct service_seen *s)
{
    s->answered *= FADING;
    s->owed *= FADING;
    s->counted *= FADING;
    s->full_windows *= FADING;
    s->work_windows *= WORK_FADING;
    s->work *= WORK_FADING;
    s->work_busy *= WORK_FADING;
    s->squares *= WORK_FADING;
}

static bool is_late(const struct service_seen *s, const struct service_window *w,
                    double by)
{
    return s->light_s > 0 && w->latency_s > by * s->light_s;
}

/* Too many requests for it: what it answers then is what it can. */
static void note_full(struct service_seen *s, const struct service_window *w)
{
    bool lacks = !services_answers(w->answered, w->asked, w->window_s, LACK_SHARE);
    double value = log(w->answered);

    if (!lacks && !s->late && !(s->batching > 0 && is_late(s, w, LATE_FACTOR)))
        return;
    if (!lacks && !s->late)
        value += log(NEAR_FULL);
    s->full_windows++;
    s->full += (value - s->full) / s->full_windows;
}

void services_note(struct service_seen *s, const struct service_window *w)
{
    double n = w->answered * w->window_s;

    fade(s);
    note_batching(s, w);
    s->shared = w->shared;
    s->late = is_late(s, w, LATE_FAR) && w->latency_s > LATE_WINDOW * w->window_s &&
              !(s->batching < 0 && w->busy < LATE_BUSY);
    if (w->latency_s > 0 && (!(s->light_s > 0) || w->latency_s < s->light_s))
        s->light_s = w->latency_s;
    if (!(w->answered > 0))
        s->full_windows = 0; /* nothing comes out: nothing is known */
    else
        note_full(s, w);
    s->counted += n;
    if (!isnan(w->owed)) {
        s->answered += fmin(n, w->owed * w->window_s);
        s->owed += w->owed * w->window_s;
    }
    s->most = fmax(s->most, (n - 2 * counting_sd(n)) / w->window_s);
    if (w->held > 0)
        s->at_once += (w->answered / w->held * fmin(w->workers, 1) - s->at_once) *
                      (s->at_once > 0 ? 1 - FADING : 1);
    if (is_checked(w)) {
        s->work += w->answered;
        s->work_busy += w->answered * fmin(w->busy, 1);
        s->squares += w->answered * w->answered;
        s->work_windows++;
    }
}

void services_moved(struct service_seen *s)
{
    *s = (struct service_seen){.batching = s->batching};
}

/* ---- what it can do ---- */

/* A line through 0: windows with much load say most. */
static struct service_capacity from_busy(const struct service_seen *s)
{
    double busy = s->work_busy / s->work, line = LINE_SD * (1 - busy);
    double noise = hypot(BUSY_NOISE, BUSY_STEP / busy);
    double counting = 0.5 / counting_sd(s->counted), shared = s->shared ? SHARED_SD : 0;

    return (struct service_capacity){
        .rate = s->squares / s->work_busy,
        .sd_log = sqrt(LEAST_SD * LEAST_SD + line * line + shared * shared +
                       noise * noise / s->work_windows + counting * counting)};
}

struct service_capacity services_capacity(const struct service_seen *s)
{
    if (s->batching < 0 && s->work_busy > 0 && s->counted >= COUNTED_LEAST)
        return from_busy(s);
    if (s->full_windows > 0)
        return (struct service_capacity){
            .rate = exp(s->full),
            .sd_log = hypot(FULL_SD, NEAR_FULL_SD / sqrt(fmax(s->full_windows, 1)))};
    return (struct service_capacity){.rate = fmax(s->most, FLOOR_SHARE * s->at_once),
                                     .floor = true};
}
