/* cmd_completion.c - corgi completion SHELL */
#include "corgi/commands.h"

#include "base/command_bash.h"

#include <stdio.h>
#include <string.h>

static int run(struct command_call *call)
{
    struct str script = {0};

    if (strcmp(call->operands[0], "bash") != 0)
        return command_wrong_use(call, "no completion for the shell '%s', only for bash",
                                 call->operands[0]);
    command_bash_script(&script, call->root);
    fputs(str_text(&script), stdout);
    str_fini(&script);
    return 0;
}

const struct command cmd_completion = {
    .name = "completion",
    .summary = "print a shell completion script",
    .help =
        "Print a script that completes Corgi's commands, options and files.  The only "
        "shell so far is bash.",
    .examples = "source <(corgi completion bash)",
    .operands = "bash",
    .operand_min = 1,
    .operand_max = 1,
    .run = run,
};
