/* handle_cluster.c - nodes and devices: looking, draining, power */
#include "service/handlers.h"

#include "base/parse.h"
#include "engine/conduct.h"
#include "loop/cluster.h"
#include "service/tx.h"
#include "service/views.h"
#include "store/rows.h"

#include <math.h>
#include <string.h>

/* What a route is about. */
struct target {
    bool node; /* else a device */
    int at;
};

/* False: answered with 404. */
static bool find(struct service *s, struct request *r, bool node, struct target *t)
{
    const char *what = node ? "node" : "device", *name = request_param(r, what);

    t->node = node;
    if (node)
        t->at = service_node_named(s, name);
    else if (!parse_int(name, &t->at) || t->at < 0 ||
             t->at >= loop_cluster(s->loop)->device_count)
        t->at = service_device_named(s, name);
    if (t->at < 0)
        request_answer_error(r, 404, "not_found", NULL, "there is no %s '%s'", what,
                             name);
    return t->at >= 0;
}

/* ---- looking ---------------------------------------------------------------------- */

void handle_list_nodes(void *ctx, struct request *r)
{
    struct service *s = ctx;
    const struct cluster *c = loop_cluster(s->loop);
    struct handlers_answer a;
    int state = -1;

    if (!handlers_choice(r, "state", views_node_states, &state))
        return;
    handlers_begin(&a, r, "nodes");
    for (int n = 0; n < c->node_count; n++)
        if (state < 0 || (int)c->nodes[n].state == state)
            views_node(&a.out, s, n, &r->identity);
    json_out_end(&a.out);
    json_out_key_bool(&a.out, "simulated", s->config.engine == SERVICE_ENGINE_SIM);
    handlers_answer(&a, 200);
}

void handle_list_devices(void *ctx, struct request *r)
{
    static const char *const states[] = {"free",   "busy",   "drained",
                                         "failed", "asleep", NULL};
    struct service *s = ctx;
    const struct cluster *c = loop_cluster(s->loop);
    const char *node = uri_query_get(&r->query, "node"),
               *type = uri_query_get(&r->query, "type");
    struct handlers_answer a;
    int state = -1;

    if (!handlers_choice(r, "state", states, &state))
        return;
    handlers_begin(&a, r, "devices");
    for (int d = 0; d < c->device_count; d++)
        if ((!node || strcmp(c->nodes[c->devices[d].node].name, node) == 0) &&
            (!type || gpu_named(&c->types[c->devices[d].type], type)) &&
            (state < 0 || strcmp(views_device_state(c, d), states[state]) == 0))
            views_device(&a.out, s, d, &r->identity);
    handlers_answer(&a, 200);
}

static void write_target(struct handlers_answer *a, struct service *s, struct request *r,
                         struct target t)
{
    handlers_value(a, r);
    (t.node ? views_node : views_device)(&a->out, s, t.at, &r->identity);
}

static void show(struct service *s, struct request *r, bool node)
{
    struct handlers_answer a;
    struct target t;

    if (!find(s, r, node, &t))
        return;
    write_target(&a, s, r, t);
    handlers_answer(&a, 200);
}

void handle_show_node(void *ctx, struct request *r)
{
    show(ctx, r, true);
}

void handle_show_device(void *ctx, struct request *r)
{
    show(ctx, r, false);
}

/* ---- an operator's word ----------------------------------------------------------- */

static bool begin_change(struct service *s, struct request *r, bool node,
                         struct target *t)
{
    return handlers_may_act(s, r) && find(s, r, node, t);
}

/* What was said is stored, told and answered. */
static void finish(struct service *s, struct request *r, struct target t,
                   const char *what)
{
    const char *user = r->identity.name, *said = handlers_reason(r);
    struct device_more *device = t.node ? NULL : &s->devices[t.at];
    struct node_more *node = t.node ? &s->nodes[t.at] : NULL;
    const struct cluster *c = loop_cluster(s->loop);
    const char *name = node ? c->nodes[t.at].name : device->name;
    char *reason = node ? node->reason : device->reason;
    struct tx *tx = tx_begin(s);
    struct handlers_answer a;
    struct json_out *out;

    str_copy(reason, SERVICE_REASON_SIZE, said ? said : "");
    store_put(tx_batch(tx),
              &(struct store_operator){
                  .scope = node ? STORE_NODE : STORE_DEVICE,
                  .name = name,
                  .drained = node ? node->drained : c->devices[t.at].drained,
                  .power = node ? (enum store_power_wish)node->power : STORE_POWER_AUTO,
                  .cap_watts = device ? device->wish_watts : 0,
                  .reason = reason[0] ? reason : NULL,
                  .user = user,
                  .at_s = service_now_s(s)});
    out = tx_event(tx, node ? "node" : "device", NULL);
    json_out_key_string(out, "name", name);
    json_out_key_string(out, "what", what);
    json_out_key_string(out, "by", user);
    json_out_key_string(out, "reason", said);
    json_out_key_number(out, "at_s", service_now_s(s));
    write_target(&a, s, r, t);
    handlers_commit(&a, tx, 200);
    service_want_round(s);
}

