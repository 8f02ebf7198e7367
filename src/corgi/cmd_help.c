/* cmd_help.c - corgi help [COMMAND...] */
#include "corgi/commands.h"

#include "base/command_help.h"

#include <stdio.h>

static int run(struct command_call *call)
{
    struct str path = {0}, text = {0};
    struct err err = {0};
    int used = 0, status = 0;
    const struct command *command =
        command_find(call->root, call->operand_count, call->operands, &used, &path);

    if (used < call->operand_count) {
        command_unknown(command, str_text(&path), call->operands[used], &err);
        status = command_failed(call, &err);
    } else {
        command_help_text(&text, command, str_text(&path));
        fputs(str_text(&text), stdout);
    }
    str_fini(&path);
    str_fini(&text);
    return status;
}

const struct command cmd_help = {
    .name = "help",
    .summary = "explain a command",
    .operands = "[COMMAND]...",
    .operand_max = -1,
    .examples = "corgi help completion",
    .run = run,
};
