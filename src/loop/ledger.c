/* ledger.c - service/handle_submit.c and rounds.c, and lab/sim/sim_run.c call it with
 * what the doors of the loop gave them */
#include "loop/ledger.h"

#include "loop/place/place.h"

static void begin(struct json_out *out, struct str *line, double now_s)
{
    json_out_init(out, line, false);
    json_out_begin_object(out);
    json_out_key_number(out, "at_s", now_s);
}

void ledger_quote(struct str *line, double now_s, const struct cluster *cluster,
                  const struct quote *quote)
{
    struct json_out out;

    begin(&out, line, now_s);
    json_out_key(&out, "quote");
    quote_json(&out, cluster, quote);
    json_out_end(&out);
}

static void action_json(struct json_out *out, const struct action *a)
{
    json_out_begin_object(out);
    json_out_key_string(out, "kind", place_action_name(a->kind));
    if (a->job)
        json_out_key_int(out, "job", (int64_t)a->job);
    if (a->kind == ACTION_WAKE || a->kind == ACTION_SLEEP)
        json_out_key_int(out, "node", a->node);
    if (a->kind == ACTION_CAP) {
        json_out_key_int(out, "device", a->device);
        json_out_key_number(out, "cap_watts", a->cap_watts);
    }
    json_out_key(out, "devices");
    json_out_begin_array(out);
    for (int i = 0; i < a->device_count; i++)
        json_out_int(out, a->devices[i]);
    json_out_end(out);
    json_out_end(out);
}

void ledger_round(struct str *line, double now_s, const struct cluster *cluster,
                  const struct round_result *result)
{
    struct json_out out;

    begin(&out, line, now_s);
    json_out_key(&out, "plan");
    json_out_begin_array(&out);
    for (size_t i = 0; i < result->action_count; i++)
        action_json(&out, &result->actions[i]);
    json_out_end(&out);
    json_out_key(&out, "decisions");
    json_out_begin_array(&out);
    for (size_t i = 0; i < result->decision_count; i++)
        decision_json(&out, cluster, &result->decisions[i]);
    json_out_end(&out);
    json_out_end(&out);
}
