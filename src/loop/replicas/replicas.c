/* replicas.c - see replicas.h
 *
 * The daemon calls replicas_decide() for each service when its demand, latency or number
 * of running replicas has changed (service/replica_jobs.c), the simulator at each
 * measurement of demand.  The caller makes or ends replica jobs until there are as many
 * as wanted; the planner places them like any other job. */
#include "loop/replicas/replicas.h"

#include "model/queueing.h"

#include <math.h>
#include <stdio.h>

/* Demand may grow by this much before the next replica is there. */
#define HEADROOM 1.25
/* And must be below that by some before one goes: counted requests are noisy. */
#define SHRINK_HEADROOM 1.35
/* Fewer are wanted for this long before one goes: what falls often rises again. */
#define SHRINK_S 300.0
/* Nobody has asked for this long: no replica, where that is allowed. */
#define ZERO_S 600.0
/* Answers that come nearly too late call for the next replica. */
#define NEARLY_LATE 0.9
/* After a replica was added for latency, measurements need time to show it. */
#define LATENCY_GAP_S 120.0
/* A failed replica is replaced after this long, doubled with each failure in a row. */
#define FAILED_S      30.0
#define FAILED_MOST_S 3600.0
/* A replica that ran this long after it was replaced ends the row of failures. */
#define FAILED_APART_S 600.0

/* ---- what the replicas say together ---- */

int replicas_running(const struct replica *replicas, int count)
{
    int running = 0;

    for (int i = 0; i < count; i++)
        running += replicas[i].has_devices;
    return running;
}

double replicas_demand(const struct replica *replicas, int count)
{
    double sum = count > 0 ? replicas[0].demand : NAN;

    for (int i = 1; i < count; i++)
        if (isfinite(replicas[i].demand) && replicas[i].has_devices)
            sum = (isfinite(sum) ? sum : 0) + replicas[i].demand;
    return sum;
}

int replicas_free_number(const struct replica *replicas, int count)
{
    for (int number = 1;; number++) {
        bool taken = false;

        for (int i = 0; i < count; i++)
            taken = taken || replicas[i].number == number;
        if (!taken)
            return number;
    }
}

int replicas_last(const struct replica *replicas, int count)
{
    int last = 0;

    for (int i = 1; i < count; i++)
        if (last == 0 || replicas[i].number > replicas[last].number)
            last = i;
    return last > 0 ? last : -1;
}

/* What one replica carries: its share, or less where it is known to do less. */
static double carried_by_one(const struct replicas_facts *f)
{
    double sum = 0;
    int measured = 0;

    for (int i = 0; i < f->count; i++) {
        if (!f->replicas[i].has_devices || !isfinite(f->replicas[i].rate))
            continue;
        sum += fmin(f->share->need.rate, queueing_useful(f->share, f->replicas[i].rate));
        measured++;
    }
    return measured > 0 && sum > 0 ? sum / measured : f->share->need.rate;
}

static bool is_late(const struct replicas_facts *f)
{
    double limit = NEARLY_LATE * f->share->need.latency_s;

    for (int i = 0; i < f->count && limit > 0; i++)
        if (f->replicas[i].has_devices && f->replicas[i].latency_s > limit)
            return true;
    return false;
}

/* When the number of running replicas changes, requests are spread anew: the demand that
 * each replica reported until then must not be added up. */
static bool is_settled(struct replicas_state *state, const struct replicas_facts *f)
{
    int running = replicas_running(f->replicas, f->count);
    bool settled;

    if (!isfinite(state->running_since_s) || running != state->running) {
        state->running = running;
        state->running_since_s = f->now_s;
    }
    settled = f->replicas[0].demand_at_s > state->running_since_s;
    for (int i = 1; i < f->count; i++)
        settled = settled && !(isfinite(f->replicas[i].demand) &&
                               f->replicas[i].demand_at_s <= state->running_since_s);
    return settled;
}

/* ---- failures ---- */

static double pause_s(const struct replicas_state *state)
{
    return state->failures > 0 ? fmin(FAILED_MOST_S, FAILED_S * exp2(state->failures - 1))
                               : 0;
}

