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
    {.name = "type",
     .letter = 't',
     .type = OPTION_STRING,
     .argument = "TYPE",
     .offset = offsetof(struct estimates_args, type),
     .help = "on this GPU type"},
    {.name = "beside",
     .letter = 'b',
     .type = OPTION_STRING,
     .argument = "WHOM",
     .default_text = "none",
     .offset = offsetof(struct estimates_args, beside),
     .help = "none: alone; all: also beside every other job; or the number of one"},
    {.name = "limit",
     .letter = 'l',
     .type = OPTION_INT,
     .argument = "COUNT",
     .min = 1,
     .max = 1000,
     .default_text = "1000",
     .offset = offsetof(struct estimates_args, limit),
     .help = "most lines"},
    DAEMON_JSON_OPTION(struct estimates_args),
    DAEMON_PARSABLE_OPTION(struct estimates_args),
    DAEMON_CONNECT_OPTIONS(struct estimates_args),
    {0},
};

static void add_neighbours(struct view *v, const struct json_value *list)
{
    struct str text = {0};

    for (size_t i = 0; i < json_value_count(list); i++)
        str_addf(&text, "%s%.0f", i ? "," : "",
                 view_number(json_value_item(list, i), "job"));
    view_cell(v, text.length ? str_text(&text) : "alone");
    str_fini(&text);
}

static void add_cell(struct view *v, const struct json_value *cell)
{
    const struct json_value *rate = json_value_get(cell, "rate");
    const struct json_value *watts = json_value_get(cell, "watts");
    double fits = view_number(cell, "fits");
    char a[VIEW_SIZE];

    view_row(v);
    view_cellf(v, "%.0f", view_number(cell, "job"));
    view_cell(v, view_text(cell, "name"));
    view_cell(v, view_text(cell, "type"));
    add_neighbours(v, json_value_get(cell, "beside"));
    view_cell(v, view_rate(a, view_number(rate, "value")));
    view_cell(v, view_rate(a, view_number(rate, "low")));
    view_cell(v, view_rate(a, view_number(rate, "high")));
    view_cell(v, view_text(rate, "source"));
    view_cell(v, view_rate(a, view_number(rate, "observations")));
    view_cell(v, view_watts(a, view_number(watts, "value")));
    if (isfinite(fits))
        view_cellf(v, "%.0f%%", 100 * fits);
    else
        view_cell(v, NULL);
    view_cell(v, json_value_kind(json_value_get(cell, "meets")) != JSON_KIND_BOOL ? NULL
                 : view_flag(cell, "meets")                                       ? "yes"
                                                                                  : "no");
}

static int print_cells(const struct estimates_args *args, const struct json_value *root,
                       struct err *err)
{
    const struct json_value *cells = json_value_get(root, "cells");
    struct view *v = view_create();
    int rc;

    view_columns(
        v, ">JOB NAME TYPE BESIDE >RATE >LOW >HIGH SOURCE >SEEN >POWER >FITS MEETS");
    for (size_t i = 0; i < json_value_count(cells); i++)
        add_cell(v, json_value_item(cells, i));
    rc = view_print(v, args->daemon.parsable, err);
    view_destroy(v);
    if (rc == 0 && view_flag(root, "truncated"))
        fprintf(stderr, "there are more; see --type and --limit\n");
    return rc;
}

static int run(struct command_call *call)
{
    const struct estimates_args *args = call->args;
    struct client_answer answer;
    struct str path = {0};
    struct err err = {0};
    char limit[16];
    int status;

    snprintf(limit, sizeof(limit), "%d", args->limit);
    str_add(&path, "/v1/estimates");
    daemon_add_query(&path, "job", call->operands[0]);
    daemon_add_query(&path, "type", args->type);
    daemon_add_query(&path, "beside", args->beside);
    daemon_add_query(&path, "limit", limit);
    status = daemon_fetch(call, &args->daemon, str_text(&path), &answer);
    str_fini(&path);
    if (status)
        return status;
    if (args->daemon.json)
        daemon_print_json(&answer);
    else if (print_cells(args, daemon_root(&answer), &err) < 0)
        status = command_failed(call, &err);
    client_answer_fini(&answer);
    return status;
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
