/* cmd_nodes.c - corgi nodes: nodes, their GPUs and what runs there */
#include "corgi/commands.h"

#include "corgi/daemon.h"
#include "corgi/view.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct nodes_args {
    struct daemon_args daemon;
    int state;
};

static const char *const states[] = {"any", "awake", "asleep", "waking", "down", NULL};

static const struct option_spec options[] = {
    OPT(struct nodes_args, state, CHOICE, "state", 's', "STATE", "nodes in this state",
        .choices = states, .default_text = "any"),
    DAEMON_TABLE_OPTIONS,
    {0},
};

/* The row is a GPU; ctx is its node. */
static void add_jobs(struct table *t, const struct json_value *device, const void *ctx)
{
    const struct json_value *jobs = json_value_get(device, "jobs");
    struct str text = {0};

    (void)ctx;
    for (size_t i = 0; i < json_value_count(jobs); i++) {
        const struct json_value *job = json_value_item(jobs, i);

        str_addf(&text, "%s%.0f", i ? "," : "", view_number(job, "job"));
        if (view_text(job, "name"))
            str_addf(&text, ":%s", view_text(job, "name"));
    }
    view_cell(t, str_text(&text));
    str_fini(&text);
}

static void mark_state(struct table *t, const char *state)
{
    if (!strcmp(state, "failed") || !strcmp(state, "down"))
        table_mark(t, TABLE_BAD);
    else if (!strcmp(state, "asleep") || !strcmp(state, "drained"))
        table_mark(t, TABLE_DIM);
}

static void add_node_state(struct table *t, const struct json_value *device,
                           const void *ctx)
{
    const char *state = view_text_or(ctx, "state", "-");

    (void)device;
    table_cellf(t, "%s%s", state, view_flag(ctx, "drained") ? "+drained" : "");
    mark_state(t, state);
}

static void add_use(struct table *t, const struct json_value *device, const void *ctx)
{
    (void)ctx;
    view_cell(t, view_text(device, "state"));
    mark_state(t, view_text_or(device, "state", ""));
}

static void add_power(struct table *t, const struct json_value *device, const void *ctx)
{
    char a[VIEW_SIZE];

    (void)ctx;
    table_cellf(t, "%s%s", view_watts(a, view_number(device, "watts")),
                view_flag(device, "modelled") ? "*" : "");
}

static void add_reason(struct table *t, const struct json_value *device, const void *ctx)
{
    view_cell(t, view_text_or(device, "reason", view_text(ctx, "reason")));
}

static const struct view_column columns[] = {
    {"NODE", .key = "^name"},
    {"STATE", .add = add_node_state},
    {"GPU", .key = "name"},
    {"TYPE", .key = "type"},
    {"USE", .add = add_use},
    {">POWER", .add = add_power},
    {">CAP", .key = "cap_watts", .as = VIEW_WATTS},
    {"JOBS", .add = add_jobs},
    {"REASON", .add = add_reason},
    {0},
};

static int run(struct command_call *call)
{
    const struct nodes_args *args = call->args;
    struct daemon_view view = {.path = call->operands[0] ? "/v1/nodes/%s" : "/v1/nodes",
                               .list = "nodes",
                               .rows = "devices",
                               .columns = columns};
    struct str query = {0};

    if (!call->operands[0] && args->state)
        daemon_add_query(&query, "state", states[args->state]);
    return daemon_show(call, &view, &query, NULL);
}

const struct command cmd_nodes = {
    .name = "nodes",
    .summary = "list nodes, their GPUs and what runs there",
    .help = "A * behind a power says that it comes from a model and not from a meter.",
    .examples = "corgi nodes\ncorgi nodes gpu07 --json",
    .operands = "[NODE]",
    .operand_max = 1,
    .options = options,
    .args_size = sizeof(struct nodes_args),
    .run = run,
};
