/* cmd_policy.c - corgi policy: how the daemon's loop decides */
#include "corgi/commands.h"

#include "base/json_out.h"
#include "base/parse.h"
#include "corgi/daemon.h"
#include "corgi/view.h"

#include <stdio.h>
#include <string.h>

struct policy_args {
    struct daemon_args daemon;
};

static const struct option_spec options[] = {
    DAEMON_JSON_OPTION(struct policy_args),
    DAEMON_PARSABLE_OPTION(struct policy_args),
    DAEMON_CONNECT_OPTIONS(struct policy_args),
    {0},
};

static int print_policy(const struct policy_args *args, const struct json_value *root,
                        struct err *err)
{
    struct json_iter it = {.object = root};
    struct view *v = view_create();
    int rc;

    view_columns(v, "KEY VALUE");
    while (json_iter_next(&it)) {
        double number;
        bool flag;

        view_row(v);
        view_cell(v, it.key);
        if (json_value_number(it.value, &number))
            view_cellf(v, "%.15g", number);
        else if (json_value_bool(it.value, &flag))
            view_cell(v, flag ? "true" : "false");
        else
            view_cell(v, json_value_string(it.value));
    }
    rc = view_print(v, args->daemon.parsable, err);
    view_destroy(v);
    return rc;
}

static int show(const struct command_call *call, const struct client_answer *answer)
{
    const struct policy_args *args = call->args;
    struct err err = {0};

    if (args->daemon.json)
        daemon_print_json(answer);
    else if (print_policy(args, daemon_root(answer), &err) < 0)
        return command_failed(call, &err);
    return 0;
}

static int run_show(struct command_call *call)
{
    const struct policy_args *args = call->args;
    struct client_answer answer;
    int status = daemon_fetch(call, &args->daemon, "/v1/policy", &answer);

    if (status)
        return status;
    status = show(call, &answer);
    client_answer_fini(&answer);
    return status;
}

/* KEY=VALUE; which keys there are and what they may be the daemon knows. */
static int add_setting(struct json_out *out, const char *word)
{
    const char *equals = strchr(word, '=');
    char key[64];
    double number;
    bool flag;

    if (!equals || equals == word || (size_t)(equals - word) >= sizeof(key))
        return -1;
    snprintf(key, sizeof(key), "%.*s", (int)(equals - word), word);
    if (parse_double(equals + 1, &number))
        json_out_key_number(out, key, number);
    else if (parse_bool(equals + 1, &flag))
        json_out_key_bool(out, key, flag);
    else
        json_out_key_string(out, key, equals + 1);
    return 0;
}

static int run_set(struct command_call *call)
{
    const struct policy_args *args = call->args;
    struct client_answer answer;
    struct str body = {0};
    struct json_out out;
    int status = 0;

    json_out_init(&out, &body, false);
    json_out_begin_object(&out);
    for (int i = 0; i < call->operand_count && status == 0; i++)
        if (add_setting(&out, call->operands[i]) < 0)
            status =
                command_wrong_use(call, "'%.40s' is not KEY=VALUE", call->operands[i]);
    if (status == 0) {
        json_out_end(&out);
        status = daemon_send(call, &args->daemon, HTTP_PATCH, "/v1/policy",
                             str_text(&body), &answer);
        if (status == 0) {
            status = show(call, &answer);
            client_answer_fini(&answer);
        }
    }
    str_fini(&body);
    return status;
}

static const struct command policy_show = {
    .name = "show",
    .summary = "show the settings in force",
    .options = options,
    .args_size = sizeof(struct policy_args),
    .run = run_show,
};

static const struct command policy_set = {
    .name = "set",
    .summary = "change settings until the daemon's next start",
    .help = "For operators.  What shall last belongs into the daemon's config file.",
    .examples = "corgi policy set share=2 sleep=no power_limit_watts=20000",
    .operands = "KEY=VALUE...",
    .operand_min = 1,
    .operand_max = -1,
    .options = options,
    .args_size = sizeof(struct policy_args),
    .run = run_set,
};

static const struct command *const children[] = {&policy_set, &policy_show, NULL};

const struct command cmd_policy = {
    .name = "policy",
    .summary = "show and change how the daemon decides",
    .children = children,
};
