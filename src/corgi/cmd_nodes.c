/* cmd_nodes.c - corgi nodes: the cluster, a line a node or a line a GPU; daemon.c asks
 * and shows */
#include "corgi/commands.h"

#include "base/vec.h"
#include "corgi/daemon.h"
#include "corgi/view.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TYPES 64

struct nodes_args {
    struct daemon_args daemon;
    int state;
    bool devices;
};

static const char *const nodes_states[] = {"any",  "awake",          "asleep", "waking",
                                           "down", "falling_asleep", NULL};

static const struct option_spec nodes_options[] = {
    OPT(struct nodes_args, state, CHOICE, "state", 's', "STATE", "nodes in this state",
        .choices = nodes_states, .default_text = "any"),
    OPT(struct nodes_args, devices, FLAG, "devices", 'd', NULL,
        "a line for each GPU; without it one for each node"),
    DAEMON_TABLE_OPTIONS,
    {0},
};

static void mark_state(struct table *t, const char *state)
{
    if (!strcmp(state, "failed") || !strcmp(state, "down"))
        table_mark(t, TABLE_BAD);
    else if (!strcmp(state, "asleep") || !strcmp(state, "drained"))
        table_mark(t, TABLE_DIM);
}

/* ---- a line a GPU: the row is one, ctx is its node ----------------------------------
 */

static void add_jobs(struct table *t, const struct json_value *device, const void *ctx)
{
    const struct json_value *jobs = json_value_get(device, "jobs");
    struct str text = {0};

    (void)ctx;
    for (size_t i = 0; i < json_value_count(jobs); i++) {
        const struct json_value *job = json_value_item(jobs, i);

        str_addf(&text, "%s%.0f", i ? "," : "", view_number(job, "job"));
        if (json_member_string(job, "name"))
            str_addf(&text, ":%s", json_member_string(job, "name"));
    }
    view_cell(t, str_text(&text));
    str_fini(&text);
}

static void add_node_state(struct table *t, const struct json_value *device,
                           const void *ctx)
{
    const char *state = view_text_or(ctx, "state", "-");

    (void)device;
    table_cellf(t, "%s%s%s", state,
                json_member_bool(ctx, "drained", false) ? "+drained" : "",
                view_number(ctx, "reserved_s") > 0 ? "+reserved" : "");
    mark_state(t, state);
}

static void add_use(struct table *t, const struct json_value *device, const void *ctx)
{
    (void)ctx;
    view_cell(t, json_member_string(device, "state"));
    mark_state(t, view_text_or(device, "state", ""));
}

static void add_power(struct table *t, const struct json_value *device, const void *ctx)
{
    char a[VIEW_SIZE];

    (void)ctx;
    table_cellf(t, "%s%s", view_watts(a, view_number(device, "watts")),
                json_member_bool(device, "modelled", false) ? "*" : "");
}

static void add_reason(struct table *t, const struct json_value *device, const void *ctx)
{
    view_cell(t, view_text_or(device, "reason", json_member_string(ctx, "reason")));
}

