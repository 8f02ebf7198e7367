/* cmd_policy.c - corgi policy: how the daemon's loop decides */
#include "corgi/commands.h"

#include "base/json_out.h"
#include "base/parse.h"
#include "corgi/daemon.h"
#include "corgi/view.h"

#include <stdio.h>
#include <string.h>

static const struct option_spec options[] = {
    DAEMON_TABLE_OPTIONS,
    {0},
};

static int print_policy(const struct command_call *call, const struct json_value *root,
                        struct err *err)
{
    const struct daemon_args *args = call->args;

    return view_print_members(root, args->parsable, err);
}

static int run_show(struct command_call *call)
{
    struct str path = {0};

    str_add(&path, "/v1/policy");
    return daemon_show(call, &path, print_policy);
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
        status = daemon_send(call, HTTP_PATCH, "/v1/policy", str_text(&body), &answer);
        if (status == 0) {
            status = daemon_show_answer(call, &answer, print_policy);
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
    .args_size = sizeof(struct daemon_args),
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
    .args_size = sizeof(struct daemon_args),
    .run = run_set,
};

static const struct command *const children[] = {&policy_set, &policy_show, NULL};

const struct command cmd_policy = {
    .name = "policy",
    .summary = "show and change how the daemon decides",
    .children = children,
};
