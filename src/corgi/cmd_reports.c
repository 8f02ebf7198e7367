/* cmd_reports.c - corgi energy and corgi estimates: what the daemon has measured and
 * believes, as tables; daemon.c asks and shows */
#include "corgi/commands.h"

#include "corgi/daemon.h"
#include "corgi/view.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* ---- energy: where the joules went ------------------------------------------------- */

struct energy_args {
    struct daemon_args daemon;
    int by;
    const char *job, *user, *device;
    double last_s;
    int limit;
};

static const char *const energy_keys[] = {"user", "account", "job",   "device",
                                          "node", "type",    "total", NULL};

static const struct option_spec energy_options[] = {
    OPT(struct energy_args, by, CHOICE, "by", 'b', "KEY", "a line for each of these",
        .choices = energy_keys, .default_text = "user"),
    OPT(struct energy_args, job, STRING, "job", 0, "JOB", "of this job"),
    OPT(struct energy_args, user, STRING, "user", 'u', "USER", "of this user"),
    OPT(struct energy_args, device, STRING, "device", 0, "NODE:INDEX", "of this GPU"),
    OPT(struct energy_args, last_s, SECONDS, "last", 'l', "TIME",
        "of the last so many hours or days, as 7d; of all time without it", .min = 1,
        .max = 3155760000.0),
    OPT(struct energy_args, limit, INT, "limit", 0, "COUNT", "most lines", .min = 1,
        .max = 1000, .default_text = "100"),
    DAEMON_TABLE_OPTIONS,
    {0},
};

static void add_range(struct table *t, const struct json_value *row, const void *ctx)
{
    char a[VIEW_SIZE], b[VIEW_SIZE];

    (void)ctx;
    if (isfinite(view_number(row, "joules_low")))
        table_cellf(t, "%s-%s", view_joules(a, view_number(row, "joules_low")),
                    view_joules(b, view_number(row, "joules_high")));
    else
        view_cell(t, NULL);
}

/* The row is a line of the answer; ctx is the answer. */
static void add_share(struct table *t, const struct json_value *row, const void *ctx)
{
    double all = view_number(ctx, "joules");

    if (all > 0)
        table_cellf(t, "%.1f%%", 100 * view_number(row, "joules") / all);
    else
        view_cell(t, NULL);
}

static void add_hours(struct table *t, const struct json_value *row, const void *ctx)
{
    double gpu_s = view_number(row, "gpu_s");

    (void)ctx;
    if (isfinite(gpu_s))
        table_cellf(t, "%.1f", gpu_s / 3600);
    else
        view_cell(t, NULL);
}

static void add_per_step(struct table *t, const struct json_value *row, const void *ctx)
{
    double steps = view_number(row, "steps");
    char a[VIEW_SIZE];

    (void)ctx;
    view_cell(t, steps > 0 ? view_joules(a, view_number(row, "joules") / steps) : NULL);
}

/* What a choice cost more has a minus; where nobody knows there is none. */
static void add_saved(struct table *t, const struct json_value *row, const void *ctx)
{
    double joules = view_number(row, "saved_joules");
    char a[VIEW_SIZE], b[VIEW_SIZE];

    (void)ctx;
    if (isfinite(joules))
        table_cellf(t, "%s%s ±%s", joules < 0 ? "-" : "", view_joules(a, fabs(joules)),
                    view_joules(b, view_number(row, "saved_joules_high") - joules));
    else
        view_cell(t, NULL);
}

static const struct view_column energy_columns[] = {
    {"KEY", .key = "key"},
    {"NAME", .key = "name"},
    {">ENERGY", .key = "joules", .as = VIEW_JOULES},
    {"?>RANGE", .add = add_range},
    {"?>SHARE", .add = add_share},
    {"?>GPU-HOURS", .add = add_hours},
    {"?>PER-STEP", .add = add_per_step},
    {">MODELLED", .key = "modelled_share", .as = VIEW_SHARE},
    {">SAVED", .add = add_saved},
    {0},
};

static void print_total(const struct command_call *call, const struct json_value *root)
{
    const struct daemon_args *args = call->args;
    double saved = view_number(root, "saved_joules");
    char a[VIEW_SIZE], b[VIEW_SIZE];

    if (args->parsable)
        return;
    printf("together %s", view_joules(a, view_number(root, "joules")));
    if (isfinite(view_number(root, "cost")))
        printf(", %.2f %s", view_number(root, "cost"),
               view_text_or(root, "currency", ""));
    if (isfinite(view_number(root, "co2_g")))
        printf(", %.3g kg CO2", view_number(root, "co2_g") / 1000);
    if (isfinite(saved))
        printf("; saved %s%s ±%s", saved < 0 ? "-" : "", view_joules(a, fabs(saved)),
               view_joules(b, view_number(root, "saved_joules_high") - saved));
    putchar('\n');
}

