/* cmd_energy.c - corgi energy: where the joules went */
#include "corgi/commands.h"

#include "corgi/daemon.h"
#include "corgi/view.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

struct energy_args {
    struct daemon_args daemon;
    int by;
    const char *job, *user, *device;
    double last_s;
    int limit;
};

static const char *const keys[] = {"user", "job",   "device", "node",
                                   "type", "total", NULL};

static const struct option_spec options[] = {
    OPT(struct energy_args, by, CHOICE, "by", 'b', "KEY", "a line for each of these",
        .choices = keys, .default_text = "user"),
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

/* Idle devices save nothing; what a choice cost more has a minus. */
static void add_saved(struct table *t, const struct json_value *row, const void *ctx)
{
    double joules = view_number(row, "saved_joules");
    char a[VIEW_SIZE];

    (void)ctx;
    if (fabs(joules) > 0)
        table_cellf(t, "%s%s", joules < 0 ? "-" : "", view_joules(a, fabs(joules)));
    else
        view_cell(t, NULL);
}

static const struct view_column columns[] = {
    {"KEY", .key = "key"},
    {"NAME", .key = "name"},
    {">ENERGY", .key = "joules", .as = VIEW_JOULES},
    {">RANGE", .add = add_range},
    {">SHARE", .add = add_share},
    {">GPU-HOURS", .add = add_hours},
    {">PER-STEP", .add = add_per_step},
    {">MODELLED", .key = "modelled_share", .as = VIEW_SHARE},
    {">SAVED", .add = add_saved},
    {0},
};

static void print_total(const struct command_call *call, const struct json_value *root)
{
    const struct daemon_args *args = call->args;
    char a[VIEW_SIZE];

    if (!args->parsable)
        printf("together %s\n", view_joules(a, view_number(root, "joules")));
}

static const struct daemon_view view = {
    .path = "/v1/energy", .list = "rows", .columns = columns, .after = print_total};

static int run(struct command_call *call)
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
    daemon_add_query(&query, "by", keys[args->by]);
    daemon_add_query(&query, "job", args->job);
    daemon_add_query(&query, "user", args->user);
    daemon_add_query(&query, "device", args->device);
    daemon_add_query(&query, "from_s", *from ? from : NULL);
    daemon_add_count(&query, "limit", args->limit);
    return daemon_show(call, &view, &query, NULL);
}

const struct command cmd_energy = {
    .name = "energy",
    .summary = "show energy by user, job, GPU, node or type",
    .help =
        "MODELLED is the share that comes from a model of power and not from a meter; "
        "RANGE is what the energy of a job on a shared GPU lies between. SAVED is "
        "estimated "
        "against each job alone on the fastest type that was free when it was placed.",
    .examples = "corgi energy --last 7d\ncorgi energy --by job --user ada",
    .options = options,
    .args_size = sizeof(struct energy_args),
    .run = run,
};