static void drain_node(struct service *s, int node, bool drained)
{
    const struct node *n = &loop_cluster(s->loop)->nodes[node];

    s->nodes[node].drained = drained;
    for (int i = 0; i < n->device_count; i++)
        loop_drain(s->loop, n->first_device + i, drained, service_now_s(s), NULL);
}

void handle_drain_node(void *ctx, struct request *r)
{
    struct target t;

    if (!begin_change(ctx, r, true, &t))
        return;
    drain_node(ctx, t.at, true);
    finish(ctx, r, t, "drain");
}

void handle_resume_node(void *ctx, struct request *r)
{
    struct service *s = ctx;
    struct target t;

    if (!begin_change(s, r, true, &t))
        return;
    drain_node(s, t.at, false);
    s->nodes[t.at].power = STORE_POWER_AUTO;
    loop_allow_sleep(s->loop, t.at, true, service_now_s(s));
    if (loop_cluster(s->loop)->nodes[t.at].state == NODE_DOWN)
        loop_node_repaired(s->loop, t.at, service_now_s(s));
    finish(s, r, t, "resume");
}

void handle_drain_device(void *ctx, struct request *r)
{
    struct service *s = ctx;
    struct target t;

    if (!begin_change(s, r, false, &t))
        return;
    loop_drain(s->loop, t.at, true, service_now_s(s), NULL);
    finish(s, r, t, "drain");
}

void handle_resume_device(void *ctx, struct request *r)
{
    struct service *s = ctx;
    struct target t;

    if (!begin_change(s, r, false, &t))
        return;
    loop_drain(s->loop, t.at, false, service_now_s(s), NULL);
    if (loop_cluster(s->loop)->devices[t.at].failed)
        loop_device_repaired(s->loop, t.at, service_now_s(s));
    finish(s, r, t, "resume");
}

/* ---- power ------------------------------------------------------------------------ */

static bool wake(struct service *s, struct request *r, int node)
{
    struct err err = {0};

    if (loop_cluster(s->loop)->nodes[node].state == NODE_FALLING) {
        request_answer_error(r, 409, "exists", NULL,
                             "node %s is falling asleep; wake it when it sleeps",
                             loop_cluster(s->loop)->nodes[node].name);
        return false;
    }
    if (loop_cluster(s->loop)->nodes[node].state == NODE_ASLEEP) {
        if (s->engine.ops->wake(s->engine.self, node, &err) < 0) {
            request_fail(r, NULL, &err);
            return false;
        }
        loop_set_node(s->loop, node, NODE_WAKING, service_now_s(s));
    }
    if (s->nodes[node].power == STORE_POWER_OFF)
        drain_node(s, node, false);
    s->nodes[node].power = STORE_POWER_ON;
    loop_allow_sleep(s->loop, node, false, service_now_s(s));
    return true;
}

static bool put_to_sleep(struct service *s, struct request *r, int node)
{
    const struct cluster *c = loop_cluster(s->loop);
    struct err err = {0};

    if (cluster_node_jobs(c, node) > 0 || c->nodes[node].state == NODE_WAKING) {
        request_answer_error(r, 409, "exists", NULL,
                             "node %s has jobs or is waking; drain it first",
                             c->nodes[node].name);
        return false;
    }
    if (c->nodes[node].state == NODE_AWAKE &&
        conduct_order(s->loop, &s->engine,
                      &(struct action){.kind = ACTION_SLEEP, .node = node},
                      service_now_s(s), &err) < 0) {
        request_fail(r, NULL, &err);
        return false;
    }
    drain_node(s, node, true); /* else the next plan wakes it again */
    s->nodes[node].power = STORE_POWER_OFF;
    return true;
}

void handle_power_node(void *ctx, struct request *r)
{
    const char *state;
    struct target t;
    bool awake;

    if (!begin_change(ctx, r, true, &t))
        return;
    state = json_value_string(json_value_get(r->body, "state"));
    awake = strcmp(state, "awake") == 0;
    if (awake ? wake(ctx, r, t.at) : put_to_sleep(ctx, r, t.at))
        finish(ctx, r, t, awake ? "wake" : "sleep");
}

void handle_power_device(void *ctx, struct request *r)
{
    struct service *s = ctx;
    double watts = NAN;
    struct err err = {0};
    struct target t;

    if (!begin_change(s, r, false, &t))
        return;
    json_value_number(json_value_get(r->body, "cap_watts"), &watts);
    if (watts == 0)
        watts = NAN;
    if (loop_fix_cap(s->loop, t.at, watts, service_now_s(s), &err) < 0) {
        request_fail(r, "cap_watts", &err);
        return;
    }
    if (s->engine.ops->cap(s->engine.self, t.at, isnan(watts) ? 0 : watts, &err) < 0) {
        loop_fix_cap(s->loop, t.at, NAN, service_now_s(s), NULL);
        request_fail(r, "cap_watts", &err);
        return;
    }
    s->devices[t.at].wish_watts = isnan(watts) ? 0 : watts;
    finish(s, r, t, isnan(watts) ? "uncap" : "cap");
}