static const struct view_column device_columns[] = {
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

/* ---- a line a node ----------------------------------------------------------------- */

/* What some nodes have, and do; types in order of first sight. */
struct sum {
    int nodes, asleep_nodes, gpus, busy, free, asleep, type_count;
    double watts;
    bool modelled;
    struct {
        const char *name;
        int count;
    } types[MAX_TYPES];
};

static void add_type(struct sum *sum, const char *name)
{
    int i = 0;

    while (i < sum->type_count && strcmp(sum->types[i].name, name) != 0)
        i++;
    if (i == MAX_TYPES)
        return;
    if (i == sum->type_count)
        sum->types[sum->type_count++].name = name;
    sum->types[i].count++;
}

static void add_node(struct sum *sum, const struct json_value *node)
{
    const struct json_value *devices = json_value_get(node, "devices");

    sum->nodes++;
    sum->asleep_nodes += !strcmp(view_text_or(node, "state", ""), "asleep");
    sum->watts += view_number(node, "watts");
    for (size_t i = 0; i < json_value_count(devices); i++) {
        const struct json_value *d = json_value_item(devices, i);
        const char *state = view_text_or(d, "state", "");

        sum->gpus++;
        sum->busy += !strcmp(state, "busy") || !strcmp(state, "leaving");
        sum->free += !strcmp(state, "free");
        sum->asleep += !strcmp(state, "asleep");
        sum->modelled |= json_member_bool(d, "modelled", false);
        add_type(sum, view_text_or(d, "type", "?"));
    }
}

static int by_number(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* A job on several GPUs, or nodes, is one. */
static int count_jobs(const struct json_value *nodes)
{
    vec_of(double) ids = {0};
    int count = 0;

    for (size_t n = 0; n < json_value_count(nodes); n++) {
        const struct json_value *devices =
            json_value_get(json_value_item(nodes, n), "devices");

        for (size_t i = 0; i < json_value_count(devices); i++) {
            const struct json_value *jobs =
                json_value_get(json_value_item(devices, i), "jobs");

            for (size_t k = 0; k < json_value_count(jobs); k++)
                vec_push(&ids, view_number(json_value_item(jobs, k), "job"));
        }
    }
    if (ids.count > 0)
        qsort(ids.items, ids.count, sizeof(double), by_number);
    for (size_t i = 0; i < ids.count; i++)
        count += i == 0 || by_number(&ids.items[i], &ids.items[i - 1]) != 0;
    vec_free(&ids);
    return count;
}

static struct sum sum_of(const struct json_value *node)
{
    struct sum sum = {0};

    add_node(&sum, node);
    return sum;
}

/* "8 v100-16, 4 k80" */
static void type_words(const struct sum *sum, struct str *text)
{
    for (int i = 0; i < sum->type_count; i++)
        str_addf(text, "%s%d %s", i ? ", " : "", sum->types[i].count, sum->types[i].name);
}

static void add_state(struct table *t, const struct json_value *node, const void *ctx)
{
    (void)ctx;
    add_node_state(t, NULL, node);
}

static void add_types(struct table *t, const struct json_value *node, const void *ctx)
{
    struct sum sum = sum_of(node);
    struct str text = {0};

    (void)ctx;
    type_words(&sum, &text);
    view_cell(t, str_text(&text));
    str_fini(&text);
}

static void add_busy(struct table *t, const struct json_value *node, const void *ctx)
{
    struct sum sum = sum_of(node);

    (void)ctx;
    table_cellf(t, "%d/%d", sum.busy, sum.gpus);
}

static void add_node_power(struct table *t, const struct json_value *node,
                           const void *ctx)
{
    char a[VIEW_SIZE];

    (void)ctx;
    table_cellf(t, "%s%s", view_watts(a, view_number(node, "watts")),
                sum_of(node).modelled ? "*" : "");
}

static const struct view_column node_columns[] = {
    {"NODE", .key = "name"},
    {"STATE", .add = add_state},
    {"GPUS", .add = add_types},
    {">BUSY", .add = add_busy},
    {">JOBS", .key = "jobs", .as = VIEW_COUNT},
    {">POWER", .add = add_node_power},
    {"REASON", .key = "reason"},
    {0},
};

static void print_total(const struct command_call *call, const struct json_value *root)
{
    const struct nodes_args *args = call->args;
    const struct json_value *list = json_value_get(root, "nodes");
    struct sum sum = {0};
    struct str types = {0};
    char a[VIEW_SIZE], b[VIEW_SIZE], c[VIEW_SIZE], d[VIEW_SIZE];

    if (args->daemon.parsable)
        return;
    for (size_t i = 0; i < json_value_count(list); i++)
        add_node(&sum, json_value_item(list, i));
    if (sum.nodes == 0) {
        printf("no node is in that state\n");
        return;
    }
    type_words(&sum, &types);
    printf("together %s, %d asleep; %s (%s): %d busy, %d free, %d asleep; %s; %s%s%s\n",
           view_plural(a, sum.nodes, "node"), sum.asleep_nodes,
           view_plural(b, sum.gpus, "GPU"), str_text(&types), sum.busy, sum.free,
           sum.asleep, view_plural(c, count_jobs(list), "job"), view_watts(d, sum.watts),
           sum.modelled ? "*" : "",
           json_member_bool(root, "simulated", false) ? " (simulated)" : "");
    str_fini(&types);
}

static int run_nodes(struct command_call *call)
{
    const struct nodes_args *args = call->args;
    bool one = call->operands[0] != NULL;
    struct daemon_view view = {.path = one ? "/v1/nodes/%s" : "/v1/nodes",
                               .list = "nodes",
                               .rows = one || args->devices ? "devices" : NULL,
                               .columns =
                                   one || args->devices ? device_columns : node_columns,
                               .after = one ? NULL : print_total};
    struct str query = {0};

    if (!one && args->state)
        daemon_add_query(&query, "state", nodes_states[args->state]);
    return daemon_show(call, &view, &query, NULL);
}

const struct command cmd_nodes = {
    .name = "nodes",
    .summary = "list nodes, their GPUs and what runs there",
    .help = "A line for each node and the sum of all; of one node, or with --devices, a "
            "line for each GPU.  A * behind a power says that it comes from a model and "
            "not from a meter.",
    .examples = "corgi nodes\ncorgi nodes --devices\ncorgi nodes volta-1 --json",
    .operands = "[NODE]",
    .options = nodes_options,
    .args_size = sizeof(struct nodes_args),
    .run = run_nodes,
};
