/* main.c - the corgi command: base/command.c finds the command among these, parses its
 * options and runs it */
#include "corgi/commands.h"

static const struct command *const commands[] = {
    &cmd_advise,  &cmd_bench,  &cmd_cancel, &cmd_complete, &cmd_completion, &cmd_config,
    &cmd_devices, &cmd_doctor, &cmd_drain,  &cmd_energy,   &cmd_estimates,  &cmd_eval,
    &cmd_gpus,    &cmd_help,   &cmd_hold,   &cmd_logs,     &cmd_man,        &cmd_nodes,
    &cmd_policy,  &cmd_queue,  &cmd_quota,  &cmd_quote,    &cmd_release,    &cmd_requeue,
    &cmd_resume,  &cmd_show,   &cmd_sim,    &cmd_slurm,    &cmd_store,      &cmd_submit,
    &cmd_token,   &cmd_top,    &cmd_train,  &cmd_update,   &cmd_version,    &cmd_watch,
    &cmd_why,     NULL,
};

static const struct command corgi = {
    .name = "corgi",
    .summary = "schedule machine-learning jobs on GPUs of several generations",
    .help =
        "Corgi herds GPUs of several generations: it predicts how each job would run on "
        "every type of GPU, alone and beside others, and places jobs so that their "
        "requirements hold at the least energy.",
    .children = commands,
};

int main(int argc, char **argv)
{
    return command_main(&corgi, argc, argv);
}
