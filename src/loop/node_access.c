/* node_access.c - the planner, place.c and decision.c ask it; engines tell groups and
 * reservations by loop_set_access() and loop_set_group_end() */
#include "loop/node_access.h"

bool node_access_allows(const struct cluster *c, const struct job *job, int node,
                        double now_s)
{
    double group_ends_s = c->group_ends_s[job->group];
    double until_s = group_ends_s > 0 ? group_ends_s : c->nodes[node].access.reserved_s;

    if (job->group > 0 && !(c->nodes[node].access.groups >> job->group & 1))
        return false;
    return until_s <= 0 || (job->limit_s > 0 && now_s + job->limit_s <= until_s);
}

bool node_access_reserved(const struct cluster *c)
{
    for (int n = 0; n < c->node_count; n++)
        if (c->nodes[n].access.reserved_s > 0)
            return true;
    return false;
}
