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
    {.name = "by",
     .letter = 'b',
     .type = OPTION_CHOICE,
     .argument = "KEY",
     .choices = keys,
     .default_text = "user",
     .offset = offsetof(struct energy_args, by),
     .help = "a line for each of these"},
    {.name = "job",
     .type = OPTION_STRING,
     .argument = "JOB",
     .offset = offsetof(struct energy_args, job),
     .help = "of this job"},
    {.name = "user",
     .letter = 'u',
     .type = OPTION_STRING,
     .argument = "USER",
     .offset = offsetof(struct energy_args, user),
     .help = "of this user"},
    {.name = "device",
     .type = OPTION_STRING,
     .argument = "NODE:INDEX",
     .offset = offsetof(struct energy_args, device),
     .help = "of this GPU"},
    {.name = "last",
     .letter = 'l',
     .type = OPTION_SECONDS,
     .argument = "TIME",
     .min = 1,
     .max = 3155760000.0,
     .offset = offsetof(struct energy_args, last_s),
     .help = "of the last so many hours or days, as 7d; of all time without it"},
    {.name = "limit",
     .type = OPTION_INT,
     .argument = "COUNT",
     .min = 1,
     .max = 1000,
     .default_text = "100",
     .offset = offsetof(struct energy_args, limit),
     .help = "most lines"},
    DAEMON_JSON_OPTION(struct energy_args),
    DAEMON_PARSABLE_OPTION(struct energy_args),
    DAEMON_CONNECT_OPTIONS(struct energy_args),
    {0},
};

/* Idle devices save nothing; what a choice cost more has a minus. */
static const char *view_saved(char text[VIEW_SIZE], double joules)
{
    char amount[VIEW_SIZE];

    if (!(fabs(joules) > 0))
        return NULL;
    snprintf(text, VIEW_SIZE, "%s%s", joules < 0 ? "-" : "",
             view_joules(amount, fabs(joules)));
    return text;
}

static void add_row(struct view *v, const struct json_value *row, double total)
{
    double joules = view_number(row, "joules"), gpu_s = view_number(row, "gpu_s");
    double modelled = view_number(row, "modelled_share");
    double steps = view_number(row, "steps");
    char a[VIEW_SIZE], b[VIEW_SIZE];

    view_row(v);
    view_cell(v, view_text(row, "key"));
    view_cell(v, view_text(row, "name"));
    view_cell(v, view_joules(a, joules));
    if (isfinite(view_number(row, "joules_low")))
        view_cellf(v, "%s-%s", view_joules(a, view_number(row, "joules_low")),
                   view_joules(b, view_number(row, "joules_high")));
    else
        view_cell(v, NULL);
    if (total > 0)
        view_cellf(v, "%.1f%%", 100 * joules / total);
    else
        view_cell(v, NULL);
    if (isfinite(gpu_s))
        view_cellf(v, "%.1f", gpu_s / 3600);
    else
        view_cell(v, NULL);
    view_cell(v, steps > 0 ? view_joules(a, joules / steps) : NULL);
    if (isfinite(modelled))
        view_cellf(v, "%.0f%%", 100 * modelled);
    else
        view_cell(v, NULL);
    view_cell(v, view_saved(a, view_number(row, "saved_joules")));
}

static int print_rows(const struct energy_args *args, const struct json_value *root,
                      struct err *err)
{
    const struct json_value *rows = json_value_get(root, "rows");
    double total = view_number(root, "joules");
    struct view *v = view_create();
    char a[VIEW_SIZE];
    int rc;

    view_columns(v,
                 "KEY NAME >ENERGY >RANGE >SHARE >GPU-HOURS >PER-STEP >MODELLED >SAVED");
    for (size_t i = 0; i < json_value_count(rows); i++)
        add_row(v, json_value_item(rows, i), total);
    rc = view_print(v, args->daemon.parsable, err);
    view_destroy(v);
    if (rc == 0 && !args->daemon.parsable)
        printf("together %s\n", view_joules(a, total));
    return rc;
}

/* On the daemon's clock, which may be a simulated one. */
static int begin_of(const struct command_call *call, const struct energy_args *args,
                    char *from, size_t size)
{
    struct client_answer answer;
    int status = daemon_fetch(call, &args->daemon, "/v1/version", &answer);
    double now_s;

    if (status)
        return status;
    now_s = view_number(daemon_root(&answer), "now_s");
    client_answer_fini(&answer);
    if (!isfinite(now_s))
        now_s = (double)time(NULL);
    snprintf(from, size, "%.3f", now_s > args->last_s ? now_s - args->last_s : 0);
    return 0;
}

static int run(struct command_call *call)
{
    const struct energy_args *args = call->args;
    struct client_answer answer;
    struct str path = {0};
    struct err err = {0};
    char from[40] = "", limit[16];
    int status = 0;

    if (args->last_s > 0)
        status = begin_of(call, args, from, sizeof(from));
    if (status)
        return status;
    snprintf(limit, sizeof(limit), "%d", args->limit);
    str_add(&path, "/v1/energy");
    daemon_add_query(&path, "by", keys[args->by]);
    daemon_add_query(&path, "job", args->job);
    daemon_add_query(&path, "user", args->user);
    daemon_add_query(&path, "device", args->device);
    daemon_add_query(&path, "from_s", *from ? from : NULL);
    daemon_add_query(&path, "limit", limit);
    status = daemon_fetch(call, &args->daemon, str_text(&path), &answer);
    str_fini(&path);
    if (status)
        return status;
    if (args->daemon.json)
        daemon_print_json(&answer);
    else if (print_rows(args, daemon_root(&answer), &err) < 0)
        status = command_failed(call, &err);
    client_answer_fini(&answer);
    return status;
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
