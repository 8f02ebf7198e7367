/* command_bash.h - bash completion from the command tables */
#ifndef CORGI_BASE_COMMAND_BASH_H
#define CORGI_BASE_COMMAND_BASH_H

#include "base/command.h"
#include "base/str.h"

/* A script that completes commands, options, choices and paths. */
void command_bash_script(struct str *out, const struct command *root);

#endif
