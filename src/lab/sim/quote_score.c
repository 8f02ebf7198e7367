/* quote_score.c - sim_run.c hands over quotes, sim_actions.c starts and windows;
 * run_result.c prints the sums */
#include "lab/sim/quote_score.h"

#include <math.h>
#include <string.h>

void quote_score_asked(struct quote_score *score, struct quote_kept *kept,
                       const struct quote *q, double now_s)
{
    long *const counts[] = {&score->accepted, &score->queued, &score->counter,
                            &score->refused, &score->unpromised};

    *kept = (struct quote_kept){.verdict = q->verdict,
                                .type = q->type,
                                .device_count = q->device_count,
                                .neighbour = q->neighbour,
                                .asked_s = now_s,
                                .start_s = q->start_s,
                                .rate = q->rate,
                                .watts_per_rate = q->watts.value / q->rate.value};
    memcpy(kept->devices, q->devices, sizeof(kept->devices));
    score->quotes++;
    ++*counts[q->verdict];
}

/* Just the devices that were named, in any order. */
static bool same_place(const struct quote_kept *kept, const struct action *a)
{
    if (kept->device_count != a->device_count)
        return false;
    for (int i = 0; i < a->device_count; i++) {
        bool found = false;

        for (int k = 0; k < kept->device_count; k++)
            found = found || kept->devices[k] == a->devices[i];
        if (!found)
            return false;
    }
    return true;
}

void quote_score_started(struct quote_score *score, struct quote_kept *kept,
                         const struct action *a, double now_s)
{
    if (kept->started)
        return;
    kept->started = true;
    if ((kept->verdict == QUOTE_ACCEPTED || kept->verdict == QUOTE_UNPROMISED) &&
        now_s <= kept->asked_s + 1e-6) {
        score->started_at_once++;
        kept->at_place = same_place(kept, a);
        score->at_place += kept->at_place;
    }
    if (kept->verdict != QUOTE_QUEUED)
        return;
    if (isnan(kept->start_s)) {
        score->starts_unknown++;
        return;
    }
    score->starts++;
    score->start_error_s += fabs(now_s - kept->start_s);
    score->start_wait_s += now_s - kept->asked_s;
}

void quote_score_measured(struct quote_score *score, struct quote_kept *kept,
                          const struct loop_observed *seen)
{
    const struct observation *o = &seen->seen;

    /* Whoever came beside it meanwhile was not part of the quote. */
    if (!kept->at_place || kept->measured || o->floor ||
        o->where.count != (kept->neighbour ? 2 : 1) || o->where.cap_watts > 0)
        return;
    kept->measured = true;
    score->measured++;
    score->covered += o->rate >= kept->rate.low && o->rate <= kept->rate.high;
    score->rate_log_error += fabs(log(o->rate / kept->rate.value));
    if (isfinite(o->device_watts) && !kept->neighbour && kept->watts_per_rate > 0) {
        score->energies++;
        score->energy_log_error +=
            fabs(log(o->device_watts / o->rate / kept->watts_per_rate));
    }
}
