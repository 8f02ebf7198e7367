/* cmd_quota.c - corgi quota: how much a user may have */
#include "corgi/commands.h"

#include "base/json_out.h"
#include "corgi/daemon.h"
#include "corgi/view.h"

#include <stdio.h>

struct quota_args {
    struct daemon_args daemon;
    int jobs, running, gpus;
};

/* Below any limit: not given. */
#define NOT_GIVEN "-2"
#define LIMIT(member, text)                                                              \
    OPT(struct quota_args, member, INT, #member, 0, "N", text "; -1 is no limit",        \
        .min = -2, .max = 1000000, .default_text = NOT_GIVEN)

static const struct option_spec set_options[] = {
    LIMIT(jobs, "jobs that wait or run"),
    LIMIT(running, "jobs that run"),
    LIMIT(gpus, "GPUs in use"),
    DAEMON_OPTIONS,
    {0},
};

static const struct option_spec list_options[] = {
    DAEMON_TABLE_OPTIONS,
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

static int print_set(const struct command_call *call, const struct json_value *root,
                     struct err *err)
{
    (void)root, (void)err;
    printf("the quota of %s is set\n", call->operands[0]);
    return 0;
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
    status = daemon_send(call, HTTP_PUT, str_text(&path), str_text(&body), &answer);
    str_fini(&path);
    str_fini(&body);
    if (status)
        return status;
    daemon_show_answer(call, &answer, print_set);
    client_answer_fini(&answer);
    return 0;
}

static const struct view_column columns[] = {
    {"USER", .key = "user"},
    {">JOBS/MAX", .key = "jobs", .as = VIEW_USE, .limit = "max_jobs"},
    {">RUNNING/MAX", .key = "running", .as = VIEW_USE, .limit = "max_running"},
    {">GPUS/MAX", .key = "gpus", .as = VIEW_USE, .limit = "max_gpus"},
    {0},
};

static int run_list(struct command_call *call)
{
    return daemon_show_table(call, "/v1/quotas", "quotas", columns);
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
