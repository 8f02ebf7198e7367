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
    {.name = "state",
     .letter = 's',
     .type = OPTION_CHOICE,
     .argument = "STATE",
     .choices = states,
     .default_text = "any",
     .offset = offsetof(struct nodes_args, state),
     .help = "nodes in this state"},
    DAEMON_JSON_OPTION(struct nodes_args),
    DAEMON_PARSABLE_OPTION(struct nodes_args),
    DAEMON_CONNECT_OPTIONS(struct nodes_args),
    {0},
};

static void add_jobs(struct view *v, const struct json_value *jobs)
{
    struct str text = {0};

    for (size_t i = 0; i < json_value_count(jobs); i++) {
        const struct json_value *job = json_value_item(jobs, i);

        str_addf(&text, "%s%.0f", i ? "," : "", view_number(job, "job"));
        if (view_text(job, "name"))
            str_addf(&text, ":%s", view_text(job, "name"));
    }
    view_cell(v, str_text(&text));
    str_fini(&text);
}

static void mark_state(struct view *v, const char *state)
{
    if (state && (!strcmp(state, "failed") || !strcmp(state, "down")))
        view_mark(v, TABLE_BAD);
    else if (state && (!strcmp(state, "asleep") || !strcmp(state, "drained")))
        view_mark(v, TABLE_DIM);
}

static void add_device(struct view *v, const struct json_value *node,
                       const struct json_value *d)
{
    const char *state = view_text(d, "state");
    const char *reason =
        view_text(d, "reason") ? view_text(d, "reason") : view_text(node, "reason");
    char a[VIEW_SIZE];

    view_row(v);
    view_cell(v, view_text(node, "name"));
    view_cellf(v, "%s%s", view_text(node, "state") ? view_text(node, "state") : "-",
               view_flag(node, "drained") ? "+drained" : "");
    mark_state(v, view_text(node, "state"));
    view_cell(v, view_text(d, "name"));
    view_cell(v, view_text(d, "type"));
    view_cell(v, state);
    mark_state(v, state);
    view_cellf(v, "%s%s", view_watts(a, view_number(d, "watts")),
               view_flag(d, "modelled") ? "*" : "");
    view_cell(v, view_watts(a, view_number(d, "cap_watts")));
    add_jobs(v, json_value_get(d, "jobs"));
    view_cell(v, reason);
}

static void add_node(struct view *v, const struct json_value *node)
{
    const struct json_value *devices = json_value_get(node, "devices");

    for (size_t i = 0; i < json_value_count(devices); i++)
        add_device(v, node, json_value_item(devices, i));
}

static int print_nodes(const struct nodes_args *args, const struct client_answer *answer,
                       struct err *err)
{
    const struct json_value *root = daemon_root(answer);
    const struct json_value *nodes = json_value_get(root, "nodes");
    struct view *v = view_create();
    int rc;

    view_columns(v, "NODE STATE GPU TYPE USE >POWER >CAP JOBS REASON");
    if (!nodes)
        add_node(v, root); /* one was asked for */
    for (size_t i = 0; i < json_value_count(nodes); i++)
        add_node(v, json_value_item(nodes, i));
    rc = view_print(v, args->daemon.parsable, err);
    view_destroy(v);
    return rc;
}

static int run(struct command_call *call)
{
    const struct nodes_args *args = call->args;
    struct client_answer answer;
    struct str path = {0};
    struct err err = {0};
    int status;

    str_add(&path, "/v1/nodes");
    if (call->operand_count)
        daemon_add_segment(&path, call->operands[0]);
    else if (args->state)
        daemon_add_query(&path, "state", states[args->state]);
    status = daemon_fetch(call, &args->daemon, str_text(&path), &answer);
    str_fini(&path);
    if (status)
        return status;
    if (args->daemon.json)
        daemon_print_json(&answer);
    else if (print_nodes(args, &answer, &err) < 0)
        status = command_failed(call, &err);
    client_answer_fini(&answer);
    return status;
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
