/* cmd_quota.c - corgi quota: how much a user may have */
#include "corgi/commands.h"

#include "base/json_out.h"
#include "corgi/daemon.h"
#include "corgi/view.h"

#include <math.h>
#include <stdio.h>

struct quota_args {
    struct daemon_args daemon;
    int jobs, running, gpus;
};

/* Below any limit: not given. */
#define NOT_GIVEN "-2"
#define LIMIT(n, member, text)                                                           \
    {                                                                                    \
        .name = (n), .type = OPTION_INT, .argument = "N", .min = -2, .max = 1000000,     \
        .default_text = NOT_GIVEN, .offset = offsetof(struct quota_args, member),        \
        .help = text "; -1 is no limit"                                                  \
    }

static const struct option_spec set_options[] = {
    LIMIT("jobs", jobs, "jobs that wait or run"),
    LIMIT("running", running, "jobs that run"),
    LIMIT("gpus", gpus, "GPUs in use"),
    DAEMON_JSON_OPTION(struct quota_args),
    DAEMON_CONNECT_OPTIONS(struct quota_args),
    {0},
};

static const struct option_spec list_options[] = {
    DAEMON_JSON_OPTION(struct quota_args),
    DAEMON_PARSABLE_OPTION(struct quota_args),
    DAEMON_CONNECT_OPTIONS(struct quota_args),
    {0},
};

static void add_limit(struct json_out *out, const char *key, int limit)
{
    if (limit >= 0)
        json_out_key_int(out, key, limit);
    else if (limit == -1) {
        json_out_key(out, key);
        json_out_null(out);
    }
}

static int run_set(struct command_call *call)
{
    const struct quota_args *args = call->args;
    struct client_answer answer;
    struct str path = {0}, body = {0};
    struct json_out out;
    int status;

    if (args->jobs == -2 && args->running == -2 && args->gpus == -2)
        return command_wrong_use(call, "say what to limit: --jobs, --running or --gpus");
    json_out_init(&out, &body, false);
    json_out_begin_object(&out);
    add_limit(&out, "max_jobs", args->jobs);
    add_limit(&out, "max_running", args->running);
    add_limit(&out, "max_gpus", args->gpus);
    json_out_end(&out);
    str_add(&path, "/v1/quotas");
    daemon_add_segment(&path, call->operands[0]);
    status = daemon_send(call, &args->daemon, HTTP_PUT, str_text(&path), str_text(&body),
                         &answer);
    str_fini(&path);
    str_fini(&body);
    if (status)
        return status;
    if (args->daemon.json)
        daemon_print_json(&answer);
    else
        printf("the quota of %s is set\n", call->operands[0]);
    client_answer_fini(&answer);
    return 0;
}

static void add_use(struct view *v, const struct json_value *q, const char *used,
                    const char *limit)
{
    double most = view_number(q, limit), now = view_number(q, used);
    char a[VIEW_SIZE];

    if (isfinite(most))
        view_cellf(v, "%s/%.0f", view_rate(a, now), most);
    else
        view_cellf(v, "%s/-", view_rate(a, now));
}

static int print_quotas(const struct quota_args *args, const struct json_value *root,
                        struct err *err)
{
    const struct json_value *quotas = json_value_get(root, "quotas");
    struct view *v = view_create();
    int rc;

    view_columns(v, "USER >JOBS/MAX >RUNNING/MAX >GPUS/MAX");
    for (size_t i = 0; i < json_value_count(quotas); i++) {
        const struct json_value *q = json_value_item(quotas, i);

        view_row(v);
        view_cell(v, view_text(q, "user"));
        add_use(v, q, "jobs", "max_jobs");
        add_use(v, q, "running", "max_running");
        add_use(v, q, "gpus", "max_gpus");
    }
    rc = view_print(v, args->daemon.parsable, err);
    view_destroy(v);
    return rc;
}

static int run_list(struct command_call *call)
{
    const struct quota_args *args = call->args;
    struct client_answer answer;
    struct err err = {0};
    int status = daemon_fetch(call, &args->daemon, "/v1/quotas", &answer);

    if (status)
        return status;
    if (args->daemon.json)
        daemon_print_json(&answer);
    else if (print_quotas(args, daemon_root(&answer), &err) < 0)
        status = command_failed(call, &err);
    client_answer_fini(&answer);
    return status;
}

static const struct command quota_list = {
    .name = "list",
    .summary = "list quotas and what is used of them",
    .options = list_options,
    .args_size = sizeof(struct quota_args),
    .run = run_list,
};

static const struct command quota_set = {
    .name = "set",
    .summary = "set a user's quota",
    .help =
        "The user 'default' stands for all who have none of their own.  For operators.",
    .examples =
        "corgi quota set ada --jobs 20 --gpus 8\ncorgi quota set default --gpus 4",
    .operands = "USER",
    .operand_min = 1,
    .operand_max = 1,
    .options = set_options,
    .args_size = sizeof(struct quota_args),
    .run = run_set,
};

static const struct command *const children[] = {&quota_list, &quota_set, NULL};

const struct command cmd_quota = {
    .name = "quota",
    .summary = "list and set how much users may have",
    .children = children,
};