static const struct daemon_view energy_view = {.path = "/v1/energy",
                                               .list = "rows",
                                               .columns = energy_columns,
                                               .after = print_total};

static int run_energy(struct command_call *call)
{
    const struct energy_args *args = call->args;
    struct str query = {0};
    char from[40] = "";
    double now_s;

    if (args->last_s > 0) { /* on the daemon's clock, which may be a simulated one */
        int status = daemon_fetch_number(call, "/v1/version", "now_s", &now_s);

        if (status)
            return status;
        if (!isfinite(now_s))
            now_s = (double)time(NULL);
        snprintf(from, sizeof(from), "%.3f", fmax(now_s - args->last_s, 0));
    }
    daemon_add_query(&query, "by", energy_keys[args->by]);
    daemon_add_query(&query, "job", args->job);
    daemon_add_query(&query, "user", args->user);
    daemon_add_query(&query, "device", args->device);
    daemon_add_query(&query, "from_s", *from ? from : NULL);
    daemon_add_count(&query, "limit", args->limit);
    return daemon_show(call, &energy_view, &query, NULL);
}

const struct command cmd_energy = {
    .name = "energy",
    .summary = "show energy by user, job, GPU, node or type",
    .help =
        "MODELLED is the share that comes from a model of power and not from a meter; "
        "RANGE is what the energy of a job on a shared GPU lies between. SAVED compares "
        "with each job alone on the fastest GPU that would have been free, by what is "
        "believed of it now, with a 90 % interval; a - means that this is not known. "
        "Energy of idle GPUs and of hosts is (idle). With a price in the daemon's config "
        "the sum is told in money and CO2 too.",
    .examples = "corgi energy --last 7d\ncorgi energy --by job --user ada",
    .options = energy_options,
    .args_size = sizeof(struct energy_args),
    .run = run_energy,
};

/* ---- estimates: what is believed of jobs on GPU types ------------------------------ */

struct estimates_args {
    struct daemon_args daemon;
    const char *type, *beside;
    int limit;
};

static const struct option_spec estimates_options[] = {
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

static const struct view_column estimates_columns[] = {
    {">JOB", .key = "job", .as = VIEW_COUNT},
    {"?NAME", .key = "name"},
    {"TYPE", .key = "type"},
    {"BESIDE", .add = add_neighbours},
    {">RATE", .key = "rate.value", .as = VIEW_RATE},
    {">LOW", .key = "rate.low", .as = VIEW_RATE},
    {">HIGH", .key = "rate.high", .as = VIEW_RATE},
    {"SOURCE", .key = "rate.source"},
    {"?>SEEN", .key = "rate.observations", .as = VIEW_RATE},
    {"?>POWER", .key = "watts.value", .as = VIEW_WATTS},
    {"?>FITS", .key = "fits", .as = VIEW_SHARE},
    {"MEETS", .key = "meets", .as = VIEW_YES_NO},
    {0},
};

static void say_truncated(const struct command_call *call, const struct json_value *root)
{
    (void)call;
    if (json_member_bool(root, "truncated", false))
        fprintf(stderr, "there are more; see --type and --limit\n");
}

static const struct daemon_view estimates_view = {.path = "/v1/estimates",
                                                  .list = "cells",
                                                  .columns = estimates_columns,
                                                  .after = say_truncated};

static int run_estimates(struct command_call *call)
{
    const struct estimates_args *args = call->args;
    struct str query = {0};

    daemon_add_query(&query, "job", call->operands[0]);
    daemon_add_query(&query, "type", args->type);
    daemon_add_query(&query, "beside", args->beside);
    daemon_add_count(&query, "limit", args->limit);
    return daemon_show(call, &estimates_view, &query, NULL);
}

const struct command cmd_estimates = {
    .name = "estimates",
    .summary = "show how jobs are believed to run on each GPU type",
    .help = "RATE with its 90 % interval; SOURCE says whether it comes from data sheets "
            "(initial), from other measurements (correlated) or from measuring this very "
            "case (measured).",
    .examples = "corgi estimates 7\ncorgi estimates 7 --beside all --type v100",
    .operands = "[JOB]",
    .options = estimates_options,
    .args_size = sizeof(struct estimates_args),
    .run = run_estimates,
};
