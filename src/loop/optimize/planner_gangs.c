/* planner_gangs.c - moves of gangs: planner_improve.c asks for them after those of jobs
 * on one device
 *
 * A gang is alone on its devices or shares all of them with another of its size.  It is
 * moved as a whole, to devices that are free or beside such a one: when it falls short,
 * or when that costs less by a multiple of the pause of all its devices.  So a first
 * place that turns out to be wrong is left once it was measured. */
#include "loop/optimize/planner_private.h"

#include <math.h>

/* Gangs looked at in a pass: each looks at all devices. */
#define GANGS_A_PASS 32

static bool may_go(const struct planner_state *s, const struct planner_job *j)
{
    return j->gang && j->home >= 0 && s->settings.moves && j->status->job.may_move &&
           j->device >= 0 && !j->moved &&
           j->status->device_count == j->status->job.devices;
}

static void go(struct planner_state *s, int job, const struct planner_seats *seats)
{
    planner_attach(s, job, seats->devices, s->jobs.items[job].status->job.devices);
    s->jobs.items[job].moved = true;
    vec_push(&s->gangs, *seats);
}

/* The other gang on its devices; -1: none. */
static int companion(const struct planner_state *s, int job)
{
    const int *m = planner_members(s, s->jobs.items[job].device);

    return m[0] == job ? m[1] : m[0];
}

/* Where it keeps its requirement, if there is such a place. */
static bool send_away(struct planner_state *s, int job)
{
    const struct job_status *status = s->jobs.items[job].status;
    struct planner_seats gang;

    planner_detach(s, job, status->devices, status->device_count);
    planner_find_seats(s, job, &gang);
    if (gang.cost > PLANNER_KEEPS || gang.devices[0] == status->devices[0]) {
        planner_attach(s, job, status->devices, status->device_count);
        return false;
    }
    go(s, job, &gang);
    return true;
}

static void mend(struct planner_state *s, int job)
{
    int type = s->in->cluster->devices[s->jobs.items[job].device].type;
    int other = companion(s, job);

    if (planner_cost(s, type, job, other, NULL) <= PLANNER_KEEPS)
        return; /* another cap is enough */
    if (!send_away(s, job) && other >= 0 && may_go(s, &s->jobs.items[other]))
        send_away(s, other);
}

void planner_mend_gangs(struct planner_state *s)
{
    size_t count = s->suffering.count, first = planner_first_mended(s);
    int left = planner_mends(s);

    for (size_t k = 0; k < count && left > 0; k++) {
        int i = s->suffering.items[(first + k) % count];
        const struct planner_job *j = &s->jobs.items[i];

        if (may_go(s, j) && planner_has_waited(s, j)) {
            mend(s, i);
            left--;
        }
    }
}

/* Nobody stays for longer than whoever is beside it, before or after. */
static double horizon_beside(const struct planner_state *s, int job, const int *devices)
{
    double h = planner_horizon(s, &s->jobs.items[job]);
    int other = planner_members(s, devices[0])[0];

    return other >= 0 ? fmin(h, planner_left_s(s, &s->jobs.items[other])) : h;
}

/* Moves take a pause on each of the devices: it has to earn as many times as much. */
static void relocate(struct planner_state *s, int job)
{
    const struct planner_job *j = &s->jobs.items[job];
    const struct job_status *status = j->status;
    int count = status->device_count;
    struct planner_seats gang;
    double now, then, h;

    planner_detach(s, job, status->devices, count);
    if (planner_find_seats(s, job, &gang) && gang.cost <= PLANNER_KEEPS &&
        gang.devices[0] != status->devices[0]) {
        now = planner_gang_cost(s, job, status->devices);
        then = planner_gang_cost(s, job, gang.devices);
        h = fmin(horizon_beside(s, job, status->devices),
                 horizon_beside(s, job, gang.devices));
        if ((now - then) * h > count * planner_hurdle(s, j)) {
            go(s, job, &gang);
            return;
        }
    }
    planner_attach(s, job, status->devices, count);
}

void planner_improve_gangs(struct planner_state *s)
{
    int left = GANGS_A_PASS, count = (int)s->jobs.count;
    int first = count > 0 ? (int)rng_below(&s->rng, (size_t)count) : 0;

    for (int i = 0; i < count && left > 0; i++) {
        int job = (first + i) % count;
        const struct planner_job *j = &s->jobs.items[job];

        if (!may_go(s, j) || !j->paced || !planner_has_settled(s, j) || j->suffers ||
            planner_left_s(s, j) < PLANNER_LEFT_LEAST_S || !planner_within_budget(s, j))
            continue;
        relocate(s, job);
        left--;
    }
}
