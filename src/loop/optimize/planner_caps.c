/* planner_caps.c - how deep a power limit may be: planner.c notes in each round what was
 * seen, planner_cost.c asks when it looks for the cheapest limit
 *
 * What a limit does to a rate is a model until it was tried.  So a device's limit goes
 * one level deeper at a time, each measured before the next; a level under which somebody
 * fell short is not tried again by the same jobs; and what a deeper level must leave
 * above the requirement shrinks with the number of windows it is concluded from. */
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
        hash += rng_mix(s->jobs.items[a].status->job.id, 1);
    if (b >= 0)
        hash += rng_mix(s->jobs.items[b].status->job.id, 1);
    return hash;
}

static void note_device(struct planner_state *s, int device)
{
    const struct planner_type *type = &s->types[s->in->cluster->devices[device].type];
    const int *m = planner_members(s, device);
    struct planner_caps *caps = &s->caps.items[device];
    uint64_t company = company_of(s, m[0], m[1]);

    if (caps->company != company)
        *caps = (struct planner_caps){.company = company, .deepest = PLAN_CAPS_MOST};
    for (int e = 0; e < 2 && m[e] >= 0; e++) {
        const struct planner_job *j = &s->jobs.items[m[e]];
        int level = level_of(type, j->status->pace.cap_watts);

        if (j->paced && j->suffers && level > 0 && caps->deepest >= level)
            caps->deepest = level - 1;
    }
}

void planner_learn_caps(struct planner_state *s)
{
    while (s->caps.count < (size_t)s->in->cluster->device_count)
        vec_push(&s->caps, (struct planner_caps){0});
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
