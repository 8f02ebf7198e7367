/* commands.h - every command of corgi, one file each: cmd_<name>.c */
#ifndef CORGI_CORGI_COMMANDS_H
#define CORGI_CORGI_COMMANDS_H

#include "base/command.h"

extern const struct command cmd_bench;
extern const struct command cmd_cancel;
extern const struct command cmd_completion;
extern const struct command cmd_config;
extern const struct command cmd_devices;
extern const struct command cmd_drain;
extern const struct command cmd_energy;
extern const struct command cmd_estimates;
extern const struct command cmd_eval;
extern const struct command cmd_gpus;
extern const struct command cmd_help;
extern const struct command cmd_hold;
extern const struct command cmd_man;
extern const struct command cmd_nodes;
extern const struct command cmd_policy;
extern const struct command cmd_queue;
extern const struct command cmd_quota;
extern const struct command cmd_quote;
extern const struct command cmd_release;
extern const struct command cmd_requeue;
extern const struct command cmd_resume;
extern const struct command cmd_show;
extern const struct command cmd_sim;
extern const struct command cmd_store;
extern const struct command cmd_submit;
extern const struct command cmd_token;
extern const struct command cmd_train;
extern const struct command cmd_version;
extern const struct command cmd_watch;
extern const struct command cmd_why;

#endif
