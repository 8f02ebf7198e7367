/* planner_gangs.c - gangs that fall short go elsewhere; see planner_private.h
 *
 * A gang is alone on its devices, so no neighbour and, after the cap was lifted, nothing
 * but other devices can help it.  It is moved as a whole, to devices that are free. */
#include "loop/optimize/planner_private.h"

/* A gang's place is left only for one that is believed to keep the requirement. */
#define KEEPS (0.1 * PLANNER_SHORT_WATTS)

/* After each move it is left alone longer: where nothing helps it must not wander. */
#define PATIENCE_S 600.0

static bool may_go(const struct planner_state *s, const struct planner_job *j)
{
    return j->status->job.devices > 1 && j->suffers && s->in->settings->moves &&
           j->status->job.may_move && j->device >= 0 &&
           s->in->now_s - j->status->placed_s >= PATIENCE_S * j->status->moves;
}

static void attach_to(struct planner_state *s, int job, const int *devices, int count)
{
    for (int k = count - 1; k >= 0; k--)
        planner_attach(s, job, devices[k]);
}

static void detach_from(struct planner_state *s, int job, const int *devices, int count)
{
    for (int k = 0; k < count; k++) {
        s->jobs.items[job].device = devices[k];
        planner_detach(s, job);
    }
}

static int nodes_of(const struct planner_state *s, const int *devices, int count)
{
    int nodes = 0;

    for (int k = 0; k < count; k++) {
        bool seen = false;

        for (int i = 0; i < k; i++)
            seen = seen || s->in->cluster->devices[devices[i]].node ==
                               s->in->cluster->devices[devices[k]].node;
        nodes += !seen;
    }
    return nodes;
}

/* As many devices of the same type on as many nodes do the same again. */
static bool differs(const struct planner_state *s, const int *a, const int *b, int count)
{
    return s->in->cluster->devices[a[0]].type != s->in->cluster->devices[b[0]].type ||
           nodes_of(s, a, count) != nodes_of(s, b, count);
}

static void mend_gang(struct planner_state *s, int job)
{
    const struct job_status *status = s->jobs.items[job].status;
    int type = s->in->cluster->devices[status->devices[0]].type;
    struct planner_gang gang = {.job = job};

    if (planner_cost(s, type, job, -1, NULL) <= KEEPS) /* another cap is enough */
        return;
    detach_from(s, job, status->devices, status->device_count);
    if (planner_find_gang(s, job, gang.devices) > KEEPS ||
        !differs(s, gang.devices, status->devices, status->device_count)) {
        attach_to(s, job, status->devices, status->device_count);
        return;
    }
    attach_to(s, job, gang.devices, status->job.devices);
    s->jobs.items[job].moved = true;
    vec_push(&s->gangs, gang);
}

void planner_mend_gangs(struct planner_state *s)
{
    for (int i = 0; i < (int)s->jobs.count; i++)
        if (may_go(s, &s->jobs.items[i]))
            mend_gang(s, i);
}

const int *planner_gang_goes(const struct planner_state *s, int job)
{
    for (size_t i = 0; i < s->gangs.count; i++)
        if (s->gangs.items[i].job == job)
            return s->gangs.items[i].devices;
    return NULL;
}
