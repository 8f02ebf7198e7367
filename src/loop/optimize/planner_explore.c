/* planner_explore.c - places taken for what they may turn out to be; planner.c asks
 * before it moves and before it seats, and settles what was tried
 *
 * A best guess that is never tried is never corrected: the plan settles on what it knows.
 * So a job that needs a place anyway is placed as if uncertain rates were nearer to what
 * may be hoped for; the first measurement there tells, and every job of its kind gains.
 * Moves cost a pause, so they are judged nearly at the best guess.  What trials lose
 * against the best guess is kept within a share of the cluster's energy (`explore`).
 *
 * A job that has no promise yet goes where it has the best chance to get one; the minute
 * it is measured there is the same lesson anywhere. */
#include "loop/optimize/planner_private.h"

#include "base/normal.h"

#include <math.h>

/* How bold: chosen on the tuning seeds (docs/decisions/optimizer-exploration.md). */
static const struct planner_view placing = {.alone = 1, .pair = 0.75};
static const struct planner_view moving = {.alone = 0, .pair = 0.3};

/* A trial that disappoints can be left after so long: what it is expected to lose. */
#define TRIAL_S 600.0
/* The cluster is least known at first: so much energy is lent to the budget. */
#define LENT_S 86400.0
/* Who falls short for hours to come has little to lose: it tries what has less of a
 * chance, farther than what is hoped for by so much (in logs: two standard deviations).
 */
#define SUFFER_S     3600.0
#define SUFFER_REACH 1.6
/* A job is believed to stay where it does well for at most this long. */
#define STAY_S 7200.0
/* Differences of less are none. */
#define DEARER_LEAST 1.0

bool planner_is_bold(const struct planner_state *s)
{
    double energy = s->used_joules + LENT_S * s->watts_now;

    if (s->terms)
        return s->terms->bold;
    return s->settings.explore > 0 && s->guessed_joules <= s->settings.explore * energy;
}

void planner_look_to_place(struct planner_state *s)
{
    /* A place that cannot be left again is no place to try. */
    planner_look(s, s->settings.moves && planner_is_bold(s) ? placing
                                                            : (struct planner_view){0});
}

void planner_look_to_move(struct planner_state *s)
{
    planner_look(s, planner_is_bold(s) ? moving : (struct planner_view){0});
}

void planner_note_trial(struct planner_state *s, int job, int device, double instead,
                        double dearer)
{
    struct planner_trial trial = {.job = s->jobs.items[job].status->job.id,
                                  .device = device,
                                  .at_s = s->in->now_s,
                                  .instead = instead};

    if (dearer < DEARER_LEAST || dearer > PLANNER_KEEPS)
        return;
    s->guessed_joules += dearer * TRIAL_S;
    s->learning.trials++;
    vec_push(&s->trials, trial);
}

/* The job of a trial while it is where it was put; -1: it has left. */
static int job_of(const struct planner_state *s, const struct planner_trial *trial)
{
    const int *m = planner_members(s, trial->device);

    for (int e = 0; e < 2 && m[e] >= 0; e++)
        if (s->jobs.items[m[e]].status->job.id == trial->job &&
            s->jobs.items[m[e]].device == trial->device)
            return m[e];
    return -1;
}

static void settle(struct planner_state *s, const struct planner_trial *trial, int job)
{
    const struct planner_job *j = &s->jobs.items[job];
    const int *m = planner_members(s, trial->device);
    int other = m[0] == job ? m[1] : m[0];
    int type = s->in->cluster->devices[trial->device].type;
    /* A broken requirement is an event for the guard, not a number of watts. */
    double most = 2 * s->types[type].top_watts;
    double cost =
        planner_cost(s, type, job, other, NULL) - planner_cost(s, type, other, -1, NULL);
    double better = fmax(-most, fmin(most, trial->instead - cost));

    s->learning.settled++;
    s->learning.better += better > 0;
    if (better > 0)
        s->learning.earned_joules += better * fmin(planner_left_s(s, j), STAY_S);
    else
        s->learning.spent_joules -= better * (s->in->now_s - trial->at_s);
}

void planner_settle_trials(struct planner_state *s)
{
    size_t kept = 0;

    for (size_t i = 0; i < s->trials.count; i++) {
        struct planner_trial trial = s->trials.items[i];
        int job = job_of(s, &trial);

        if (job < 0)
            continue; /* it left before it could be measured */
        if (s->jobs.items[job].paced)
            settle(s, &trial, job);
        else
            s->trials.items[kept++] = trial;
    }
    s->trials.count = kept;
}

double planner_chance(const struct planner_job *job, double expected, double hope)
{
    double sd_log = log(hope / expected) / normal_quantile(1 - PREDICTION_TABLE_HOPE);

    if (!(job->need > 0))
        return 1;
    if (!(sd_log > 0))
        return expected >= job->need;
    return 0.5 * erfc(log(job->need / expected) / sd_log / sqrt(2));
}

/* What a job that falls short where it is may hope for elsewhere. */
static double reach(const struct planner_state *s, const struct planner_job *j,
                    const struct table_alone *alone)
{
    if (planner_left_s(s, j) < SUFFER_S)
        return alone->hope;
    return alone->expected * pow(alone->hope / alone->expected, SUFFER_REACH);
}

/* A service that falls short a little must not try what is believed to be worse. */
static bool may_hope(const struct planner_job *j, const struct table_alone *alone)
{
    return j->status->job.kind != JOB_INFERENCE || alone->expected > j->status->pace.rate;
}

int planner_hopeful_place(const struct planner_state *s, int job)
{
    const struct planner_job *j = &s->jobs.items[job];
    const struct cluster *c = s->in->cluster;
    double hoped[CLUSTER_MAX_TYPES], best = j->keep;
    int found = -1;

    if (!(s->settings.explore > 0))
        return -1;
    for (int t = 0; t < c->type_count; t++) {
        const struct table_alone *alone = &j->kind->alone[t];

        hoped[t] = 0;
        if (t != c->devices[j->device].type && alone->fits >= PREDICT_FITS_LEAST &&
            may_hope(j, alone))
            hoped[t] = reach(s, j, alone);
    }
    for (int d = 0; d < c->device_count; d++) {
        double hope = hoped[c->devices[d].type];

        if (hope > best && planner_members(s, d)[0] < 0 && planner_allowed(s, job, d) &&
            (c->devices[d].node == c->devices[j->device].node ||
             planner_has_room(s, job, c->devices[d].node, 1))) {
            best = hope;
            found = d;
        }
    }
    return found;
}
