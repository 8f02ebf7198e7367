/* planner_caps.c - how deep a power limit may be: planner.c notes in each round what was
 * seen, planner_cost.c asks when it looks for the cheapest limit
 *
 * What a limit does to a rate is a model until it was tried.  So a device's limit goes
 * one level deeper at a time, each measured before the next; a level under which somebody
 * fell short is not tried again by the same jobs; and what a deeper level must leave
 * above the requirement shrinks with the number of windows it is concluded from.
 *
 * How much of a rate a limit takes is learned by type: the windows of a job just before
 * its device got a limit and just after, against what the power model says; never less
 * than that, because a limit that is too deep breaks promises. */
#include "loop/optimize/planner_private.h"

#include <math.h>

/* A window's rate is off by about this much, and a limit stays clear of the requirement
 * by so many times what the mean of the windows may be off, and a little more. */
#define WINDOW_SD    0.03
#define MARGIN_SD    2.5
#define MARGIN_LEAST 1.02

double planner_cap_margin(int windows)
{
    return MARGIN_LEAST + MARGIN_SD * WINDOW_SD / sqrt(windows > 1 ? windows : 1);
}

/* The level of a limit in force; between two the deeper one. */
static int level_of(const struct planner_type *type, double cap_watts)
{
    int level = 0;

    if (!(cap_watts > 0))
        return 0;
    while (level + 1 < type->caps && type->cap_watts[level + 1] > cap_watts - 0.5)
        level++;
    if (level == 0 || type->cap_watts[level] > cap_watts + 0.5)
        level++;
    return level < type->caps ? level : type->caps - 1;
}

static uint64_t company_of(const struct planner_state *s, int a, int b)
{
    uint64_t hash = 1;

    if (a >= 0)
        hash += s->jobs.items[a].mark;
    if (b >= 0)
        hash += s->jobs.items[b].mark;
    return hash;
}

static void compare_rates(struct planner_state *s, int device, struct planner_caps *caps);

/* On a large cluster most devices have no window since the last round. */
static bool nothing_measured(const struct planner_state *s, const int *members,
                             struct planner_caps *caps)
{
    double window_s = s->jobs.items[members[0]].window_s;

    if (s->in->cluster->device_count <= PLANNER_LARGE)
        return false;
    if (members[1] >= 0)
        window_s = fmax(window_s, s->jobs.items[members[1]].window_s);
    if (window_s <= caps->noted_s)
        return true;
    caps->noted_s = window_s;
    return false;
}

static void note_device(struct planner_state *s, int device)
{
    const struct planner_type *type;
    const int *m = planner_members(s, device);
    struct planner_caps *caps = &s->caps.items[device];
    uint64_t company = company_of(s, m[0], m[1]);

    if (caps->company != company)
        *caps = (struct planner_caps){
            .company = company, .deepest = PLAN_CAPS_MOST, .due = caps->due};
    if (m[0] < 0 || nothing_measured(s, m, caps))
        return;
    type = &s->types[s->in->cluster->devices[device].type];
    for (int e = 0; e < 2 && m[e] >= 0; e++) {
        const struct planner_job *j = &s->jobs.items[m[e]];
        int level = level_of(type, j->status->pace.cap_watts);

        if (j->paced && j->suffers && level > 0 && caps->deepest >= level)
            caps->deepest = level - 1;
    }
    compare_rates(s, device, caps);
}

/* ---- what limits cost ---- */

/* The power model counts as much as this before anything was seen: a tenth of a rate,
 * taken some ten times. */
#define MODEL_SQUARES 0.1
/* A limit that is believed to take less tells nothing but noise. */
#define SPEED_TELLS 0.95
/* So many windows under a limit are compared with those before it. */
#define WINDOWS_TELL 1
#define WINDOWS_MOST 4

/* The rate under the limit over the rate without, in the same company, against what the
 * power model says.  What a service could do no window tells. */
static void learn_steepness(struct planner_state *s, struct planner_type *type,
                            const struct planner_job *j, int level, double open)
{
    const int *m = planner_members(s, j->device);
    double watts, told, seen;

    watts = m[1] >= 0 ? (double)prediction_table_pair_on(
                            s->table, s->jobs.items[m[0]].kind, s->jobs.items[m[1]].kind,
                            s->in->cluster->devices[j->device].type)
                            .watts
                      : j->kind->alone[s->in->cluster->devices[j->device].type].watts;
    told = log(planner_under_cap(type, level, watts).speed) / type->steepness;
    if (told > log(SPEED_TELLS))
        return;
    seen = fmin(0, log(j->status->pace.rate / open));
    type->seen_square += told * told;
    type->seen_product += told * seen;
    type->steepness = fmax(1, (MODEL_SQUARES + type->seen_product) /
                                  (MODEL_SQUARES + type->seen_square));
}

static void compare_rates(struct planner_state *s, int device, struct planner_caps *caps)
{
    struct planner_type *type = &s->types[s->in->cluster->devices[device].type];
    const int *m = planner_members(s, device);

    for (int e = 0; e < 2 && m[e] >= 0; e++) {
        const struct planner_job *j = &s->jobs.items[m[e]];
        const struct recent_rate *pace = &j->status->pace;
        int level = level_of(type, pace->cap_watts);

        if (!j->paced || j->status->job.kind == JOB_INFERENCE ||
            j->status->devices[0] != device)
            continue;
        if (level == 0)
            caps->open[e] = pace->rate;
        else if (caps->open[e] > 0 && pace->windows >= WINDOWS_TELL &&
                 pace->windows <= WINDOWS_MOST && pace->at_s > caps->told_s[e]) {
            caps->told_s[e] = pace->at_s;
            learn_steepness(s, type, j, level, caps->open[e]);
        }
    }
}

/* On a large cluster only where somebody was measured, came or left. */
static void note_changed(struct planner_state *s)
{
    for (size_t i = 0; i < s->jobs.count; i++) {
        const struct planner_job *j = &s->jobs.items[i];

        if (s->was.items[i] >= 0)
            continue;
        for (int k = 0; k < j->status->device_count; k++)
            note_device(s, j->status->devices[k]);
    }
}

void planner_learn_caps(struct planner_state *s)
{
    while (s->caps.count < (size_t)s->in->cluster->device_count)
        vec_push(&s->caps, (struct planner_caps){0});
    if (s->in->cluster->device_count > PLANNER_LARGE) {
        note_changed(s);
        return;
    }
    for (int d = 0; d < s->in->cluster->device_count; d++)
        note_device(s, d);
}

struct planner_cap_range planner_cap_range(const struct planner_state *s, int device,
                                           int a, int b)
{
    const struct planner_type *type = &s->types[s->in->cluster->devices[device].type];
    const struct planner_caps *caps =
        (size_t)device < s->caps.count ? &s->caps.items[device] : NULL;
    struct planner_cap_range range;

    range.now = level_of(type, s->jobs.items[a].status->pace.cap_watts);
    if (b >= 0) { /* both were measured under no deeper one */
        int other = level_of(type, s->jobs.items[b].status->pace.cap_watts);

        range.now = other < range.now ? other : range.now;
    }
    range.deepest = type->caps - 1;
    if (caps && caps->company == company_of(s, a, b) && caps->deepest < range.deepest)
        range.deepest = caps->deepest;
    return range;
}
