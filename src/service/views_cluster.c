/* views_cluster.c - nodes and devices as JSON, see views.h */
#include "service/views.h"

#include "loop/cluster.h"

#include <math.h>

static const char *device_state(const struct cluster *c, int device)
{
    const struct device *d = &c->devices[device];
    enum node_state node = c->nodes[d->node].state;

    if (d->failed || node == NODE_DOWN)
        return "failed";
    if (d->drained)
        return "drained";
    if (d->job_count > 0)
        return "busy";
    return node == NODE_ASLEEP ? "asleep" : "free";
}

void views_device(struct json_out *out, const struct service *s, int device,
                  const struct auth_identity *who)
{
    const struct cluster *c = loop_cluster(s->loop);
    const struct device *d = &c->devices[device];
    const struct device_more *more = &s->devices[device];

    json_out_begin_object(out);
    json_out_key_int(out, "id", device);
    json_out_key_string(out, "name", more->name);
    json_out_key_string(out, "node", c->nodes[d->node].name);
    json_out_key_string(out, "type", c->types[d->type].name);
    json_out_key_string(out, "state", device_state(c, device));
    json_out_key_string(out, "reason", more->reason[0] ? more->reason : NULL);
    views_number(out, "cap_watts", d->cap_watts > 0 ? d->cap_watts : NAN);
    views_number(out, "watts", more->watts);
    json_out_key_bool(out, "modelled", more->modelled);
    json_out_key_number(out, "joules", more->joules);
    json_out_key_number(out, "memory_gb", c->types[d->type].memory_gb);
    json_out_key(out, "jobs");
    json_out_begin_array(out);
    for (int i = 0; i < d->job_count; i++)
        views_neighbour(out, s, d->jobs[i], who);
    json_out_end(out);
    json_out_end(out);
}

static double host_watts(const struct node *node)
{
    if (node->state == NODE_DOWN)
        return 0;
    return node->state == NODE_ASLEEP ? node->sleep_watts : node->host_watts;
}

void views_node(struct json_out *out, const struct service *s, int n,
                const struct auth_identity *who)
{
    static const char *const states[] = {"awake", "asleep", "waking", "down"};
    const struct cluster *c = loop_cluster(s->loop);
    const struct node *node = &c->nodes[n];
    double watts = host_watts(node);

    for (int i = 0; i < node->device_count; i++)
        if (isfinite(s->devices[node->first_device + i].watts))
            watts += s->devices[node->first_device + i].watts;
    json_out_begin_object(out);
    json_out_key_string(out, "name", node->name);
    json_out_key_string(out, "state", states[node->state]);
    json_out_key_bool(out, "drained", s->nodes[n].drained);
    json_out_key_string(out, "reason", s->nodes[n].reason[0] ? s->nodes[n].reason : NULL);
    json_out_key_number(out, "since_s", node->since_s);
    json_out_key_bool(out, "may_sleep", node->may_sleep);
    views_number(out, "watts", watts);
    json_out_key_number(out, "host_watts", node->host_watts);
    json_out_key_int(out, "jobs", cluster_node_jobs(c, n));
    json_out_key(out, "devices");
    json_out_begin_array(out);
    for (int i = 0; i < node->device_count; i++)
        views_device(out, s, node->first_device + i, who);
    json_out_end(out);
    json_out_end(out);
}
