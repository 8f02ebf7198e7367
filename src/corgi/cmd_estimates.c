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

static void add_neighbours(struct view *v, const struct json_value *cell, const void *ctx)
{
    const struct json_value *list = json_value_get(cell, "beside");
    struct str text = {0};

    (void)ctx;
    for (size_t i = 0; i < json_value_count(list); i++)
        str_addf(&text, "%s%.0f", i ? "," : "",
                 view_number(json_value_item(list, i), "job"));
    view_cell(v, text.length ? str_text(&text) : "alone");
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

static int print_cells(const struct command_call *call, const struct json_value *root,
                       struct err *err)
{
    const struct daemon_args *args = call->args;
    struct view *v = view_create(columns);
    int rc;

    view_rows(v, json_value_get(root, "cells"), NULL);
    rc = view_print(v, args->parsable, err);
    view_destroy(v);
    if (rc == 0 && view_flag(root, "truncated"))
        fprintf(stderr, "there are more; see --type and --limit\n");
    return rc;
}

static int run(struct command_call *call)
{
    const struct estimates_args *args = call->args;
    struct str path = {0};

    str_add(&path, "/v1/estimates");
    daemon_add_query(&path, "job", call->operands[0]);
    daemon_add_query(&path, "type", args->type);
    daemon_add_query(&path, "beside", args->beside);
    daemon_add_count(&path, "limit", args->limit);
    return daemon_show(call, &path, print_cells);
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
