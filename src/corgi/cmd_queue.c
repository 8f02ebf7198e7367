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
    OPT(struct queue_args, state, STRING, "state", 's', "STATE,...",
        "waiting, held, running, leaving, done, failed, cancelled; without it the "
        "first four"),
    OPT(struct queue_args, all, FLAG, "all", 'a', NULL, "jobs that have ended, too"),
    OPT(struct queue_args, user, STRING, "user", 'u', "USER", "jobs of this user"),
    OPT(struct queue_args, me, FLAG, "me", 0, NULL, "jobs of mine"),
    OPT(struct queue_args, name, STRING, "name", 'n', "NAME", "jobs of this name"),
    OPT(struct queue_args, type, STRING, "type", 't', "TYPE",
        "jobs that run on this GPU type"),
    OPT(struct queue_args, node, STRING, "node", 'w', "NODE",
        "jobs that run on this node"),
    OPT(struct queue_args, limit, INT, "limit", 'l', "COUNT", "most jobs to list",
        .min = 1, .max = 1000000, .default_text = "1000"),
    DAEMON_TABLE_OPTIONS,
    {0},
};

static void add_state(struct table *t, const struct json_value *job, const void *ctx)
{
    const char *state = json_member_string(job, "state");

    (void)ctx;
    view_cell(t, state);
    if (state && !strcmp(state, "failed"))
        table_mark(t, TABLE_BAD);
    else if (state && strcmp(state, "running") != 0)
        table_mark(t, TABLE_DIM);
}

static void add_time(struct table *t, const struct json_value *job, const void *now_s)
{
    double ended_s = view_number(job, "ended_s");
    char a[VIEW_SIZE];

    if (!isfinite(ended_s))
        ended_s = *(const double *)now_s;
    view_cell(t, view_elapsed(a, ended_s - view_number(job, "started_s")));
}

static void add_rate(struct table *t, const struct json_value *job, const void *ctx)
{
    double rate = view_number(job, "rate"), needed = view_number(job, "required_rate");
    double ratio = view_number(job, "rate_ratio");
    char a[VIEW_SIZE], b[VIEW_SIZE];

    (void)ctx;
    if (!isfinite(rate) && isfinite(view_number(job, "ended_s")))
        rate = view_number(job, "mean_rate");
    if (!isfinite(rate) && !(needed > 0)) {
        view_cell(t, NULL);
        return;
    }
    table_cellf(t, "%s/%s%s", view_rate(a, rate), needed > 0 ? view_rate(b, needed) : "-",
                isfinite(view_number(job, "promised_rate")) || !(needed > 0) ? "" : "?");
    if (isfinite(ratio) && isfinite(view_number(job, "promised_rate")))
        table_mark(t, ratio < 1 ? TABLE_BAD : TABLE_GOOD);
}

/* Where it runs, or in brackets why it does not: as in squeue. */
static void add_place(struct table *t, const struct json_value *job, const void *ctx)
{
    const struct json_value *devices = json_value_get(job, "devices");
    const char *reason = json_member_string(job, "reason");
    const char *state = view_text_or(job, "state", "");
    struct str text = {0};

    (void)ctx;
    for (size_t i = 0; i < json_value_count(devices); i++) {
        const struct json_value *d = json_value_item(devices, i);

        str_addf(&text, "%s%s", i ? "," : "", view_text_or(d, "name", "?"));
        if (i + 1 == json_value_count(devices) && json_member_string(d, "type"))
            str_addf(&text, " %s", json_member_string(d, "type"));
    }
    if (reason && *reason && (text.length == 0 || !strcmp(state, "failed")))
        str_addf(&text, "%s(%s)", text.length ? " " : "", reason);
    view_cell(t, str_text(&text));
    str_fini(&text);
}

/* The row is a job; ctx is the time now. */
static const struct view_column columns[] = {
    {">JOBID", .key = "id", .as = VIEW_COUNT},
    {"NAME", .key = "name"},
    {"?USER", .key = "user"},
    {"STATE", .add = add_state},
    {">TIME", .add = add_time},
    {"?>GPUS", .key = "gpus", .as = VIEW_COUNT},
    {">RATE/NEED", .add = add_rate},
    {"?>ENERGY", .key = "joules", .as = VIEW_JOULES},
    {"WHERE(REASON)", .add = add_place},
    {0},
};

