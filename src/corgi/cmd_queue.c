/* cmd_queue.c - corgi queue: jobs and how they fare */
#include "corgi/commands.h"

#include "corgi/daemon.h"
#include "corgi/view.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE 500

struct queue_args {
    struct daemon_args daemon;
    const char *state, *user, *name, *type, *node;
    bool me, all;
    int limit;
};

static const struct option_spec options[] = {
    {.name = "state",
     .letter = 's',
     .type = OPTION_STRING,
     .argument = "STATE,...",
     .offset = offsetof(struct queue_args, state),
     .help =
         "waiting, held, running, done, failed, cancelled; without it the first three"},
    {.name = "all",
     .letter = 'a',
     .type = OPTION_FLAG,
     .offset = offsetof(struct queue_args, all),
     .help = "jobs that have ended, too"},
    {.name = "user",
     .letter = 'u',
     .type = OPTION_STRING,
     .argument = "USER",
     .offset = offsetof(struct queue_args, user),
     .help = "jobs of this user"},
    {.name = "me",
     .type = OPTION_FLAG,
     .offset = offsetof(struct queue_args, me),
     .help = "jobs of mine"},
    {.name = "name",
     .letter = 'n',
     .type = OPTION_STRING,
     .argument = "NAME",
     .offset = offsetof(struct queue_args, name),
     .help = "jobs of this name"},
    {.name = "type",
     .letter = 't',
     .type = OPTION_STRING,
     .argument = "TYPE",
     .offset = offsetof(struct queue_args, type),
     .help = "jobs that run on this GPU type"},
    {.name = "node",
     .letter = 'w',
     .type = OPTION_STRING,
     .argument = "NODE",
     .offset = offsetof(struct queue_args, node),
     .help = "jobs that run on this node"},
    {.name = "limit",
     .letter = 'l',
     .type = OPTION_INT,
     .argument = "COUNT",
     .min = 1,
     .max = 1000000,
     .default_text = "1000",
     .offset = offsetof(struct queue_args, limit),
     .help = "most jobs to list"},
    DAEMON_JSON_OPTION(struct queue_args),
    DAEMON_PARSABLE_OPTION(struct queue_args),
    DAEMON_CONNECT_OPTIONS(struct queue_args),
    {0},
};

/* Where it runs, or in brackets why it does not: as in squeue. */
static void add_place(struct view *v, const struct json_value *job)
{
    const struct json_value *devices = json_value_get(job, "devices");
    const char *reason = view_text(job, "reason");
    struct str text = {0};

    for (size_t i = 0; i < json_value_count(devices); i++) {
        const struct json_value *d = json_value_item(devices, i);
        const char *name = view_text(d, "name"), *type = view_text(d, "type");

        str_addf(&text, "%s%s", i ? "," : "", name ? name : "?");
        if (i + 1 == json_value_count(devices) && type)
            str_addf(&text, " %s", type);
    }
    if (text.length == 0 && reason)
        str_addf(&text, "(%s)", reason);
    view_cell(v, str_text(&text));
    str_fini(&text);
}

static void add_rate(struct view *v, const struct json_value *job)
{
    double rate = view_number(job, "rate"), needed = view_number(job, "required_rate");
    double ratio = view_number(job, "rate_ratio");
    char a[VIEW_SIZE], b[VIEW_SIZE];

    if (!isfinite(rate) && !(needed > 0)) {
        view_cell(v, NULL);
        return;
    }
    view_cellf(v, "%s/%s", view_rate(a, rate), needed > 0 ? view_rate(b, needed) : "-");
    if (isfinite(ratio))
        view_mark(v, ratio < 1 ? TABLE_BAD : TABLE_GOOD);
}

static void add_job(struct view *v, const struct json_value *job, double now_s)
{
    const char *state = view_text(job, "state");
    double started_s = view_number(job, "started_s");
    double ended_s = view_number(job, "ended_s");
    char a[VIEW_SIZE];

    view_row(v);
    view_cellf(v, "%.0f", view_number(job, "id"));
    view_cell(v, view_text(job, "name"));
    view_cell(v, view_text(job, "user"));
    view_cell(v, state);
    if (state && !strcmp(state, "failed"))
        view_mark(v, TABLE_BAD);
    else if (state && strcmp(state, "running") != 0)
        view_mark(v, TABLE_DIM);
    view_cell(v, view_elapsed(a, (isfinite(ended_s) ? ended_s : now_s) - started_s));
    view_cellf(v, "%.0f", view_number(job, "gpus"));
    add_rate(v, job);
    view_cell(v, view_joules(a, view_number(job, "joules")));
    add_place(v, job);
}

