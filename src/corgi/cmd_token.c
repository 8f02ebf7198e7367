/* cmd_token.c - corgi token: who may ask over TCP */
#include "corgi/commands.h"

#include "base/json_out.h"
#include "corgi/daemon.h"
#include "corgi/view.h"

#include <stdio.h>

struct token_args {
    struct daemon_args daemon;
    const char *note;
    int role;
    double expires_s;
};

static const char *const roles[] = {"viewer", "user", "operator", NULL};

static const struct option_spec make_options[] = {
    OPT(struct token_args, role, CHOICE, "role", 'r', "ROLE",
        "what it may do: look, submit, or everything", .choices = roles,
        .default_text = "user"),
    OPT(struct token_args, expires_s, SECONDS, "expires", 'e', "TIME",
        "good for so long, as 90d; for ever without it", .min = 1, .max = 3155760000.0),
    OPT(struct token_args, note, STRING, "note", 'n', "TEXT", "what it is for"),
    DAEMON_OPTIONS,
    {0},
};

static const struct option_spec list_options[] = {
    DAEMON_TABLE_OPTIONS,
    {0},
};

static int print_token(const struct command_call *call, const struct json_value *root,
                       struct err *err)
{
    (void)call, (void)err;
    printf("%s\n", view_text_or(root, "token", "-"));
    return 0;
}

static int run_make(struct command_call *call)
{
    const struct token_args *args = call->args;
    struct client_answer answer;
    struct str body = {0};
    struct json_out out;
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
    status = daemon_send(call, HTTP_POST, "/v1/tokens", str_text(&body), &answer);
    str_fini(&body);
    if (status)
        return status;
    daemon_show_answer(call, &answer, print_token);
    client_answer_fini(&answer);
    return 0;
}

static const struct view_column columns[] = {
    {"ID", .key = "id"},
    {"USER", .key = "user"},
    {"ROLE", .key = "role"},
    {"CREATED", .key = "created_s", .as = VIEW_TIME},
    {"EXPIRES", .key = "expires_s", .as = VIEW_TIME},
    {"USED", .key = "last_used_s", .as = VIEW_TIME},
    {"NOTE", .key = "note"},
    {0},
};

static int run_list(struct command_call *call)
{
    return daemon_show_table(call, "/v1/tokens", "tokens", columns);
}

static int run_revoke(struct command_call *call)
{
    struct client_answer answer;
    struct str path = {0};
    int status;

    str_add(&path, "/v1/tokens");
    daemon_add_segment(&path, call->operands[0]);
    status = daemon_send(call, HTTP_DELETE, str_text(&path), NULL, &answer);
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
