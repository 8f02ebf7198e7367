/* commands.h - every command of corgi, in the files cmd_*.c here and in lab/commands/ */
#pragma once

#include "base/command.h"

extern const struct command cmd_advise, cmd_bench, cmd_cancel, cmd_complete,
    cmd_completion, cmd_config, cmd_devices, cmd_doctor, cmd_drain, cmd_energy,
    cmd_estimates, cmd_eval, cmd_gpus, cmd_help, cmd_hold, cmd_logs, cmd_man, cmd_nodes,
    cmd_policy, cmd_queue, cmd_quota, cmd_quote, cmd_release, cmd_requeue, cmd_resume,
    cmd_show, cmd_sim, cmd_slurm, cmd_store, cmd_submit, cmd_token, cmd_top, cmd_train,
    cmd_update, cmd_version, cmd_watch, cmd_why;
