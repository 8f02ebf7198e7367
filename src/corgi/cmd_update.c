/* cmd_update.c - corgi update: what a job that waits or runs is to have from now on
 *
 * The daemon quotes the changed job first and takes the change only when it could be
 * kept; --accept takes the rate that was offered when what was asked for cannot be had.
 */
#include "corgi/commands.h"

#include "base/json_out.h"
#include "corgi/daemon.h"
#include "corgi/view.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct update_args {
    struct daemon_args daemon;
    bool accept;
    double min_rate, requests, latency_s;
    double steps, duration_s;
    const char *name;
};

static const struct option_spec options[] = {
    OPT(struct update_args, accept, FLAG, "accept", 'a', NULL,
        "take the rate it was offered"),
    OPT(struct update_args, min_rate, DOUBLE, "min-rate", 'r', "RATE",
        "steps/s it must do at least while it runs", .max = 1e9),
    OPT(struct update_args, requests, DOUBLE, "requests", 0, "RATE",
        "requests/s a service must stand", .max = 1e9),
    OPT(struct update_args, latency_s, SECONDS, "latency", 0, "TIME",
        "99th percentile a service must keep, as 50ms, with --requests", .max = 3600),
    OPT(struct update_args, steps, DOUBLE, "steps", 'n', "COUNT",
        "steps a training job has", .max = 1e15),
    OPT(struct update_args, duration_s, SECONDS, "duration", 0, "TIME",
        "how long a service is wanted", .max = 3155760000.0),
    OPT(struct update_args, name, STRING, "name", 'J', "NAME", "name of the job"),
    DAEMON_OPTIONS,
    {0},
};

static void add_need(struct json_out *out, const char *kind, double rate,
                     double latency_s)
{
    json_out_key(out, "need");
    json_out_begin_object(out);
    json_out_key_string(out, "kind", kind);
    json_out_key_number(out, "rate", rate);
    if (latency_s > 0)
        json_out_key_number(out, "latency_s", latency_s);
    json_out_end(out);
}

/* The need it has, with the rate that was offered. */
static int add_offered(const struct command_call *call, struct json_out *out)
{
    const struct update_args *args = call->args;
    struct client_answer answer = {0};
    struct str path = {0};
    const struct json_value *need;
    double rate;
    int status;

    daemon_add_path(&path, "/v1/jobs/%s", call->operands[0]);
    status = daemon_send(call, HTTP_GET, str_text(&path), NULL, &answer);
    str_fini(&path);
    if (status)
        return status;
    need = json_value_get(daemon_root(&answer), "need");
    rate = view_number(daemon_root(&answer), "offered_rate");
    if (rate > 0 && json_member_string(need, "kind"))
        add_need(out, json_member_string(need, "kind"), rate,
                 args->latency_s > 0 ? args->latency_s : view_number(need, "latency_s"));
    else
        status = command_wrong_use(call,
                                   "job %s was offered nothing: its promise stands, "
                                   "or it was not measured yet",
                                   call->operands[0]);
    client_answer_fini(&answer);
    return status;
}

static int print_changed(const struct command_call *call, const struct json_value *root,
                         struct err *err)
{
    const struct json_value *job = json_value_get(root, "job");
    const char *kind = view_text_or(job, "kind", "training");

    (void)call;
    (void)err;
    printf("Job %.0f is changed\n", view_number(job, "id"));
    view_quote(json_value_get(root, "quote"),
               strcmp(kind, "inference") ? "steps/s" : "requests/s", NAN, true, stdout);
    return 0;
}

static int run(struct command_call *call)
{
    static const struct daemon_view view = {
        .method = HTTP_PATCH, .path = "/v1/jobs/%s", .before = print_changed};
    const struct update_args *args = call->args;
    struct str body = {0};
    struct json_out out;
    int status = daemon_check_job(call, call->operands[0]);

    if (status)
        return status;
    if (args->accept + (args->min_rate > 0) + (args->requests > 0) > 1)
        return command_wrong_use(
            call, "--accept, --min-rate and --requests exclude each other");
    json_out_init(&out, &body, false);
    json_out_begin_object(&out);
    if (args->accept)
        status = add_offered(call, &out);
    else if (args->min_rate > 0)
        add_need(&out, "rate", args->min_rate, 0);
    else if (args->requests > 0)
        add_need(&out, "service", args->requests, args->latency_s);
    if (args->steps > 0)
        json_out_key_number(&out, "total_steps", args->steps);
    if (args->duration_s > 0)
        json_out_key_number(&out, "duration_s", args->duration_s);
    if (args->name)
        json_out_key_string(&out, "name", args->name);
    json_out_end(&out);
    if (status == 0)
        return daemon_show(call, &view, NULL, &body);
    str_fini(&body);
    return status;
}

const struct command cmd_update = {
    .name = "update",
    .summary = "change what a job needs",
    .help = "With --accept it takes the rate it was offered ('corgi show'), with "
            "--min-rate or "
            "--requests another one.  The daemon says what it can promise of the changed "
            "job; a change it cannot keep "
            "is refused, and the job stays as it is.",
    .examples = "corgi update 1 --steps 2e9",
    .operands = "JOB",
    .options = options,
    .args_size = sizeof(struct update_args),
    .run = run,
};
