/* cmd_version.c - corgi version */
#include "corgi/commands.h"

#include <stdio.h>

static int run(struct command_call *call)
{
    printf("%s %s\n", call->root->name, CORGI_VERSION);
    return 0;
}

const struct command cmd_version = {
    .name = "version",
    .summary = "show the version",
    .run = run,
};
