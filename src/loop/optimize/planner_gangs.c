/* planner_gangs.c - moves of gangs: planner_improve.c asks for them after those of jobs
 * on one device
 *
 * A gang is alone on its devices, so no neighbour and, after the cap was lifted, nothing
 * but other devices can help it.  It is moved as a whole, to devices that are free: when
 * it falls short, or when that costs less by a multiple of the pause of all its devices.
 * So a first place that turns out to be wrong is left once it was measured. */
#include "loop/optimize/planner_private.h"

/* Gangs looked at in a pass: each looks at all devices. */
#define GANGS_A_PASS 32

static bool may_go(const struct planner_state *s, const struct planner_job *j)
{
    return j->status->job.devices > 1 && j->status->state == JOB_RUNNING &&
           s->settings.moves && j->status->job.may_move && j->device >= 0 && !j->moved &&
           j->status->device_count == j->status->job.devices;
}

static void go(struct planner_state *s, int job, const struct planner_seats *seats)
{
    planner_attach(s, job, seats->devices, s->jobs.items[job].status->job.devices);
    s->jobs.items[job].moved = true;
    vec_push(&s->gangs, *seats);
}

static void mend(struct planner_state *s, int job)
{
    const struct job_status *status = s->jobs.items[job].status;
    int type = s->in->cluster->devices[status->devices[0]].type;
    int count = status->device_count;
    struct planner_seats gang;

    if (planner_cost(s, type, job, -1, NULL) <= PLANNER_KEEPS) /* another cap is enough */
        return;
    planner_detach(s, job, status->devices, count);
    planner_find_seats(s, job, &gang);
    if (gang.cost > PLANNER_KEEPS) /* so are all devices of the type it is on */
        planner_attach(s, job, status->devices, count);
    else
        go(s, job, &gang);
}

void planner_mend_gangs(struct planner_state *s)
{
    int count = (int)s->jobs.count, left = planner_mends(s);
    int first = planner_first_mended(s);

    for (int k = 0; k < count && left > 0; k++) {
        int i = (first + k) % count;
        const struct planner_job *j = &s->jobs.items[i];

        if (may_go(s, j) && j->suffers && planner_has_waited(s, j)) {
            mend(s, i);
            left--;
        }
    }
}

/* Moves take a pause on each of the devices: it has to earn as many times as much. */
static void relocate(struct planner_state *s, int job)
{
    const struct planner_job *j = &s->jobs.items[job];
    const struct job_status *status = j->status;
    int count = status->device_count;
    struct planner_seats gang;
    double now, then;

    planner_detach(s, job, status->devices, count);
    if (planner_find_seats(s, job, &gang) && gang.cost <= PLANNER_KEEPS) {
        now = planner_gang_cost(s, job, status->devices);
        then = planner_gang_cost(s, job, gang.devices);
        if ((now - then) * planner_horizon(s, j) > count * planner_hurdle(s, j)) {
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

        if (!may_go(s, j) || !j->paced || !j->settled || j->suffers ||
            planner_left_s(s, j) < PLANNER_LEFT_LEAST_S || !planner_within_budget(s, j))
            continue;
        relocate(s, job);
        left--;
    }
}
