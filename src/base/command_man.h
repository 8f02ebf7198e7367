/* command_man.h - man pages from the command tables */
#ifndef CORGI_BASE_COMMAND_MAN_H
#define CORGI_BASE_COMMAND_MAN_H

#include "base/command.h"
#include "base/str.h"

/* The page in roff, section 1; path "corgi sim" makes the page corgi-sim(1). */
void command_man_page(struct str *out, const struct command *command, const char *path);

#endif