/* Whom the daemon takes us for. */
static int find_me(const struct command_call *call, char *name, size_t size)
{
    struct client_answer answer;
    int status = daemon_send(call, HTTP_GET, "/v1/whoami", NULL, &answer);

    if (status)
        return status;
    str_copy(name, size, view_text_or(daemon_root(&answer), "user", ""));
    client_answer_fini(&answer);
    return 0;
}

static void make_path(struct str *path, const struct queue_args *args, const char *user,
                      int count, const char *after)
{
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
    daemon_add_count(path, "limit", count < PAGE ? count : PAGE);
    daemon_add_query(path, "after", after);
}

struct queue_listing {
    struct table *table;
    size_t count;
    double now_s;   /* on the daemon's clock */
    bool simulated; /* which is a simulated one */
};

static int ask_clock(const struct command_call *call, struct queue_listing *listed)
{
    struct client_answer answer;
    int status = daemon_send(call, HTTP_GET, "/v1/version", NULL, &answer);

    if (status)
        return status;
    listed->now_s = view_number(daemon_root(&answer), "now_s");
    listed->simulated = !strcmp(view_text_or(daemon_root(&answer), "engine", ""), "sim");
    client_answer_fini(&answer);
    return 0;
}

/* Page after page into the view, or as JSON as they come; the exit status. */
static int list(const struct command_call *call, const struct queue_args *args,
                const char *user, struct queue_listing *listed)
{
    struct str path = {0}, after = {0};
    int left = args->limit;
    int status = args->daemon.json ? 0 : ask_clock(call, listed);

    if (status)
        return status;
    do {
        struct client_answer answer;
        const struct json_value *jobs;
        const char *next;

        make_path(&path, args, user, left, after.length ? str_text(&after) : NULL);
        status = daemon_send(call, HTTP_GET, str_text(&path), NULL, &answer);
        if (status)
            break;
        jobs = json_value_get(daemon_root(&answer), "jobs");
        view_rows(listed->table, columns, jobs, &listed->now_s);
        listed->count += json_value_count(jobs);
        left -= (int)json_value_count(jobs);
        next = json_value_count(jobs) ? json_member_string(daemon_root(&answer), "next")
                                      : NULL;
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

/* To people, not to scripts: what the daemon has to say of itself. */
static void print_warnings(const struct command_call *call)
{
    const struct json_value *warnings;
    struct client_answer answer;

    if (daemon_send(call, HTTP_GET, "/v1/summary", NULL, &answer))
        return;
    warnings = json_value_get(daemon_root(&answer), "warnings");
    for (size_t i = 0; i < json_value_count(warnings); i++)
        fprintf(stderr, "corgid warns: %s\n",
                json_value_string(json_value_item(warnings, i)));
    client_answer_fini(&answer);
}

/* What the table does not say. */
static void print_rest(const struct queue_args *args, const struct queue_listing *listed)
{
    if (listed->count == 0 && !args->all && !args->state)
        printf("no job waits or runs%s; 'corgi queue --all' lists those that ended\n",
               args->user || args->me || args->name || args->type || args->node
                   ? " of those asked for"
                   : "");
    else if (listed->count == 0)
        printf("there is no such job\n");
    else if (listed->simulated)
        printf("times and energy are simulated\n");
}

static int run(struct command_call *call)
{
    const struct queue_args *args = call->args;
    const char *user = args->user;
    char me[80];
    struct queue_listing listed = {0};
    struct err err = {0};
    int status;

    if (args->me && args->user)
        return command_wrong_use(call, "--me and --user exclude each other");
    if (args->all && args->state)
        return command_wrong_use(call, "--all and --state exclude each other");
    if (args->me) {
        status = find_me(call, me, sizeof(me));
        if (status)
            return status;
        user = me;
    }
    listed.table = view_table(columns);
    status = list(call, args, user, &listed);
    if (status || args->daemon.json)
        table_destroy(listed.table);
    else if (view_finish(listed.table, args->daemon.parsable, &err) < 0)
        status = command_failed(call, &err);
    if (!status && !args->daemon.json && !args->daemon.parsable) {
        print_rest(args, &listed);
        print_warnings(call);
    }
    return status;
}

const struct command cmd_queue = {
    .name = "queue",
    .summary = "list jobs: where they run or why they wait",
    .help = "RATE/NEED is the measured rate over the one required now, of a job that has "
            "ended its mean rate.  With --json every "
            "page of the answer is one line.",
    .examples = "corgi queue --me\ncorgi queue --state running --type v100\n"
                "corgi queue --all --limit 20 --parsable",
    .options = options,
    .args_size = sizeof(struct queue_args),
    .run = run,
};
