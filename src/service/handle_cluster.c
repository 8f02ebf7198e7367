/* handle_cluster.c - nodes and devices: looking, draining, power */
#include "service/handlers.h"

#include "base/parse.h"
#include "loop/cluster.h"
#include "service/rounds.h"
#include "service/tx.h"
#include "service/views.h"
#include "store/store_settings.h"

#include <math.h>
#include <string.h>

/* ---- finding ---------------------------------------------------------------------- */

static int find_node(struct service *s, struct request *r)
{
    int node = service_node_named(s, request_param(r, "node"));

    if (node < 0)
        request_answer_error(r, 404, "not_found", NULL, "there is no node '%s'",
                             request_param(r, "node"));
    return node;
}

static int find_device(struct service *s, struct request *r)
{
    const char *name = request_param(r, "device");
    int device;

    if (!parse_int(name, &device) || device < 0 ||
        device >= loop_cluster(s->loop)->device_count)
        device = service_device_named(s, name);
    if (device < 0)
        request_answer_error(r, 404, "not_found", NULL, "there is no device '%s'", name);
    return device;
}

/* ---- looking ---------------------------------------------------------------------- */

void handle_list_nodes(void *ctx, struct request *r)
{
    static const char *const states[] = {"awake", "asleep", "waking", "down", NULL};
    struct service *s = ctx;
    const struct cluster *c = loop_cluster(s->loop);
    struct handlers_answer a;
    int state = -1;

    if (!handlers_choice(r, "state", states, &state))
        return;
    handlers_begin(&a, r, "nodes");
    for (int n = 0; n < c->node_count; n++)
        if (state < 0 || (int)c->nodes[n].state == state)
            views_node(&a.out, s, n, &r->identity);
    handlers_answer(&a, 200);
}

static void node_text(struct service *s, const struct request *r, int node,
                      struct str *text)
{
    struct json_out out;

    json_out_init(&out, text, false);
    views_node(&out, s, node, &r->identity);
}

static void device_text(struct service *s, const struct request *r, int device,
                        struct str *text)
{
    struct json_out out;

    json_out_init(&out, text, false);
    views_device(&out, s, device, &r->identity);
}

void handle_show_node(void *ctx, struct request *r)
{
    struct service *s = ctx;
    int node = find_node(s, r);
    struct str text = {0};

    if (node < 0)
        return;
    node_text(s, r, node, &text);
    request_answer(r, 200, &text);
}

static bool device_fits(const struct service *s, int device, const char *node,
                        const char *type, int state)
{
    const struct cluster *c = loop_cluster(s->loop);
    const struct device *d = &c->devices[device];
    enum node_state n = c->nodes[d->node].state;
    bool failed = d->failed || n == NODE_DOWN;
    bool is[] = {!failed && !d->drained && d->job_count == 0 && n != NODE_ASLEEP,
                 !failed && !d->drained && d->job_count > 0, !failed && d->drained,
                 failed, !failed && !d->drained && d->job_count == 0 && n == NODE_ASLEEP};

    return (!node || strcmp(c->nodes[d->node].name, node) == 0) &&
           (!type || gpu_named(&c->types[d->type], type)) && (state < 0 || is[state]);
}

void handle_list_devices(void *ctx, struct request *r)
{
    static const char *const states[] = {"free",   "busy",   "drained",
                                         "failed", "asleep", NULL};
    struct service *s = ctx;
    const char *node = uri_query_get(&r->query, "node"),
               *type = uri_query_get(&r->query, "type");
    struct handlers_answer a;
    int state = -1;

    if (!handlers_choice(r, "state", states, &state))
        return;
    handlers_begin(&a, r, "devices");
    for (int d = 0; d < loop_cluster(s->loop)->device_count; d++)
        if (device_fits(s, d, node, type, state))
            views_device(&a.out, s, d, &r->identity);
    handlers_answer(&a, 200);
}

void handle_show_device(void *ctx, struct request *r)
{
    struct service *s = ctx;
    int device = find_device(s, r);
    struct str text = {0};

    if (device < 0)
        return;
    device_text(s, r, device, &text);
    request_answer(r, 200, &text);
}

/* ---- an operator's word ----------------------------------------------------------- */

static void put_node_word(struct service *s, struct tx *tx, int n, const char *user)
{
    store_put_operator(tx_batch(tx),
                       &(struct store_operator){
                           .scope = STORE_NODE,
                           .name = loop_cluster(s->loop)->nodes[n].name,
                           .drained = s->nodes[n].drained,
                           .power = (enum store_power_wish)s->nodes[n].power,
                           .reason = s->nodes[n].reason[0] ? s->nodes[n].reason : NULL,
                           .user = user,
                           .at_s = service_now_s(s)});
}

static void put_device_word(struct service *s, struct tx *tx, int d, const char *user)
{
    store_put_operator(
        tx_batch(tx), &(struct store_operator){
                          .scope = STORE_DEVICE,
                          .name = s->devices[d].name,
                          .drained = loop_cluster(s->loop)->devices[d].drained,
                          .cap_watts = s->devices[d].wish_watts,
                          .reason = s->devices[d].reason[0] ? s->devices[d].reason : NULL,
                          .user = user,
                          .at_s = service_now_s(s)});
}

static void event(struct service *s, struct tx *tx, const struct request *r,
                  const char *type, const char *name, const char *what)
{
    struct str data = {0};
    struct json_out out;

    json_out_init(&out, &data, false);
    json_out_begin_object(&out);
    json_out_key_string(&out, "name", name);
    json_out_key_string(&out, "what", what);
    json_out_key_string(&out, "by", r->identity.name);
    json_out_key_string(&out, "reason", handlers_reason(r));
    json_out_key_number(&out, "at_s", service_now_s(s));
    json_out_end(&out);
    tx_event(tx, type, NULL, &data);
}