void replicas_failed(struct replicas_state *state, double now_s)
{
    if (now_s - state->failed_s > pause_s(state) + FAILED_APART_S)
        state->failures = 0;
    state->failures++;
    state->failed_s = now_s;
}

/* A replica that has just failed is not replaced at once, for the next may fail too. */
static bool may_add(const struct replicas_state *state, double now_s)
{
    return state->failures == 0 || now_s - state->failed_s >= pause_s(state);
}

/* ---- the decision ---- */

/* True when it has lasted long enough; *since_s is NaN while it does not hold. */
static bool lasts(bool holds, double *since_s, double now_s, double least_s)
{
    if (!holds)
        *since_s = NAN;
    else if (!isfinite(*since_s))
        *since_s = now_s;
    return holds && now_s - *since_s >= least_s;
}

/* Late answers ask for one more than there are, once per gap; in between they keep what
 * is there. */
static int wanted_for_latency(const struct replicas_state *state,
                              const struct replicas_facts *f)
{
    return f->now_s - state->late_s < LATENCY_GAP_S ? f->count : f->count + 1;
}

static int at_most(const struct replicas_facts *f, double wanted)
{
    return (int)fmax(1, fmin(wanted, fmin(f->max, LOOP_MAX_GANG)));
}

static struct replicas_decision leave(const struct replicas_facts *f)
{
    return (struct replicas_decision){.wanted = f->count};
}

static struct replicas_decision wake(struct replicas_state *state,
                                     const struct replicas_facts *f)
{
    if (!(f->asked > 0))
        return (struct replicas_decision){.wanted = 0};
    *state = REPLICAS_NEW;
    return (struct replicas_decision){.wanted = 1,
                                      .reason = "requests come: a replica is started"};
}

static struct replicas_decision grow(struct replicas_state *state,
                                     const struct replicas_facts *f, int wanted,
                                     double demand, bool for_latency)
{
    struct replicas_decision d = leave(f);

    if (!may_add(state, f->now_s))
        return d;
    d.wanted = wanted;
    if (for_latency) {
        state->late_s = f->now_s;
        snprintf(d.reason, sizeof(d.reason),
                 "answers come later than %.4g s: %d replicas", f->share->need.latency_s,
                 wanted);
    } else {
        snprintf(d.reason, sizeof(d.reason), "%.4g requests/s are asked for: %d replicas",
                 demand, wanted);
    }
    return d;
}

static struct replicas_decision shrink(struct replicas_state *state, int wanted,
                                       double demand)
{
    struct replicas_decision d = {.wanted = wanted};

    state->less_since_s = NAN;
    snprintf(d.reason, sizeof(d.reason), "%.4g requests/s are asked for: %d %s enough",
             demand, wanted, wanted > 1 ? "replicas are" : "replica is");
    return d;
}

struct replicas_decision replicas_decide(struct replicas_state *state,
                                         const struct replicas_facts *f)
{
    double demand = replicas_demand(f->replicas, f->count), one;
    int for_demand, wanted;

    if (f->at_zero)
        return wake(state, f);
    if (!is_settled(state, f) || !isfinite(demand) || !f->replicas[0].has_devices)
        return leave(f);
    if (lasts(!(demand > 0) && f->scale_to_zero, &state->idle_since_s, f->now_s, ZERO_S))
        return (struct replicas_decision){
            .wanted = 0, .reason = "nobody asks: no replica until requests come"};
    one = carried_by_one(f);
    for_demand = at_most(f, one > 0 ? ceil(HEADROOM * demand / one - 1e-9) : 1);
    wanted = for_demand;
    if (is_late(f))
        wanted = at_most(f, fmax(wanted, wanted_for_latency(state, f)));
    if (wanted > f->count) {
        state->less_since_s = NAN;
        return grow(state, f, wanted, demand, wanted > for_demand);
    }
    if (wanted < f->count)
        wanted = at_most(f, fmax(wanted, ceil(SHRINK_HEADROOM * demand / one - 1e-9)));
    if (lasts(wanted < f->count, &state->less_since_s, f->now_s, SHRINK_S))
        return shrink(state, wanted, demand);
    return leave(f);
}