/* Whom the daemon takes us for; the caller frees. */
static int find_me(const struct command_call *call, const struct queue_args *args,
                   char *name, size_t size)
{
    struct client_answer answer;
    const char *user;
    int status = daemon_fetch(call, &args->daemon, "/v1/whoami", &answer);

    if (status)
        return status;
    user = view_text(daemon_root(&answer), "user");
    str_copy(name, size, user ? user : "");
    client_answer_fini(&answer);
    return 0;
}

static void make_path(struct str *path, const struct queue_args *args, const char *user,
                      int count, const char *after)
{
    char limit[16];

    snprintf(limit, sizeof(limit), "%d", count < PAGE ? count : PAGE);
    str_clear(path);
    str_add(path, "/v1/jobs");
    daemon_add_query(path, "state",
                     args->state ? args->state
                     : args->all ? NULL
                                 : "active");
    daemon_add_query(path, "user", user);
    daemon_add_query(path, "name", args->name);
    daemon_add_query(path, "type", args->type);
    daemon_add_query(path, "node", args->node);
    daemon_add_query(path, "order", args->all || args->state ? "newest" : "queue");
    daemon_add_query(path, "limit", limit);
    daemon_add_query(path, "after", after);
}

static int ask_now(const struct command_call *call, const struct queue_args *args,
                   double *now_s)
{
    struct client_answer answer;
    int status = daemon_fetch(call, &args->daemon, "/v1/version", &answer);

    if (status)
        return status;
    *now_s = view_number(daemon_root(&answer), "now_s");
    client_answer_fini(&answer);
    return 0;
}

/* Page after page into the view, or as JSON as they come; the exit status. */
static int list(const struct command_call *call, const struct queue_args *args,
                const char *user, struct view *v)
{
    struct str path = {0}, after = {0};
    double now_s = NAN;
    int left = args->limit;
    int status = args->daemon.json ? 0 : ask_now(call, args, &now_s);

    if (status)
        return status;
    do {
        struct client_answer answer;
        const struct json_value *jobs;
        const char *next;

        make_path(&path, args, user, left, after.length ? str_text(&after) : NULL);
        status = daemon_fetch(call, &args->daemon, str_text(&path), &answer);
        if (status)
            break;
        jobs = json_value_get(daemon_root(&answer), "jobs");
        for (size_t i = 0; i < json_value_count(jobs); i++)
            add_job(v, json_value_item(jobs, i), now_s);
        left -= (int)json_value_count(jobs);
        next = json_value_count(jobs) ? view_text(daemon_root(&answer), "next") : NULL;
        str_clear(&after);
        str_add(&after, next ? next : "");
        if (args->daemon.json)
            daemon_print_json(&answer);
        client_answer_fini(&answer);
    } while (after.length && left > 0);
    str_fini(&path);
    str_fini(&after);
    return status;
}

static int run(struct command_call *call)
{
    const struct queue_args *args = call->args;
    const char *user = args->user;
    char me[80];
    struct err err = {0};
    struct view *v;
    int status;

    if (args->me && args->user)
        return command_wrong_use(call, "--me and --user exclude each other");
    if (args->all && args->state)
        return command_wrong_use(call, "--all and --state exclude each other");
    if (args->me) {
        status = find_me(call, args, me, sizeof(me));
        if (status)
            return status;
        user = me;
    }
    v = view_create();
    view_columns(v,
                 ">JOBID NAME USER STATE >TIME >GPUS >RATE/NEED >ENERGY WHERE(REASON)");
    status = list(call, args, user, v);
    if (status == 0 && !args->daemon.json &&
        view_print(v, args->daemon.parsable, &err) < 0)
        status = command_failed(call, &err);
    view_destroy(v);
    return status;
}

const struct command cmd_queue = {
    .name = "queue",
    .summary = "list jobs: where they run or why they wait",
    .help =
        "RATE/NEED is the measured rate over the one required now.  With --json every "
        "page of the answer is one line.",
    .examples = "corgi queue --me\ncorgi queue --state running --type v100\n"
                "corgi queue --all --limit 20 --parsable",
    .options = options,
    .args_size = sizeof(struct queue_args),
    .run = run,
};
