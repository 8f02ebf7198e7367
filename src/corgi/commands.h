/* commands.h - every command of corgi, one file each: cmd_<name>.c */
#ifndef CORGI_CORGI_COMMANDS_H
#define CORGI_CORGI_COMMANDS_H

#include "base/command.h"

extern const struct command cmd_bench;
extern const struct command cmd_completion;
extern const struct command cmd_config;
extern const struct command cmd_devices;
extern const struct command cmd_eval;
extern const struct command cmd_gpus;
extern const struct command cmd_help;
extern const struct command cmd_man;
extern const struct command cmd_sim;
extern const struct command cmd_store;
extern const struct command cmd_train;
extern const struct command cmd_version;

#endif
