/* planner_room.c - processors and memory of hosts: planner_cost.c, planner_place.c and
 * those who move jobs ask whether a node has them left; and whether a job may be there
 *
 * A job that waits for room has devices held for it (planner_queue.c).  What it asks for
 * beside them is held too: others would take a freed processor at a time for ever. */
#include "loop/optimize/planner_private.h"

/* What is left of the node for this job, without what is held there for others who go
 * before it. */
static struct host_room left_for(const struct planner_state *s, int job, int node)
{
    const struct node *n = &s->in->cluster->nodes[node];
    struct host_room left = s->node_left.items[node];

    for (int d = n->first_device; d < n->first_device + n->device_count; d++) {
        int holder = s->holds.items[d].job;

        if (holder >= 0 && holder != job &&
            (s->jobs.items[job].status->state != JOB_WAITING ||
             s->jobs.items[job].rank > s->jobs.items[holder].rank))
            host_room_take(&left, s->jobs.items[holder].room, 1);
    }
    return left;
}

bool planner_reaches(const struct planner_state *s, int job, int node)
{
    const struct planner_job *j = &s->jobs.items[job];

    return !j->bound ||
           node_access_allows(s->in->cluster, &j->status->job, node, s->in->now_s);
}

bool planner_access_binds(struct planner_state *s, int job)
{
    struct planner_seats seats;
    bool found;

    if (!s->jobs.items[job].bound)
        return false;
    s->jobs.items[job].bound = false;
    found = planner_find_seats(s, job, &seats);
    s->jobs.items[job].bound = true;
    return found;
}

bool planner_has_room(const struct planner_state *s, int job, int node, int devices)
{
    struct host_room each = s->jobs.items[job].room;

    return !host_room_wanted(each) ||
           host_room_holds(left_for(s, job, node), each, devices);
}

int planner_room_devices(const struct planner_state *s, int job, int node, int most)
{
    struct host_room each = s->jobs.items[job].room;

    if (!host_room_wanted(each) || most == 0)
        return most;
    return host_room_devices(left_for(s, job, node), each, most);
}

int planner_room_ever(const struct planner_state *s, int job, int node)
{
    const struct node *n = &s->in->cluster->nodes[node];
    struct host_room each = s->jobs.items[job].room;

    if (!host_room_wanted(each))
        return n->device_count;
    return host_room_devices(n->room, each, n->device_count);
}

bool planner_has_room_all(const struct planner_state *s, int job, const int *devices,
                          int count)
{
    const struct cluster *c = s->in->cluster;

    if (!host_room_wanted(s->jobs.items[job].room))
        return true;
    for (int k = 0; k < count; k++) {
        int node = c->devices[devices[k]].node, beside = 0;

        for (int i = 0; i < count; i++)
            beside += c->devices[devices[i]].node == node;
        if (!planner_has_room(s, job, node, beside))
            return false;
    }
    return true;
}

/* Has the node of one room for the other when the one has left it? */
static bool room_instead(const struct planner_state *s, int leaves, int comes)
{
    int node = s->in->cluster->devices[s->jobs.items[leaves].device].node;
    struct host_room left = left_for(s, comes, node), each = s->jobs.items[comes].room;

    host_room_take(&left, s->jobs.items[leaves].room, -1);
    return !host_room_wanted(each) || host_room_holds(left, each, 1);
}

bool planner_has_room_swapped(const struct planner_state *s, int a, int b)
{
    const struct device *devices = s->in->cluster->devices;

    if (devices[s->jobs.items[a].device].node == devices[s->jobs.items[b].device].node)
        return true;
    return room_instead(s, a, b) && room_instead(s, b, a);
}

bool planner_room_binds(struct planner_state *s, int job)
{
    struct host_room asked = s->jobs.items[job].room;
    struct planner_seats seats;
    bool found;

    if (!host_room_wanted(asked))
        return false;
    s->jobs.items[job].room = (struct host_room){0};
    found = planner_find_seats(s, job, &seats);
    s->jobs.items[job].room = asked;
    return found;
}
