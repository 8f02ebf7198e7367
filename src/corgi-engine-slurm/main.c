/* main.c - corgi-engine-slurm: its options */
#include "base/command.h"
#include "corgi-engine-slurm/helper_server.h"

struct helper_args {
    struct helper_options helper;
};

static const struct option_spec options[] = {
    OPT(struct helper_args, helper.read_only, FLAG, "read-only", 0, NULL,
        "refuse every request that would change something in Slurm"),
    OPT(struct helper_args, helper.socket, STRING, "socket", 's', "FILE",
        "listen on this Unix socket for root and the user it runs as; without it one "
        "client is served at standard input and output"),
    OPT(struct helper_args, helper.allow, STRING, "allow", 'a', "USER",
        "with --socket: this user may connect too, as the one corgid runs as"),
    {0},
};

static int run(struct command_call *call)
{
    const struct helper_args *args = call->args;
    struct err err = {0};

    if (args->helper.allow && !args->helper.socket)
        return command_wrong_use(call, "--allow needs --socket FILE");
    return helper_server_run(&args->helper, &err) < 0 ? command_failed(call, &err) : 0;
}

static const struct command helper = {
    .name = "corgi-engine-slurm",
    .summary = "speaks with Slurm for corgid",
    .help =
        "Answers lines of JSON with what Slurm knows: its settings, nodes, partitions, "
        "reservations and jobs.  corgid starts it with `engine: slurm`; it needs no "
        "rights to read.  docs/slurm.md tells what is said.",
    .options = options,
    .args_size = sizeof(struct helper_args),
    .run = run,
};

int main(int argc, char **argv)
{
    return command_main(&helper, argc, argv);
}
