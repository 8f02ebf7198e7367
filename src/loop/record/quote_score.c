/* quote_score.c - loop.c hands over quotes, first starts and windows; /metrics and
 * `corgi sim` show the sums */
#include "loop/record/quote_score.h"

#include "loop/estimate/predict.h"
#include "model/queueing.h"

#include <math.h>

/* A daemon holds its next round a moment after the answer. */
#define AT_ONCE_S 5.0

const double quote_levels[QUOTE_LEVELS] = {0.5, 0.8, 0.95};

/* Just the devices that were named, in any order. */
static bool at_quoted_place(const struct job_status *status)
{
    const struct quote_kept *kept = &status->quoted;

    if (kept->device_count != status->device_count)
        return false;
    for (int i = 0; i < status->device_count; i++) {
        bool found = false;

        for (int k = 0; k < kept->device_count; k++)
            found = found || kept->devices[k] == status->devices[i];
        if (!found)
            return false;
    }
    return true;
}

static void note_wait(struct quote_score *score, const struct quote_kept *kept,
                      double now_s)
{
    double wait_s = fmax(now_s - kept->asked_s, QUOTE_START_LEAST_S), error;

    if (isnan(kept->start_s)) {
        score->starts_unknown++;
        return;
    }
    error = fabs(now_s - kept->start_s) / wait_s;
    score->starts++;
    score->starts_good += error <= QUOTE_START_GOOD;
    score->start_errors[(int)fmin(error / QUOTE_START_STEP, QUOTE_START_BINS - 1)]++;
}

void quote_score_started(struct quote_score *score, struct job_status *status,
                         double now_s)
{
    struct quote_kept *kept = &status->quoted;

    if (!kept->given || kept->started)
        return;
    kept->started = true;
    if (kept->device_count == 0) {
        note_wait(score, kept, now_s);
    } else if (now_s <= kept->asked_s + AT_ONCE_S) {
        score->started_at_once++;
        kept->at_place = at_quoted_place(status);
        score->at_place += kept->at_place;
    }
}

/* Whoever came beside it meanwhile was not part of the quote. */
static bool as_quoted(const struct quote_kept *kept, const struct combination *where,
                      int subject)
{
    if (where->cap_watts > 0 || where->count != (kept->neighbour ? 2 : 1))
        return false;
    return !kept->neighbour || where->members[!subject].job->id == kept->neighbour;
}

static void note_energy(struct quote_score *score, const struct quote_kept *kept,
                        const struct observation *seen)
{
    if (!isfinite(seen->device_watts) || kept->neighbour || !(kept->watts > 0))
        return;
    score->energies++;
    score->energy_log_error +=
        fabs(log(seen->device_watts / seen->rate / (kept->watts / kept->rate.value)));
}

void quote_score_measured(struct quote_score *score, struct job_status *status,
                          const struct observation *seen)
{
    struct quote_kept *kept = &status->quoted;
    struct quote_windows *windows =
        &score->windows[kept->rate.source][kept->neighbour > 0]
                       [status->job.kind == JOB_INFERENCE];
    double rate = queueing_useful(&status->job, seen->rate);

    if (!kept->at_place || kept->measured ||
        !as_quoted(kept, &seen->where, seen->subject))
        return;
    kept->measured = true;
    windows->measured++;
    for (int i = 0; i < QUOTE_LEVELS; i++)
        windows->kept[i] += rate >= estimate_at_confidence(&kept->rate, quote_levels[i]);
    score->covered += rate >= kept->rate.low && rate <= kept->rate.high;
    score->rate_log_error += fabs(log(fmax(rate, 1e-12) / kept->rate.value));
    note_energy(score, kept, seen);
}

struct quote_windows quote_score_windows(const struct quote_score *score)
{
    const struct quote_windows *all = &score->windows[0][0][0];
    struct quote_windows sum = {0};

    for (size_t i = 0; i < sizeof(score->windows) / sizeof(*all); i++) {
        sum.measured += all[i].measured;
        for (int k = 0; k < QUOTE_LEVELS; k++)
            sum.kept[k] += all[i].kept[k];
    }
    return sum;
}

double quote_score_start_median(const struct quote_score *score)
{
    double left = 0.5 * (double)score->starts;

    if (score->starts == 0)
        return NAN;
    for (int i = 0;; i++) {
        double here = (double)score->start_errors[i];

        if (here >= left || i == QUOTE_START_BINS - 1)
            return QUOTE_START_STEP * (i + (here > 0 ? left / here : 0));
        left -= here;
    }
}
