/* cmd_estimates.c - corgi estimates: what is believed of jobs on GPU types */
#include "corgi/commands.h"

#include "corgi/daemon.h"
#include "corgi/view.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct estimates_args {
    struct daemon_args daemon;
    const char *type, *beside;
    int limit;
};

static const struct option_spec options[] = {
    OPT(struct estimates_args, type, STRING, "type", 't', "TYPE", "on this GPU type"),
    OPT(struct estimates_args, beside, STRING, "beside", 'b', "WHOM",
        "none: alone; all: also beside every other job; or the number of one",
        .default_text = "none"),
    OPT(struct estimates_args, limit, INT, "limit", 'l', "COUNT", "most lines", .min = 1,
        .max = 1000, .default_text = "1000"),
    DAEMON_TABLE_OPTIONS,
    {0},
};

static void add_neighbours(struct table *t, const struct json_value *cell,
                           const void *ctx)
{
    const struct json_value *list = json_value_get(cell, "beside");
    struct str text = {0};

    (void)ctx;
    for (size_t i = 0; i < json_value_count(list); i++)
        str_addf(&text, "%s%.0f", i ? "," : "",
                 view_number(json_value_item(list, i), "job"));
    view_cell(t, text.length ? str_text(&text) : "alone");
    str_fini(&text);
}

static const struct view_column columns[] = {
    {">JOB", .key = "job", .as = VIEW_COUNT},
    {"NAME", .key = "name"},
    {"TYPE", .key = "type"},
    {"BESIDE", .add = add_neighbours},
    {">RATE", .key = "rate.value", .as = VIEW_RATE},
    {">LOW", .key = "rate.low", .as = VIEW_RATE},
    {">HIGH", .key = "rate.high", .as = VIEW_RATE},
    {"SOURCE", .key = "rate.source"},
    {">SEEN", .key = "rate.observations", .as = VIEW_RATE},
    {">POWER", .key = "watts.value", .as = VIEW_WATTS},
    {">FITS", .key = "fits", .as = VIEW_SHARE},
    {"MEETS", .key = "meets", .as = VIEW_YES_NO},
    {0},
};

static void say_truncated(const struct command_call *call, const struct json_value *root)
{
    (void)call;
    if (view_flag(root, "truncated"))
        fprintf(stderr, "there are more; see --type and --limit\n");
}

static const struct daemon_view view = {
    .path = "/v1/estimates", .list = "cells", .columns = columns, .after = say_truncated};

static int run(struct command_call *call)
{
    const struct estimates_args *args = call->args;
    struct str query = {0};

    daemon_add_query(&query, "job", call->operands[0]);
    daemon_add_query(&query, "type", args->type);
    daemon_add_query(&query, "beside", args->beside);
    daemon_add_count(&query, "limit", args->limit);
    return daemon_show(call, &view, &query, NULL);
}

const struct command cmd_estimates = {
    .name = "estimates",
    .summary = "show how jobs are believed to run on each GPU type",
    .help = "RATE with its 90 % interval; SOURCE says whether it comes from data sheets "
            "(initial), from other measurements (correlated) or from measuring this very "
            "case (measured).",
    .examples = "corgi estimates 7\ncorgi estimates 7 --beside all --type v100",
    .operands = "[JOB]",
    .operand_max = 1,
    .options = options,
    .args_size = sizeof(struct estimates_args),
    .run = run,
};
