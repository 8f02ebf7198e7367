/* command_help.h - the text of --help from a command's tables */
#ifndef CORGI_BASE_COMMAND_HELP_H
#define CORGI_BASE_COMMAND_HELP_H

#include "base/command.h"
#include "base/str.h"

/* What `corgi sim --help` prints; path is "corgi sim". */
void command_help_text(struct str *out, const struct command *command, const char *path);

#endif
