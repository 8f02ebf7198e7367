/* cmd_token.c - corgi token: who may ask over TCP */
#include "corgi/commands.h"

#include "base/json_out.h"
#include "corgi/daemon.h"
#include "corgi/view.h"

#include <stdio.h>

struct token_args {
    struct daemon_args daemon;
    const char *user, *note;
    int role;
    double expires_s;
};

static const char *const roles[] = {"viewer", "user", "operator", NULL};

static const struct option_spec make_options[] = {
    {.name = "role",
     .letter = 'r',
     .type = OPTION_CHOICE,
     .argument = "ROLE",
     .choices = roles,
     .default_text = "user",
     .offset = offsetof(struct token_args, role),
     .help = "what it may do: look, submit, or everything"},
    {.name = "expires",
     .letter = 'e',
     .type = OPTION_SECONDS,
     .argument = "TIME",
     .min = 1,
     .max = 3155760000.0,
     .offset = offsetof(struct token_args, expires_s),
     .help = "good for so long, as 90d; for ever without it"},
    {.name = "note",
     .letter = 'n',
     .type = OPTION_STRING,
     .argument = "TEXT",
     .offset = offsetof(struct token_args, note),
     .help = "what it is for"},
    DAEMON_JSON_OPTION(struct token_args),
    DAEMON_CONNECT_OPTIONS(struct token_args),
    {0},
};

static const struct option_spec list_options[] = {
    DAEMON_JSON_OPTION(struct token_args),
    DAEMON_PARSABLE_OPTION(struct token_args),
    DAEMON_CONNECT_OPTIONS(struct token_args),
    {0},
};

static int run_make(struct command_call *call)
{
    const struct token_args *args = call->args;
    struct client_answer answer;
    struct str body = {0};
    struct json_out out;
    const char *text;
    int status;

    json_out_init(&out, &body, false);
    json_out_begin_object(&out);
    json_out_key_string(&out, "user", call->operands[0]);
    json_out_key_string(&out, "role", roles[args->role]);
    if (args->expires_s > 0)
        json_out_key_number(&out, "expires_in_s", args->expires_s);
    if (args->note)
        json_out_key_string(&out, "note", args->note);
    json_out_end(&out);
    status = daemon_send(call, &args->daemon, HTTP_POST, "/v1/tokens", str_text(&body),
                         &answer);
    str_fini(&body);
    if (status)
        return status;
    text = view_text(daemon_root(&answer), "token");
    if (args->daemon.json)
        daemon_print_json(&answer);
    else
        printf("%s\n", text ? text : "-");
    client_answer_fini(&answer);
    return 0;
}

static int print_tokens(const struct token_args *args, const struct json_value *root,
                        struct err *err)
{
    const struct json_value *tokens = json_value_get(root, "tokens");
    struct view *v = view_create();
    char a[VIEW_SIZE];
    int rc;

    view_columns(v, "ID USER ROLE CREATED EXPIRES USED NOTE");
    for (size_t i = 0; i < json_value_count(tokens); i++) {
        const struct json_value *t = json_value_item(tokens, i);

        view_row(v);
        view_cell(v, view_text(t, "id"));
        view_cell(v, view_text(t, "user"));
        view_cell(v, view_text(t, "role"));
        view_cell(v, view_time(a, view_number(t, "created_s")));
        view_cell(v, view_time(a, view_number(t, "expires_s")));
        view_cell(v, view_time(a, view_number(t, "last_used_s")));
        view_cell(v, view_text(t, "note"));
    }
    rc = view_print(v, args->daemon.parsable, err);
    view_destroy(v);
    return rc;
}

static int run_list(struct command_call *call)
{
    const struct token_args *args = call->args;
    struct client_answer answer;
    struct err err = {0};
    int status = daemon_fetch(call, &args->daemon, "/v1/tokens", &answer);

    if (status)
        return status;
    if (args->daemon.json)
        daemon_print_json(&answer);
    else if (print_tokens(args, daemon_root(&answer), &err) < 0)
        status = command_failed(call, &err);
    client_answer_fini(&answer);
    return status;
}

static int run_revoke(struct command_call *call)
{
    const struct token_args *args = call->args;
    struct client_answer answer;
    struct str path = {0};
    int status;

    str_add(&path, "/v1/tokens");
    daemon_add_segment(&path, call->operands[0]);
    status =
        daemon_send(call, &args->daemon, HTTP_DELETE, str_text(&path), NULL, &answer);
    str_fini(&path);
    if (status)
        return status;
    printf("token %s is revoked\n", call->operands[0]);
    client_answer_fini(&answer);
    return 0;
}

static const struct command token_make = {
    .name = "make",
    .summary = "make a token for a user and print it",
    .help = "The daemon keeps only a digest of it: it is shown this once.",
    .examples = "corgi token make ada --expires 90d > ada.token",
    .operands = "USER",
    .operand_min = 1,
    .operand_max = 1,
    .options = make_options,
    .args_size = sizeof(struct token_args),
    .run = run_make,
};

static const struct command token_list = {
    .name = "list",
    .summary = "list tokens, without their secrets",
    .options = list_options,
    .args_size = sizeof(struct token_args),
    .run = run_list,
};

static const struct command token_revoke = {
    .name = "revoke",
    .summary = "make a token worthless",
    .operands = "ID",
    .operand_min = 1,
    .operand_max = 1,
    .options = list_options,
    .args_size = sizeof(struct token_args),
    .run = run_revoke,
};

static const struct command *const children[] = {&token_list, &token_make, &token_revoke,
                                                 NULL};

const struct command cmd_token = {
    .name = "token",
    .summary = "make, list and revoke the tokens of those who ask over TCP",
    .help = "For operators.",
    .children = children,
};