static void finish_node(struct service *s, struct request *r, int node, const char *what)
{
    const char *reason = handlers_reason(r);
    struct tx *tx = tx_begin(s);
    struct str text = {0};

    str_copy(s->nodes[node].reason, sizeof(s->nodes[node].reason), reason ? reason : "");
    put_node_word(s, tx, node, r->identity.name);
    event(s, tx, r, "node", loop_cluster(s->loop)->nodes[node].name, what);
    node_text(s, r, node, &text);
    handlers_commit(tx, r, 200, &text);
    rounds_poke(s);
}

static void finish_device(struct service *s, struct request *r, int device,
                          const char *what)
{
    const char *reason = handlers_reason(r);
    struct tx *tx = tx_begin(s);
    struct str text = {0};

    str_copy(s->devices[device].reason, sizeof(s->devices[device].reason),
             reason ? reason : "");
    put_device_word(s, tx, device, r->identity.name);
    event(s, tx, r, "device", s->devices[device].name, what);
    device_text(s, r, device, &text);
    handlers_commit(tx, r, 200, &text);
    rounds_poke(s);
}

static void set_drained(struct service *s, int node, bool drained)
{
    const struct node *n = &loop_cluster(s->loop)->nodes[node];

    s->nodes[node].drained = drained;
    for (int i = 0; i < n->device_count; i++)
        loop_drain(s->loop, n->first_device + i, drained, service_now_s(s), NULL);
}

void handle_drain_node(void *ctx, struct request *r)
{
    struct service *s = ctx;
    int node;

    if (!handlers_writable(s, r) || (node = find_node(s, r)) < 0)
        return;
    set_drained(s, node, true);
    finish_node(s, r, node, "drain");
}

void handle_resume_node(void *ctx, struct request *r)
{
    struct service *s = ctx;
    int node;

    if (!handlers_writable(s, r) || (node = find_node(s, r)) < 0)
        return;
    set_drained(s, node, false);
    s->nodes[node].power = STORE_POWER_AUTO;
    loop_allow_sleep(s->loop, node, true, service_now_s(s));
    if (loop_cluster(s->loop)->nodes[node].state == NODE_DOWN)
        loop_node_repaired(s->loop, node, service_now_s(s));
    finish_node(s, r, node, "resume");
}

void handle_drain_device(void *ctx, struct request *r)
{
    struct service *s = ctx;
    int device;

    if (!handlers_writable(s, r) || (device = find_device(s, r)) < 0)
        return;
    loop_drain(s->loop, device, true, service_now_s(s), NULL);
    finish_device(s, r, device, "drain");
}

void handle_resume_device(void *ctx, struct request *r)
{
    struct service *s = ctx;
    int device;

    if (!handlers_writable(s, r) || (device = find_device(s, r)) < 0)
        return;
    loop_drain(s->loop, device, false, service_now_s(s), NULL);
    if (loop_cluster(s->loop)->devices[device].failed)
        loop_device_repaired(s->loop, device, service_now_s(s));
    finish_device(s, r, device, "resume");
}

/* ---- power ------------------------------------------------------------------------ */

static bool wake(struct service *s, struct request *r, int node)
{
    struct err err = {0};

    if (loop_cluster(s->loop)->nodes[node].state == NODE_ASLEEP) {
        if (s->engine.ops->wake(s->engine.self, node, &err) < 0) {
            request_fail(r, NULL, &err);
            return false;
        }
        loop_set_node(s->loop, node, NODE_WAKING, service_now_s(s));
    }
    if (s->nodes[node].power == STORE_POWER_OFF)
        set_drained(s, node, false);
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
    if (c->nodes[node].state == NODE_AWAKE) {
        if (s->engine.ops->sleep(s->engine.self, node, &err) < 0) {
            request_fail(r, NULL, &err);
            return false;
        }
        loop_set_node(s->loop, node, NODE_ASLEEP, service_now_s(s));
    }
    set_drained(s, node, true); /* else the next plan wakes it again */
    s->nodes[node].power = STORE_POWER_OFF;
    return true;
}

void handle_power_node(void *ctx, struct request *r)
{
    struct service *s = ctx;
    const char *state;
    bool awake;
    int node;

    if (!handlers_writable(s, r) || (node = find_node(s, r)) < 0)
        return;
    state = json_value_string(json_value_get(r->body, "state"));
    awake = strcmp(state, "awake") == 0;
    if (awake ? wake(s, r, node) : put_to_sleep(s, r, node))
        finish_node(s, r, node, awake ? "wake" : "sleep");
}

void handle_power_device(void *ctx, struct request *r)
{
    struct service *s = ctx;
    double watts = NAN;
    struct err err = {0};
    int device;

    if (!handlers_writable(s, r) || (device = find_device(s, r)) < 0)
        return;
    json_value_number(json_value_get(r->body, "cap_watts"), &watts);
    if (watts == 0)
        watts = NAN;
    if (loop_fix_cap(s->loop, device, watts, service_now_s(s), &err) < 0) {
        request_fail(r, "cap_watts", &err);
        return;
    }
    if (s->engine.ops->cap(s->engine.self, device, isnan(watts) ? 0 : watts, &err) < 0) {
        loop_fix_cap(s->loop, device, NAN, service_now_s(s), NULL);
        request_fail(r, "cap_watts", &err);
        return;
    }
    s->devices[device].wish_watts = isnan(watts) ? 0 : watts;
    finish_device(s, r, device, isnan(watts) ? "uncap" : "cap");
}
